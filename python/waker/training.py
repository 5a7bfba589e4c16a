"""Training as `waker train` does it."""

import contextlib
import ctypes
import inspect
import os
import signal
import threading
import warnings
from collections.abc import Mapping

from . import _library as c
from ._library import lib

ENDS = ("finished", "interrupted", "out of time")


def _texts(values, what):
    values = c.texts(values, what)
    return (ctypes.c_char_p * (len(values) + 1))(*values, None)


def _value(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    return ",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


@contextlib.contextmanager
def _stopped_by_ctrl_c(stop):
    """While C code runs, Ctrl-C sets the flag; raised in a callback the interrupt would be lost."""
    interrupted = []
    if threading.current_thread() is not threading.main_thread() or \
            signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield interrupted
        return

    def note(number, frame):
        interrupted.append(number)
        stop.value = 1

    signal.signal(signal.SIGINT, note)
    try:
        yield interrupted
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _spec(function):
    """FILE.py:FUNCTION of a function that makes environments: processes of their own import it."""
    name = getattr(function, "__qualname__", "")
    try:
        file = os.path.realpath(inspect.getsourcefile(function) or "")
    except TypeError:
        file = ""
    if not file.endswith(".py") or not os.path.exists(file) or "<" in name or not name:
        raise c.InputError(f"{name or function!r} cannot make environments in other processes; "
                           "write it as a function at the top of a .py file")
    return f"{file}:{name}"


def _is_path(value):
    return isinstance(value, (str, bytes, os.PathLike))


def _names_make_env(arguments):
    """Whether the first argument stands where make_env does, though it is nothing to call."""
    if not _is_path(arguments[0]) or len(arguments) > 3:
        return True
    return len(arguments) == 3 and not isinstance(arguments[2], (Mapping, type(None)))


def _warn(is_warning, line):
    """What messages go to by default. Repeated ones are shown once, as Python's filters have it."""
    if is_warning:
        warnings.warn(line)


def train(*arguments, **options):
    """train([make_env,] directory, blocks=(), settings=None, *, files=(), like=None, progress=None,
    message=None)

    Trains in `directory` until all steps are done, and resumes a run that is there.

    make_env  function or class that makes Gymnasium environments, for runs in environments of yours;
              each is made in a process of its own, which imports the file that defines it
              (docs/python-environments.md). In a script, call train() below `if __name__ == "__main__":`
    blocks    names of blocks of settings, as after --configs
    settings  {"steps": 20000, "rssm.deter": 200}: single keys, applied last (docs/configuration.md)
    files     as after --config-file
    like      directory of a run whose settings to begin with, as after --from
    progress  function of a waker._library.TrainProgress, called after every iteration
    message   function of (is_warning, line); default: warnings go to warnings.warn, other lines
              nowhere

    Returns "finished" or "out of time". Ctrl-C, and any exception in `progress` or `message`, stops
    the run after its iteration, saved; then it is raised. train(directory) resumes it.
    """
    if arguments and callable(arguments[0]):
        return _train(*arguments[1:], make_env=arguments[0], **options)
    if arguments and _names_make_env(arguments):
        raise TypeError(f"make_env: a function or class is needed, given: {arguments[0]!r}")
    return _train(*arguments, **options)


def _train(directory, blocks=(), settings=None, *, make_env=None, files=(), like=None,
           progress=None, message=None):
    if "WAKER_WORKER" in os.environ:
        raise c.InputError("this process was started to make an environment and has imported a "
                           "script that trains; put the call of train() below `if __name__ == "
                           "\"__main__\":`")
    if not isinstance(settings, (Mapping, type(None))):
        raise TypeError(f"settings: a dict of keys and values is needed, given: {settings!r:.80}")
    for what, function in ("progress", progress), ("message", message):
        if function is not None and not callable(function):
            raise TypeError(f"{what}: a function is needed, given: {function!r:.80}")
    if make_env is not None:
        settings = {**(settings or {}), "plugin": _spec(make_env)}
    config = lib.train_config_default()
    pairs = [(c.text(key, "settings"), c.text(_value(value), f"settings[{key!r}]")) for key, value in (settings or {}).items()]
    stop, raised = ctypes.c_int(0), []

    def guarded(function):
        def call(_context, *arguments):
            try:
                function(*arguments)
            except BaseException as exception:  # C code has no use for it
                raised.append(exception)
                stop.value = 1
        return call

    config.directory = c.text(directory, "directory")
    config.from_ = None if like is None else c.text(like, "like")
    config.blocks, config.files = _texts(blocks, "blocks"), _texts(files, "files")
    config.settings = (c.TrainSetting * (len(pairs) + 1))(*pairs)
    config.stop = ctypes.pointer(stop)
    # Also without a listener: Python handles signals only where it runs.
    config.progress = c.ProgressFunction(
        guarded(lambda now: progress(now.contents) if progress else None))
    config.message = c.MessageFunction(
        guarded(lambda warning, line: (message or _warn)(warning, os.fsdecode(line))))
    end = ctypes.c_int()
    with _stopped_by_ctrl_c(stop) as interrupted:
        lib.train_run(ctypes.byref(config), ctypes.byref(end))
    if raised:
        raise raised[0]
    if interrupted:
        raise KeyboardInterrupt
    return ENDS[end.value]
