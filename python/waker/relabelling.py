"""Rewards after the fact: a function becomes a task of a run that has its data already."""

from __future__ import annotations

import argparse
import ctypes
import hashlib
import importlib
import importlib.util
import inspect
import json
import os
import sys
from collections.abc import Callable, Iterable
from types import MappingProxyType
from typing import Any, TypedDict, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _library as c
from ._library import lib
from .domain import Domain


RewardLike = TypeVar("RewardLike", bound=Callable[["Episode"], ArrayLike])


class Relabelled(TypedDict):
    """What relabel() has done: the task's name, episodes, rows of the replay, how many episodes and
    agent steps were simulated, seconds, mean return and threads."""

    name: str
    episodes: int
    rows: int
    simulated: int
    steps: int
    seconds: float
    mean_return: float
    threads: int


def reward(name: str, reads: Iterable[str]) -> Callable[[RewardLike], RewardLike]:
    """Marks a function as a reward: the task's name, and what of the state it reads.

    >>> @waker.reward("north", reads=["position"])
    ... def north(episode):
    ...     return episode["position"][:, 1]
    """
    c.text(name, "name")
    states = tuple(map(os.fsdecode, c.texts(reads, "reads")))

    def mark(function: RewardLike) -> RewardLike:
        if not inspect.isfunction(function):
            raise TypeError(f"reward must be a function of an episode, not {function!r:.80}")
        function.waker_reward = (name, states)  # type: ignore[attr-defined]
        return function
    return mark


class Episode:
    """An episode of a run, simulated once more. It has C control steps, which len() gives.

    episode[name]  the state after every control step, [C, n], or [C] where it is one number
                   None where a name that was given with a "?" is missing
    start          {name: the state at the start, [n] or a number}
    theta          {name of the parameter: its value}
    actions        [C, action_size]: of the agent step that each control step belongs to
    step           [C]: the number of that agent step, from 0
    rewards        {task: [agent steps]}: what was stored of the domain's own tasks
    number         of the episode in the run
    """

    def __init__(self, raw: Any, reads: tuple[str, ...], domain: Domain) -> None:
        steps, count = raw.steps, raw.control_steps
        states = {name.rstrip("?"): _copy(raw.states[i], (1 + count, raw.widths[i]))
                  for i, name in enumerate(reads)}
        self._states = {name: _narrow(state)[1:] if state.size else None
                        for name, state in states.items()}
        self.start = MappingProxyType({name: _narrow(state)[0] if state.size else None
                                       for name, state in states.items()})
        self.number = raw.number
        self.step = _copy(raw.step, (count,))
        self.actions = _copy(raw.actions, (steps, domain.action_size))[self.step]
        theta = _copy(raw.theta, (len(domain.params),))
        self.theta = MappingProxyType({p.name: float(x) for p, x in zip(domain.params, theta)})
        rewards = _copy(raw.rewards, (steps, len(domain.tasks)))
        self.rewards = MappingProxyType({name: rewards[:, k]
                                         for k, name in enumerate(domain.task_names)})

    def __repr__(self) -> str:
        theta = ", ".join(f"{name} {value:g}" for name, value in self.theta.items())
        return f"<waker.Episode {self.number}: {len(self)} control steps, {theta}>"

    def __getitem__(self, name: str) -> Any:
        try:
            return self._states[name]
        except KeyError:
            raise c.NotFoundError(f"the reward does not say that it reads {name!r}; it reads "
                                  f"{list(self._states)}") from None

    def __len__(self) -> int:
        return len(self.step)


def _copy(pointer: Any, shape: tuple[int, ...]) -> NDArray[Any]:
    kind = np.dtype(pointer._type_)
    if not pointer or 0 in shape:
        return np.zeros(shape, kind)
    copy: NDArray[Any] = np.ctypeslib.as_array(pointer, shape).copy()
    return copy


def _narrow(state: NDArray[Any]) -> NDArray[Any]:
    return state[:, 0] if state.shape[1] == 1 else state


def _plain(value: Any) -> bool:
    return isinstance(value, (bool, int, float, str, bytes, type(None))) or \
        isinstance(value, tuple) and all(map(_plain, value))


def _code(function: Any, name: str, reads: tuple[str, ...]) -> tuple[str, str]:
    """Path of the function's code and a hash of it: of its file, or its source where it has none;
    with the plain values it was made with."""
    if not inspect.isfunction(function):
        raise TypeError(f"reward must be a function of an episode, not {function!r:.80}")
    path = os.path.abspath(function.__code__.co_filename)
    try:
        with open(path, "rb") as file:
            source = file.read()
    except OSError:
        try:
            source = inspect.getsource(function).encode()
        except OSError:
            source = function.__code__.co_code + repr(function.__code__.co_consts).encode()
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    values = [*(function.__defaults__ or ()), *cells]
    made_with = (function.__qualname__, name, reads, [v for v in values if _plain(v)])
    return path, hashlib.sha256(source + repr(made_with).encode()).hexdigest()


def _numbers(given: Any, episode: Episode, name: str) -> NDArray[np.float64]:
    """What a reward returned, as one float64 for each control step; anything else is refused."""
    numbers = np.asarray(given)
    if numbers.dtype.kind not in "biuf":
        raise c.InputError(f"the reward {name!r} returned {numbers.dtype} for episode "
                           f"{episode.number}; real numbers are needed")
    if numbers.shape != (len(episode),):
        raise c.InputError(f"the reward {name!r} returned the shape {numbers.shape} for episode "
                           f"{episode.number}; one number for each of its control steps is needed: "
                           f"({len(episode)},)")
    numbers = numbers.astype(np.float64)
    wrong = np.flatnonzero(~np.isfinite(numbers))
    if len(wrong):
        raise c.InputError(f"the reward {name!r} is {numbers[wrong[0]]} at control step {wrong[0]} "
                           f"of episode {episode.number}")
    return numbers


