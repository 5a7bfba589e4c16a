"""What runs have measured, as plain records."""

from __future__ import annotations

import ctypes
import fcntl
import glob
import json
import os
import shutil
import subprocess
import time
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _library as c
from ._library import lib


def _value(row: dict[str, Any], name: str) -> Any:
    try:
        return row[name]
    except (KeyError, IndexError):
        raise c.NotFoundError(f"the rows have no {name!r}; they have {', '.join(map(str, row))}") from None


class Records(list[dict[str, Any]]):
    """Rows as dicts, all with the same keys; `problems` says which files were left out, and why.

    >>> rows = waker.evaluations("runs").where(task="west", set="dr")
    >>> rows.column("episodes")
    array([25])
    """

    problems: tuple[str, ...] = ()

    def column(self, name: str) -> NDArray[Any]:
        """The values of all rows under a name."""
        return np.array([_value(row, name) for row in self])

    def where(self, **values: Any) -> Records:
        """The rows that have these values: records.where(task="walk", set="dr")."""
        found = Records(row for row in self if all(_value(row, k) == v for k, v in values.items()))
        found.problems = self.problems
        return found

    def frame(self) -> Any:
        """The same as a pandas.DataFrame, where pandas is installed."""
        import pandas

        return pandas.DataFrame(list(self))


def program() -> Path:
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


def command(*arguments: object) -> str:
    """Runs `waker ARGUMENTS...` and returns what it printed; what it refuses is an Error.

    >>> print(waker.command("eval", "runs/a", "--policy", "random", "--envs", 2, "--quiet"))
    ...                                                         # doctest: +SKIP
    """
    words: list[Any] = [program(), *(argument if isinstance(argument, os.PathLike) else str(argument)
                                     for argument in arguments)]
    ended = subprocess.run(words, capture_output=True, encoding="utf-8", errors="surrogateescape")
    if ended.returncode:
        raise c.Error(ended.stderr.strip() or f"waker ended with {ended.returncode}")
    return ended.stdout


_COLUMNS = [field[0] for field in c.Result._fields_]
_COLUMNS = _COLUMNS[:_COLUMNS.index("worst_tenth") + 1]


def _row(result: c.Result) -> dict[str, Any]:
    values = {name: getattr(result, name) for name in _COLUMNS}
    return {name: os.fsdecode(value) if isinstance(value, bytes) else value
            for name, value in values.items()}


def evaluations(path: c.StrPath) -> Records:
    """Scores of the run that `path` is, or of the runs below it: one row for each run, policy, step,
    task and case (`set`), with `mean` and `worst_tenth`. What cannot be used is left out,
    with a warning; `problems` of the result has the reasons.

    >>> [(row["task"], row["set"], row["policy"]) for row in waker.evaluations("runs")]
    [('west', 'dr', 'alongside')]
    """
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


def _number(text: str) -> bool | int | float | str:
    if text in ("true", "false"):
        return text == "true"
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return text.strip('"')


