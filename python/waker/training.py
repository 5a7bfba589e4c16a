"""Training as `waker train` does it."""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import signal
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Union

from . import _library as c
from . import _make_env
from ._display import Display, display
from ._library import lib
from .domain import Domain
from .progress import Progress
from .results import Run

ENDS = ("finished", "interrupted", "out of time")
# A value of a setting; a dict has the settings below a name: {"rssm": {"deter": 200}} is rssm.deter.
Setting = Union[bool, int, float, str, Iterable[Any], Mapping[str, Any]]
# The library's words for what is wrong with a value, and Python's.
_WORDS = [
    (r"(\S+): (\S+) is outside (\S+) to (\S+)$", r"\1 must be from \3 to \4, not \2"),
    (r"(\S+): (.*) is not a ((?:whole )?number)$", r"\1 must be a \3, not \2"),
    (r"(\S+): (.*) has a fraction; .*$", r"\1 must be a whole number, not \2"),
    (r"(\S+): (.*) is neither true nor false$", r"\1 must be True or False, not \2"),
]


def _in_python(text: str) -> str:
    """A message of the library without the names of the program's options."""
    for option, argument in (("command line: ", ""), ("--configs: ", "configs: "),
                             ("--config-file: ", "files: "), ("--from: ", "like: ")):
        if text.startswith(option):
            text = argument + text[len(option):]
    text = text.replace("give the --logdir of 'waker train'", "give the logdir of a run")
    for pattern, words in _WORDS:
        text = re.sub(pattern, words, text)
    return text


def _value(key: str, value: Any) -> bytes:
    """A setting as the library reads it."""
    if isinstance(value, bool):
        value = "true" if value else "false"
    elif isinstance(value, (list, tuple)):
        value = ",".join(map(str, value))
    elif value is None:
        raise TypeError(f"{key} must have a value, not None")
    return c.text(str(value), key)


