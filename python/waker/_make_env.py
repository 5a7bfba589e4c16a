"""What waker.train's `env` stands for: a built-in domain, or a function that processes of their own
call to make an environment each."""

from __future__ import annotations

import base64
import importlib
import importlib.util
import inspect
import operator
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from . import _library as c
from ._registration import DOMAINS
from .domain import Domain, domains

FILE = "waker_env.py"
CODE = '''"""Makes the environment that this run was trained in: {what}.
Written by waker.train. `waker eval RUN --python RUN/{file}:make_env` evaluates the run in it."""

import base64
import sys

sys.path += [folder for folder in {path!r} if folder not in sys.path]

import cloudpickle

make_env = cloudpickle.loads(base64.b64decode(
    {data}))
'''


class World(NamedTuple):
    """How the library is told of an environment: a block of settings, or a plug-in; and the text of
    the file in the run's directory that the plug-in is, if it has to be written."""

    block: str | None = None
    plugin: str | None = None
    text: str | None = None


def world(env: object) -> World:
    """The one that `env` names or makes."""
    if isinstance(env, Domain):
        return World(plugin=env._file) if env._file is not None else World(block=env.name)
    if isinstance(env, (str, os.PathLike)):
        return _named(os.fsdecode(env))
    if not callable(env):
        made = " that is made already: each of several processes makes its own" \
            if hasattr(env, "step") else ""
        raise TypeError("env must be a name ('clean-up', 'CartPole-v1'), or a class or function "
                        f"that makes environments, not {env!r:.80}{made}")
    file = _file_of(env)
    return World(plugin=file) if file is not None else World(text=_pickled(env, _name(env)))


def _named(name: str) -> World:
    if name in (domain.name for domain in domains()):
        return World(block=name)
    built_in = {f"waker/{short}-v0": domain for short, domain in DOMAINS.items()}
    if name.removeprefix("waker:") in built_in:
        return World(block=built_in[name.removeprefix("waker:")])
    if name.endswith(".so") or re.search(r"\.py:[\w.]+$", name):
        return World(plugin=name)
    try:
        import gymnasium
    except ImportError:
        raise c.NotFoundError(f"env must be a built-in domain ({', '.join(built_in.values())}), "
                              f"not {name!r}; for those of Gymnasium install it: "
                              "pip install gymnasium") from None
    module, _, short = name.rpartition(":")
    try:
        if module:  # which registers it
            importlib.import_module(module)
        spec = gymnasium.spec(short)
    except (gymnasium.error.Error, ImportError) as problem:
        try:
            return World(block=Domain(name).name)
        except c.Error as unknown:
            raise c.NotFoundError(f"env: {unknown} (nor does Gymnasium know it: {problem})"
                                  ) from None

    def make_env() -> Any:
        import gymnasium

        return gymnasium.make(spec)

    return World(text=_pickled(make_env, name))


def _name(function: Any) -> str:
    return str(getattr(function, "__qualname__", None) or type(function).__qualname__)


def _file_of(function: Any) -> str | None:
    """FILE.py:FUNCTION, where processes of their own can import it."""
    name = getattr(function, "__qualname__", "")
    try:
        # A decorator's functools.wraps leaves the name of what it wraps, which is in that one's file.
        file = os.path.realpath(inspect.getsourcefile(inspect.unwrap(function)) or "")
    except (TypeError, OSError):  # of C, or of no file
        return None
    if not file.endswith(".py") or not os.path.exists(file) or "<" in name or not name:
        return None
    module = sys.modules.get(getattr(function, "__module__", ""))
    if module is not None:
        try:  # a method of an object has the name of what its class calls so
            if operator.attrgetter(name)(module) != function:
                return None
        except AttributeError:
            return None
    return f"{file}:{name}"


def _pickled(function: Callable[[], Any], name: str) -> str:
    """The text of a file that makes what a lambda, a function of a notebook or the like makes."""
    try:
        import cloudpickle
    except ImportError:
        raise c.UnsupportedError(
            f"env {name} has to be sent to other processes, which needs cloudpickle: pip install "
            "cloudpickle, or write it as a function at the top of a .py file") from None
    try:
        data = cloudpickle.dumps(function)
    except Exception as problem:  # of any object that it refers to
        raise c.InputError(f"env {name} cannot be sent to other processes ({problem}); write it as "
                           "a function at the top of a .py file") from problem
    encoded = base64.b64encode(data).decode()
    lines = [f'"{encoded[i:i + 88]}"' for i in range(0, len(encoded), 88)]
    own = (sys.prefix, sys.base_prefix)  # where the other processes look anyway
    path = [os.path.abspath(folder) for folder in sys.path if not folder.startswith(own)]
    return CODE.format(what=name.replace("\\", "/").replace('"', "'"), file=FILE, path=path,
                       data="\n    ".join(lines))


class File:
    """The file in a run's directory, as long as something comes of it."""

    def __init__(self, directory: Path, text: str) -> None:
        self.path = directory / FILE
        try:
            directory.mkdir(parents=True, exist_ok=True)
            self.before = self.path.read_text("utf-8") if self.path.exists() else None
            if self.before != text:
                self._write(text)
        except OSError as problem:
            raise c.FileError(f"cannot write '{self.path}': {problem.strerror}") from problem
        self.spec = f"{self.path.resolve()}:make_env"

    def _write(self, text: str) -> None:
        new = self.path.with_name(f"{FILE}.{os.getpid()}")
        new.write_text(text, "utf-8")
        new.replace(self.path)

    def take_back(self) -> None:
        """No run came of it: what was there before is there again."""
        if self.before is not None:
            self._write(self.before)
            return
        compiled = Path(importlib.util.cache_from_source(str(self.path)))  # by the process that imported it
        for file in (self.path, compiled):
            file.unlink(missing_ok=True)
        for folder in (compiled.parent, self.path.parent):
            try:
                folder.rmdir()
            except OSError:  # there are other things in it, or it is not there
                pass