def relabel(run: c.StrPath, reward: Callable[[Episode], ArrayLike] | c.StrPath, *,
            name: str | None = None, reads: Iterable[str] | None = None, restart: bool = False,
            threads: int = 0, plugin: c.StrPath | None = None) -> Relabelled:
    """Adds a task to the run in the directory `run`, as `waker relabel` does.

    reward    function of an Episode that returns a number for each of its control steps; an agent
              step earns their sum. Or the path of a plug-in (docs/plugins.md).
    name      of the task, and
    reads     names of what it reads of the state: where @waker.reward does not say them. One that
              ends with "?" may be missing in some worlds.
    restart   replace a reward of that name that other code has computed
    plugin    file of the run's domain, where that is a plug-in

    The run's episodes are simulated by the library's threads; the function is called in this one, an
    episode at a time, in their order. Whatever it raises is raised here, and the run stays as it
    was. Returns a dict (waker.relabelling.Relabelled).

    >>> @waker.reward("north", reads=["position"])
    ... def north(episode):
    ...     return episode["position"][:, 1]
    >>> done = waker.relabel("runs/a", north)
    >>> done["name"], done["episodes"]
    ('north', 21)
    """
    config = c.fill(c.RelabelConfig(directory=c.text(run, "run")), restart=restart, threads=threads,
                    **c.given(plugin=plugin))
    raised: list[BaseException] = []
    if isinstance(reward, (str, bytes, os.PathLike)):
        config.reward = c.text(reward, "reward")
    else:
        said = getattr(reward, "waker_reward", (None, None))
        name = name or said[0]
        reads = said[1] if reads is None else reads
        recorded = _recorded(reward, name, reads, raised)
        config.recorded = ctypes.pointer(recorded)
    result = c.RelabelResult()
    try:
        lib.relabel_run(ctypes.byref(config), ctypes.byref(result))
    except c.Error:
        if raised:
            raise raised[0] from None
        raise
    return {"name": result.name.decode(), "episodes": result.episodes, "rows": result.rows,
            "simulated": result.simulated, "steps": result.steps, "seconds": result.seconds,
            "mean_return": result.mean_return, "threads": result.threads}


def _recorded(function: Any, name: str | None, given: Iterable[str] | None,
              raised: list[BaseException]) -> c.RecordedReward:
    if not name or given is None:
        raise TypeError("give the name of the task and what the reward reads: name= and reads=, or "
                        "@waker.reward(name, reads)")
    texts = c.texts(given, "reads")
    reads = tuple(map(os.fsdecode, texts))
    path, sha256 = _code(function, name, reads)

    def answer(_context: Any, raw: Any, out: Any) -> bool:
        try:
            raw = raw.contents
            episode = Episode(raw, reads, Domain._borrow(raw.domain, None))
            numbers = _numbers(function(episode), episode, name)
            np.ctypeslib.as_array(out, (len(episode) + 1,))[:-1] = numbers
            return True
        except BaseException as exception:  # C code has no use for it
            raised.append(exception)
            return False

    return c.RecordedReward(name=c.text(name, "name"), reads=(ctypes.c_char_p * (len(texts) + 1))(*texts),
                            n_reads=len(texts), path=c.text(path, "path"), sha256=sha256.encode(),
                            reward=c.RewardFunction(answer))


def _named(text: str) -> Any:
    """The function that MODULE:NAME or FILE.py:NAME stands for."""
    place, _, name = text.rpartition(":")
    if not place or not name:
        raise c.InputError(f"--python {text}: give MODULE:FUNCTION or FILE.py:FUNCTION")
    if place.endswith(".py"):
        spec = importlib.util.spec_from_file_location(os.path.basename(place)[:-3], place)
        if spec is None or spec.loader is None:
            raise c.NotFoundError(f"--python {text}: there is no {place}")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    else:
        sys.path.insert(0, os.getcwd())
        module = importlib.import_module(place)
    try:
        return getattr(module, name)
    except AttributeError:
        raise c.NotFoundError(f"--python {text}: there is no '{name}' in {place}") from None


def main(arguments: list[str]) -> int:
    """`waker relabel RUN --python MODULE:FUNCTION`; returns the exit code."""
    parser = argparse.ArgumentParser(prog="waker relabel", allow_abbrev=False)
    parser.add_argument("run", metavar="RUN")
    parser.add_argument("--python", required=True, metavar="MODULE:FUNCTION",
                        help="the reward, marked by @waker.reward")
    parser.add_argument("--plugin", metavar="FILE", help="of the run's domain")
    parser.add_argument("--restart", action="store_true",
                        help="replace a reward of that name that other code has computed")
    parser.add_argument("--threads", type=int, default=0, metavar="N")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--quiet", action="store_true", help="print results and errors only")
    given = parser.parse_args(arguments)
    try:
        done = relabel(given.run, _named(given.python), restart=given.restart,
                       threads=given.threads, plugin=given.plugin)
    except (c.Error, ImportError, OSError, TypeError) as problem:
        print(f"waker: {problem}", file=sys.stderr)
        return 1 if isinstance(problem, (c.FileError, c.NoMemoryError, c.DivergedError)) else 2
    if given.json:
        print(json.dumps({**{key: value for key, value in done.items() if key != "name"},
                          "task": done["name"]}))
    else:
        print(f"task '{done['name']}' of {given.run}: {done['episodes']} episodes, mean return "
              f"{done['mean_return']:.5g}\n{done['simulated']} episodes, {done['steps']} agent steps, "
              f"in {done['seconds']:.3g} s on {done['threads']} threads")
    return 0
