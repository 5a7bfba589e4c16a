"""The package as Python programmers expect one: types, signatures, help with examples that run, and
objects that say what they are."""

import doctest
import importlib
import inspect
import os
import pickle
import re
import shutil
import subprocess
import sys
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
import waker

PACKAGE = Path(waker.__file__).parent
MODULES = sorted(file.stem for file in PACKAGE.glob("*.py") if file.stem not in ("__init__", "__main__"))

SOURCE = Path(os.environ.get("WAKER_SOURCE", Path(__file__).parents[2]))
MYPY = shutil.which("mypy") or shutil.which(SOURCE / "build-deps/lint/bin/mypy")


def public():
    """Names of all that users call: classes and functions of `waker` and its modules, and methods."""
    for name in waker.__all__:
        thing = getattr(waker, name)
        if inspect.ismodule(thing):
            for part, function in vars(thing).items():
                if inspect.isfunction(function) and function.__module__ == thing.__name__ and part[0] != "_":
                    yield f"{name}.{part}", function
            continue
        yield name, thing
        for part, method in vars(thing).items() if inspect.isclass(thing) else ():
            method = getattr(method, "__func__", getattr(method, "fget", None) or method)
            if inspect.isfunction(method) and (part[0] != "_" or part == "__init__") and \
                    method.__module__ == thing.__module__:
                yield f"{name}.{part}", method


PUBLIC = dict(public())
ERRORS = {name for name, thing in PUBLIC.items() if inspect.isclass(thing) and issubclass(thing, Exception)}


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_what_is_public_has_help(name):
    if not name.endswith(".__init__"):  # the class has it
        text = inspect.getdoc(PUBLIC[name])
        assert text and len(text) > 20 and "(*args" not in text


def test_functions_and_classes_show_an_example():
    without = {name for name, thing in PUBLIC.items() if "." not in name or name.split(".")[0] in ("stats", "plots")
               if ">>> " not in (inspect.getdoc(thing) or "")}
    assert without <= ERRORS - {"Error"} | {"Episode", "PolicyState"}  # what reward and act are given


def test_signatures_are_explicit_and_typed():
    catch_all = {"train": "keys", "command": "arguments", "Records.where": "values",
                 "WakerVectorEnv.close_extras": "kwargs"}  # settings, words, columns; Gymnasium's
    for name, thing in PUBLIC.items():
        if not inspect.isfunction(thing):
            continue
        for parameter in list(inspect.signature(thing).parameters.values()):
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                assert catch_all.get(name) == parameter.name, name
            assert parameter.name in ("self", "cls") or parameter.annotation is not parameter.empty, name
        assert inspect.signature(thing).return_annotation is not inspect.Signature.empty, name


def test_checkers_find_the_types_and_every_name():
    assert (PACKAGE / "py.typed").exists()
    # What a checker sees is what is loaded when it is used.
    seen = set(re.findall(r"\w+", (PACKAGE / "__init__.py").read_text().split("if TYPE_CHECKING:")[1]
                          .split("register_when")[0]))
    assert set(waker.__all__) <= seen and set(waker.__all__) <= set(dir(waker))


# The text of help, which no mistake in its examples survives.
@pytest.mark.native
@pytest.mark.parametrize("module", MODULES)
def test_examples_of_the_help_run(module, run, tmp_path, monkeypatch):
    if module == "plots":
        pytest.importorskip("matplotlib").use("agg")
    monkeypatch.chdir(tmp_path)
    tests = doctest.DocTestFinder(exclude_empty=True).find(importlib.import_module(f"waker.{module}"))
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    for test in tests:
        shutil.rmtree("runs", ignore_errors=True)
        shutil.copytree(run, "runs/a")
        test.globs = {"waker": waker, "np": np, "gym": gym, "math": importlib.import_module("math")}
        said = []
        runner.run(test, out=said.append)
        assert not said, "".join(said)


def test_objects_say_what_they_are(run):
    policy, model = waker.Policy(run, "west", num_envs=2), waker.Model(run)
    curriculum, envs = waker.Curriculum("dr", "toy"), waker.WakerVectorEnv("toy", 2, threads=1)
    domain = waker.Domain("toy")
    things = [policy, policy.reset(), model, model.initial(2), curriculum, curriculum.space, envs,
              waker.WakerEnv("toy", theta=[0.5]), domain, waker.Run(run),
              waker.Progress(1, 2, 3, 4.0, 5.0, 6.0, 7.0)]
    for thing in things:
        assert " at 0x" not in repr(thing) and type(thing).__name__ in repr(thing) and len(repr(thing)) < 200
        assert str(thing) == repr(thing)
    assert repr(things[7]) == "<waker.WakerEnv toy, task west, θ [0.5]>"
    for thing in policy, model, curriculum, envs:
        thing.close()
        assert repr(thing).endswith(", closed>")
    assert "waker.WakerEnv toy" in repr(gym.make("waker/Toy-v0"))
    assert repr(pickle.loads(pickle.dumps(waker.Space("toy").domain))) == repr(domain)


# Gymnasium has asked no packages for their environments since its version 1.0: the name says where.
def test_the_name_of_an_environment_imports_the_package():
    ended = subprocess.run([sys.executable, "-c", "import gymnasium as gym\n"
                            "print(gym.make('waker:waker/Toy-v0').reset(seed=1)[0].shape)\n"
                            "print(gym.make_vec('waker:waker/Toy-v0', num_envs=2).reset(seed=1)[0].shape)"],
                           capture_output=True, text=True)
    assert ended.stdout == "(64, 64, 3)\n(2, 64, 64, 3)\n", ended.stderr


@pytest.mark.native
@pytest.mark.skipif(not MYPY, reason="SKIPPED: no mypy here; tools/setup lint")
def test_a_users_types_are_checked(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("import waker\nwaker.train('toy', 'runs/a', steps='many')\n"
                      "rate: int = waker.stats.mean([1.0])\n")
    said = subprocess.run([MYPY, "--python-version", "3.12", "--python-executable", sys.executable, script], capture_output=True, text=True,
                          cwd=tmp_path).stdout
    assert said.count(": error:") == 2 and "script.py:2" in said and "script.py:3" in said, said
