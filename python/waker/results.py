"""What runs have measured, as plain records."""

import ctypes
import glob
import json
import os
import shutil
import subprocess
import warnings
from pathlib import Path

import numpy as np

from . import _library as c
from ._library import lib


def _value(row, name):
    try:
        return row[name]
    except (KeyError, IndexError):
        raise c.NotFoundError(f"the rows have no {name!r}; they have {', '.join(map(str, row))}") from None


class Records(list):
    """Rows as dicts, all with the same keys; `problems` says which files were left out, and why."""

    problems = ()

    def column(self, name):
        return np.array([_value(row, name) for row in self])

    def where(self, **values):
        """The rows that have these values: records.where(task="walk", set="dr")."""
        found = Records(row for row in self if all(_value(row, k) == v for k, v in values.items()))
        found.problems = self.problems
        return found

    def frame(self):
        """The same as a pandas.DataFrame, where pandas is installed."""
        import pandas

        return pandas.DataFrame(list(self))


def program():
    """The program's file: that of the package, or with WAKER_LIBRARY the one beside the library
    (a build), in ../bin of its folder (an installation), or of the PATH."""
    if not os.environ.get("WAKER_LIBRARY"):
        return Path(__file__).with_name("bin") / "waker"
    library = c.path()
    for file in (library.with_name("waker"), library.parent.parent / "bin" / "waker"):
        if file.is_file():
            return file
    found = shutil.which("waker")
    if found is None:
        raise c.Error(f"the program waker is neither beside {library}, nor in "
                      f"{library.parent.parent / 'bin'}, nor in a folder of PATH; install it, or "
                      "add its folder to PATH")
    return Path(found)


def command(*arguments):
    """Runs `waker ARGUMENTS...` and returns what it printed; what it refuses is an Error."""
    ended = subprocess.run([program(), *map(os.fspath, map(_argument, arguments))],
                           capture_output=True, encoding="utf-8", errors="surrogateescape")
    if ended.returncode:
        raise c.Error(ended.stderr.strip() or f"waker ended with {ended.returncode}")
    return ended.stdout


def _argument(value):
    return value if isinstance(value, os.PathLike) else str(value)


_COLUMNS = [name for name, _ in c.Result._fields_]
_COLUMNS = _COLUMNS[:_COLUMNS.index("worst_tenth") + 1]


def _row(result):
    values = {name: getattr(result, name) for name in _COLUMNS}
    return {name: os.fsdecode(value) if isinstance(value, bytes) else value
            for name, value in values.items()}


def evaluations(path):
    """Scores of the run that `path` is, or of the runs below it: one row for each run, policy, step,
    task and case (`set`), with `mean` and `worst_tenth`. What cannot be used is left out,
    with a warning; `problems` of the result has the reasons."""
    found = ctypes.POINTER(c.Results)()
    lib.results_read(c.text(path, "path"), ctypes.byref(found))
    try:
        results = found.contents
        rows = Records(_row(results.items[i]) for i in range(results.count))
        rows.problems = tuple(os.fsdecode(results.problems[i]) for i in range(results.n_problems))
    finally:
        lib.results_free(found)
    if rows.problems:
        more = f" (and {len(rows.problems) - 1} more in .problems)" if rows.problems[1:] else ""
        warnings.warn(f"left out: {rows.problems[0]}{more}", stacklevel=2)
    return rows


def _number(text):
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text.strip('"')


def _read_config(path):
    """config.yaml as waker writes it: keys with values, and blocks one deep."""
    config, block = {}, ""
    for line in Path(path).read_text().splitlines():
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        key, _, value = line.partition(":")
        if not value.strip() and not line.startswith(" "):
            block = key + "."
            continue
        name = block + key.strip() if line.startswith(" ") else key
        config[name] = _number(value.strip())
    return config


class Run:
    """A run's directory: its configuration and what it has measured. Nothing is written."""

    def __init__(self, path):
        self.path = Path(os.fsdecode(c.text(path, "path")))
        try:
            self.config = _read_config(self.path / "config.yaml")
        except (FileNotFoundError, NotADirectoryError):
            raise c.NotFoundError(f"'{path}' holds no run: there is no config.yaml") from None
        self.name = self.path.name

    def __repr__(self):
        return f"<waker.Run {self.path}: {self.config.get('domain')}, seed {self.config.get('seed')}>"

    def curve(self, metric):
        """One metric (docs/training.md lists them) as two arrays: agent steps and values."""
        curve = c.Curve()
        lib.curve_read(c.text(self.path, "path"), c.text(metric, "metric"), ctypes.byref(curve))
        try:
            return (np.ctypeslib.as_array(curve.steps, (curve.count,)).copy(),
                    np.ctypeslib.as_array(curve.values, (curve.count,)).copy())
        finally:
            lib.curve_free(ctypes.byref(curve))

    def metrics(self):
        """All lines of metrics.jsonl; what a line does not have is None."""
        rows = []
        with open(self.path / "metrics.jsonl", encoding="utf-8") as lines:
            for line in lines:
                if line.endswith("\n"):  # a run that is going on may have written half of the last
                    rows.append(json.loads(line))
        names = dict.fromkeys(name for row in rows for name in row)
        return Records({name: row.get(name) for name in names} for row in rows)

    def curriculum(self):
        """What the newest checkpoint knows about every θ: parameters, probability, error, episodes."""
        shown = json.loads(command("curriculum", self.path, "--json"))
        return Records(shown["environments"])

    def evaluations(self):
        """Scores of this run, as waker.evaluations."""
        return evaluations(self.path)

    def snapshots(self):
        """Steps of the saved weights."""
        return sorted(int(file.stem.split("-")[1])
                      for file in (self.path / "snapshots").glob("step-*.safetensors"))

    def snapshot(self, step=None):
        """File with the weights of a step, default the newest. docs/python.md lists the tensors."""
        steps = self.snapshots()
        step = steps[-1] if step is None and steps else step
        if step not in steps:
            raise c.NotFoundError(f"'{self.path}' has no snapshot of step {step}; it has {steps}")
        return self.path / "snapshots" / f"step-{step:012d}.safetensors"


def runs(pattern):
    """The runs that a pattern ("runs/*") or a list of directories names, sorted by path."""
    if isinstance(pattern, (str, bytes, os.PathLike)):
        paths = [path for path in sorted(glob.glob(os.fsdecode(c.text(pattern, "pattern"))))
                 if os.path.exists(os.path.join(path, "config.yaml"))]
        if not paths:
            raise c.NotFoundError(f"'{pattern}' names no run")
    else:
        paths = map(os.fsdecode, c.texts(pattern, "pattern"))
    return [Run(path) for path in paths]