def _flat(settings: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Settings by their whole names, with dots."""
    for name, value in settings.items():
        key = above + os.fsdecode(c.text(name, "the name of a setting"))
        if isinstance(value, Mapping):
            yield from _flat(value, key + ".")
        else:
            yield key, value


def _texts(values: Iterable[Any], what: str) -> Any:
    texts = c.texts(values, what)
    return (ctypes.c_char_p * (len(texts) + 1))(*texts, None)


@contextlib.contextmanager
def _stopped_by_ctrl_c(stop: ctypes.c_int) -> Iterator[list[int]]:
    """While C code runs, Ctrl-C sets the flag; raised in a callback the interrupt would be lost."""
    interrupted: list[int] = []
    if threading.current_thread() is not threading.main_thread() or \
            signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield interrupted
        return

    def note(number: int, frame: Any) -> None:
        interrupted.append(number)
        stop.value = 1

    signal.signal(signal.SIGINT, note)
    try:
        yield interrupted
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _warn(is_warning: bool, line: str) -> None:
    """What messages go to by default. Repeated ones are shown once, as Python's filters have it."""
    if is_warning:
        warnings.warn(line)


def train(env: str | Domain | Callable[[], Any] | None = None, logdir: c.StrPath | None = None,
          configs: str | Iterable[str] = (), *, steps: int | None = None, seed: int | None = None,
          settings: Mapping[str, Setting] | None = None, files: Iterable[c.StrPath] = (),
          like: c.StrPath | None = None, progress: bool | Callable[[Progress], object] = True,
          message: Callable[[bool, str], object] | None = None, **keys: Setting) -> str:
    """Trains in the directory `logdir` until all steps are done; the same call resumes a run that
    is there, and train(logdir="runs/a") does so with the run's own settings.

    env       what to train in: a built-in domain ("clean-up"), an environment of Gymnasium
              ("CartPole-v1"), or a class or function that makes one (docs/plugins.md).
              Each is made in a process of its own. What is defined in a notebook, or a lambda, is
              sent there by cloudpickle; what a script defines is imported from its file, so that
              the script's train() belongs below `if __name__ == "__main__":`
    logdir    directory of the run
    configs   names of blocks of settings, one or several: a size ("quick", "small", "paper"), a
              curriculum ("waker-m"); `waker config --list` lists them
    steps     agent steps in all; default: as the blocks say
    seed      of everything drawn
    settings  more settings by name (docs/configuration.md), for names with a dot:
              {"rssm.deter": 200, "env.count": 4}
    files     files with more blocks, or config.yaml of runs
    like      directory of a run whose settings to begin with
    progress  True shows a bar of tqdm or rich, or lines where neither is installed or nobody
              watches; False nothing; a function is called with a waker.Progress after every
              iteration
    message   function of (is_warning, line); default: warnings go to warnings.warn, other lines
              nowhere
    **keys    settings as keywords: batch=16, tasks="all"; a dict has those below a name,
              rssm={"deter": 200}

    Returns "finished" or "out of time". Ctrl-C, and any exception in `progress` or `message`, stops
    the run after its iteration, saved; then it is raised.

    >>> waker.train("toy", "runs/b", "waker-m", steps=300, seed=1, tasks="all", batch=4,
    ...             rssm={"deter": 16}, progress=False)
    'finished'
    """
    if "WAKER_WORKER" in os.environ:
        raise c.InputError("this process was started to make an environment and has imported a "
                           "script that trains; put the call of train() below `if __name__ == "
                           "\"__main__\":`")
    if logdir is None:
        raise TypeError("logdir must be the directory of the run: train(env, 'runs/a', ...), or "
                        "train(logdir='runs/a') to resume")
    directory = Path(os.fsdecode(c.text(logdir, "logdir")))
    if not os.fspath(logdir):
        raise c.InputError("logdir must name a directory, not be empty")
    blocks = [configs] if isinstance(configs, str) else \
        [os.fsdecode(name) for name in c.texts(configs, "configs")]
    files = [os.fsdecode(file) for file in c.texts(files, "files")]
    if message is not None and not callable(message):
        raise TypeError(f"message must be a function, not {message!r:.80}")
    shown = display(progress)
    chosen = _settings(settings, keys, steps, seed)
    world = _make_env.World() if env is None else _make_env.world(env)
    if world.block is not None:
        blocks.insert(0, world.block)
    is_new = not os.path.exists(directory / "config.yaml")
    if is_new and not blocks and like is None and not files:
        raise c.InputError(
            f"there is no run in '{directory}' to resume; give env" if env is None else
            "configs must say how large the networks of a new run are: 'quick' for a first look, "
            "'small', 'paper'")
    config = lib.train_config_default()
    config.directory = c.text(logdir, "logdir")
    config.from_ = None if like is None else c.text(like, "like")
    config.blocks, config.files = _texts(blocks, "configs"), _texts(files, "files")
    file = None if world.text is None else _make_env.File(directory, world.text)
    plugin = world.plugin if file is None else file.spec
    if plugin is not None:
        chosen["plugin"] = c.text(plugin, "env")
    config.settings = (c.TrainSetting * (len(chosen) + 1))(
        *(c.TrainSetting(os.fsencode(key), value) for key, value in chosen.items()))
    try:
        return _run(config, shown, message or _warn)
    except c.Error as error:
        text = str(error)
        if file is not None and (not is_new or not os.path.exists(directory / "config.yaml")):
            file.take_back()
        if env is None and "domain comes from the plug-in" in text:
            text = f"env must be given again: the run in '{directory}' trains in an environment " \
                f"of yours, {Run(directory).config['plugin']}"
        raise type(error)(_in_python(text)) from None


def _settings(settings: Mapping[str, Any] | None, keys: Mapping[str, Any], steps: Any,
              seed: Any) -> dict[str, bytes]:
    """All of them by their whole names, none twice."""
    if not isinstance(settings, (Mapping, type(None))):
        raise TypeError(f"settings must be a dict of names and values, not {settings!r:.80}")
    given = [*_flat(settings or {}), *_flat(keys)]
    if steps is not None:
        steps = int(steps) if isinstance(steps, float) and steps.is_integer() else steps
        given.append(("steps", c.integer(steps, "steps", ctypes.c_int64, least=1)))
    if seed is not None:
        given.append(("seed", c.seed(seed)))
    chosen = {key: _value(key, value) for key, value in given}
    for key, _ in given:
        if [name for name, _ in given].count(key) > 1:
            raise TypeError(f"{key} is given twice")
    return chosen


def _run(config: Any, shown: Display, message: Callable[[bool, str], object]) -> str:
    """Calls the library. What callbacks raise is raised when it has returned."""
    stop, raised = ctypes.c_int(0), []

    def guarded(function: Callable[..., object]) -> Callable[..., None]:
        def call(_context: Any, *arguments: Any) -> None:
            try:
                function(*arguments)
            except BaseException as exception:  # C code has no use for it
                raised.append(exception)
                stop.value = 1
        return call

    def show(now: Any) -> None:
        shown.show(Progress(**{name: getattr(now.contents, name)
                               for name in Progress.__dataclass_fields__}))

    config.stop = ctypes.pointer(stop)
    # Also without a listener: Python handles signals only where it runs.
    config.progress = c.ProgressFunction(guarded(show))
    config.message = c.MessageFunction(guarded(
        lambda warning, line: message(warning, _in_python(os.fsdecode(line)))))
    end = ctypes.c_int()
    try:
        with _stopped_by_ctrl_c(stop) as interrupted:
            lib.train_run(ctypes.byref(config), ctypes.byref(end))
    finally:
        shown.close()
    if raised:
        raise raised[0]
    if interrupted:
        raise KeyboardInterrupt
    return ENDS[end.value]