def _read_config(path: Path) -> dict[str, Any]:
    """config.yaml as waker writes it: keys with values, and blocks one deep."""
    config: dict[str, Any] = {}
    block = ""
    for line in path.read_text().splitlines():
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
    """A run's directory: its configuration and what it has measured. Nothing is written.

    >>> run = waker.Run("runs/a")
    >>> run
    <waker.Run runs/a: toy, seed 5>
    >>> run.config["rssm.deter"]
    6
    """

    def __init__(self, path: c.StrPath) -> None:
        self.path = Path(os.fsdecode(c.text(path, "path")))
        try:
            self.config = _read_config(self.path / "config.yaml")
        except (FileNotFoundError, NotADirectoryError):
            raise c.NotFoundError(f"'{self.path}' holds no run: there is no config.yaml") from None
        self.name = self.path.name

    def __repr__(self) -> str:
        return f"<waker.Run {self.path}: {self.config.get('domain')}, seed {self.config.get('seed')}>"

    def curve(self, metric: str) -> tuple[NDArray[np.uint64], NDArray[np.float64]]:
        """One metric (docs/training.md lists them) as two arrays: agent steps and values.

        >>> steps, losses = waker.Run("runs/a").curve("train/model_loss")
        >>> steps.shape == losses.shape
        True
        """
        curve = c.Curve()
        lib.curve_read(c.text(self.path, "path"), c.text(metric, "metric"), ctypes.byref(curve))
        try:
            return (np.ctypeslib.as_array(curve.steps, (curve.count,)).copy(),
                    np.ctypeslib.as_array(curve.values, (curve.count,)).copy())
        finally:
            lib.curve_free(ctypes.byref(curve))

    def metrics(self) -> Records:
        """All lines of metrics.jsonl; what a line does not have is None.

        >>> waker.Run("runs/a").metrics().column("step")[:2]
        array([60, 66])
        """
        try:
            rows, _ = self._metrics_from(0)
        except FileNotFoundError:
            raise c.NotFoundError(f"'{self.path}' has no metrics.jsonl") from None
        names = dict.fromkeys(name for row in rows for name in row)
        return Records({name: row.get(name) for name in names} for row in rows)

    def _metrics_from(self, place: int) -> tuple[list[dict[str, Any]], int]:
        """The whole lines from a byte on, and the byte after them: a run that is going on may have
        written half of the last."""
        with open(self.path / "metrics.jsonl", "rb") as file:
            file.seek(place)
            text = file.read()
        whole = text[:text.rfind(b"\n") + 1]
        return [json.loads(line) for line in whole.splitlines()], place + len(whole)

    @property
    def is_training(self) -> bool:
        """Whether a process trains in the directory now."""
        try:
            with open(self.path / "lock", "rb") as file:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except FileNotFoundError:
            return False
        except BlockingIOError:
            return True
        return False

    def follow(self, pause: float = 1.0) -> Iterator[dict[str, Any]]:
        """Lines of metrics.jsonl as dicts: those that are there, then every new one, looked for
        each `pause` seconds, until no process trains in the directory any more. A run that is
        resumed repeats no line.

        >>> for row in waker.Run("runs/a").follow():
        ...     if "train/model_loss" in row:
        ...         print(row["step"], row["train/model_loss"])     # doctest: +SKIP
        """
        pause = c.number(pause, "pause")
        if not pause > 0:
            raise c.InputError(f"pause must be above 0 seconds, not {pause:g}")
        return self._follow(pause)

    def _follow(self, pause: float) -> Iterator[dict[str, Any]]:
        place = 0
        while True:
            going_on = self.is_training  # before the last look, which then misses nothing
            try:
                rows, place = self._metrics_from(place)
            except FileNotFoundError:
                rows = []
            yield from rows
            if not going_on:
                return
            time.sleep(pause)

    def curriculum(self) -> Records:
        """What the newest checkpoint knows about every θ: parameters, probability, error, episodes.

        >>> waker.Run("runs/a").curriculum().column("turbulence").shape
        (11,)
        """
        shown = json.loads(command("curriculum", self.path, "--json"))
        return Records(shown["environments"])

    def evaluations(self) -> Records:
        """Scores of this run, as waker.evaluations."""
        return evaluations(self.path)

    def snapshots(self) -> list[int]:
        """Steps of the saved weights.

        >>> waker.Run("runs/a").snapshots()
        [201, 402]
        """
        return sorted(int(file.stem.split("-")[1])
                      for file in (self.path / "snapshots").glob("step-*.safetensors"))

    def snapshot(self, step: int | None = None) -> Path:
        """File with the weights of a step, default the newest. docs/python.md lists the tensors."""
        steps = self.snapshots()
        step = steps[-1] if step is None and steps else step
        if step not in steps:
            raise c.NotFoundError(f"'{self.path}' has no snapshot of step {step}; it has {steps}")
        return self.path / "snapshots" / f"step-{step:012d}.safetensors"


def runs(pattern: c.StrPath | Iterable[c.StrPath]) -> list[Run]:
    """The runs that a pattern ("runs/*") or a list of directories names, sorted by path.

    >>> waker.runs("runs/*")
    [<waker.Run runs/a: toy, seed 5>]
    """
    if isinstance(pattern, (str, bytes, os.PathLike)):
        paths = [path for path in sorted(glob.glob(os.fsdecode(c.text(pattern, "pattern"))))
                 if os.path.exists(os.path.join(path, "config.yaml"))]
        if not paths:
            raise c.NotFoundError(f"'{os.fsdecode(pattern)}' names no run")
    else:
        paths = [os.fsdecode(path) for path in c.texts(pattern, "pattern")]
    return [Run(path) for path in paths]
