"""World models of saved runs, to look inside."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _library as c
from ._library import lib
from .domain import Domain, address, c_array


class Latents(NamedTuple):
    """Latent states: stoch [..., stoch*classes] one-hot, deter [..., deter].

    >>> waker.Model("runs/a").initial(5)
    <waker.model.Latents: stoch (5, 9), deter (5, 6)>
    """

    stoch: NDArray[np.float32]
    deter: NDArray[np.float32]

    def __repr__(self) -> str:
        return f"<waker.model.Latents: stoch {np.shape(self.stoch)}, deter {np.shape(self.deter)}>"

    @property
    def features(self) -> NDArray[np.float32]:
        """[stoch, deter], which every head of the model sees."""
        return np.concatenate(self, axis=-1)

    def at(self, index: Any) -> Latents:
        """Those at an index of the leading axes: latents.at(-1) is the last step."""
        return Latents(self.stoch[index], self.deter[index])


def _parts(value: Any, what: str) -> Latents:
    """stoch and deter of what a method was given."""
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise TypeError(f"{what} must be Latents, or stoch and deter, not {value!r:.80}")
    return Latents(*value)


class Model:
    """The world model of a run's directory, or of a model card's. Sequences are time-major:
    [T,N,...].

    step       of the snapshot; default: the newest
    device     "auto", "cpu", "cuda", "cuda:N"; default: as the run was configured
    sample     draw the stochastic parts from their distributions instead of taking the mode
    seed       of everything drawn

    >>> model = waker.Model("runs/a")
    >>> model
    <waker.Model of runs/a at step 402: toy, 9 + 6 features>
    >>> images, actions = np.zeros((4, 1, 64, 64, 3), np.uint8), np.zeros((4, 1, 2), np.float32)
    >>> seen = model.observe(images, actions)
    >>> imagined = model.imagine(seen.at(-1), actions)
    >>> model.decode(imagined).shape
    (4, 1, 64, 64, 3)
    """

    def __init__(self, run: c.StrPath, *, step: int | None = None, device: str | None = None,
                 threads: int = 0, sample: bool = False, seed: int = 0) -> None:
        config = c.fill(lib.model_config_default(), run=run, threads=threads, sample=sample, seed=seed,
                        **c.given(step=step, device=device))
        self.run = run
        self._handle = c.create("the model", lib.model_create, lib.model_destroy,
                                ctypes.byref(config))
        with self._handle.lock:
            pointer = self._handle.pointer
            self.domain = Domain._borrow(lib.model_domain(pointer), self._handle)
            self.step = lib.model_step(pointer)
            sizes = lib.model_get_sizes(pointer)
        self.stoch, self.classes, self.deter = sizes.stoch, sizes.classes, sizes.deter
        self.action_size = sizes.action
        self.features = self.stoch * self.classes + self.deter

    def __repr__(self) -> str:
        return f"<waker.Model of {os.fsdecode(self.run)} at step {self.step}: {self.domain.name}, " \
            f"{self.stoch * self.classes} + {self.deter} features{self._handle.closed}>"

    def initial(self, count: int) -> Latents:
        """States before anything was seen, [count, ...]."""
        count = c.integer(count, "count")
        return Latents(np.zeros((count, self.stoch * self.classes), np.float32),
                       np.zeros((count, self.deter), np.float32))

    def _states(self, state: Any, count: int) -> Latents:
        """A copy that the library may write into."""
        state = self.initial(count) if state is None else _parts(state, "state")
        widths = (self.stoch * self.classes, self.deter)
        return Latents(*(c_array(part, np.float32, (count, width), name).copy()
                         for part, width, name in zip(state, widths, Latents._fields)))

    def _actions(self, actions: Any) -> NDArray[np.float32]:
        shape = np.shape(actions)
        if len(shape) == 2 and self.domain.discrete or \
                len(shape) == 3 and shape[2] == self.action_size:
            return self.domain.actions(actions, shape[:2], "actions")
        numbers = "(T, N) or " if self.domain.discrete else ""
        raise c.InputError(f"actions must have the shape {numbers}(T, N, {self.action_size}), not "
                           f"{shape}")

    def _follow(self, states: Latents, steps: int, move: Callable[[Any, Any, int], None]) -> Latents:
        """Moves the states `steps` times and collects them, [T,N,...]."""
        out = Latents(*(np.empty((steps, *part.shape), np.float32) for part in states))
        pointers = c.ModelLatents(states.stoch.ctypes.data, states.deter.ctypes.data)
        with self._handle.lock:
            pointer = self._handle.pointer
            for t in range(steps):
                move(pointer, pointers, t)
                out.stoch[t], out.deter[t] = states
        return out

    def observe(self, images: Any, actions: ArrayLike, first: ArrayLike | None = None,
                state: Any = None) -> Latents:
        """States after each observation. images: what was observed, which is uint8 [T,N,64,64,3],
        or vectors [T,N,V], or {"image": ..., "vector": ...}, as the domain has it; actions [T,N,A],
        or [T,N] where they are discrete, the ones that led there; first [T,N], where episodes begin
        (default: at step 0 if there is no `state`); state [N,...], from before."""
        moves = self._actions(actions)
        steps, count = moves.shape[:2]
        pictures, vectors = self.domain.observation.split(images, (steps, count), "observations")
        if first is None:
            first = np.zeros((steps, count), bool)
            first[:1] = state is None
        flags = c_array(first, bool, (steps, count), "first") * np.uint8(c.IS_FIRST)

        def move(pointer: Any, states: Any, t: int) -> None:
            seen = c.Batch(images=None if pictures is None else pictures[t].ctypes.data,
                           vectors=None if vectors is None else vectors[t].ctypes.data,
                           flags=flags[t].ctypes.data)
            lib.model_observe_batch(pointer, count, states, ctypes.byref(seen),
                                    moves[t].ctypes.data)

        return self._follow(self._states(state, count), steps, move)

    def imagine(self, state: Any, actions: ArrayLike) -> Latents:
        """States that the model expects: state [N,...] from before, actions [T,N,A],
        or [T,N] where they are discrete."""
        moves = self._actions(actions)
        steps, count = moves.shape[:2]

        def move(pointer: Any, states: Any, t: int) -> None:
            lib.model_imagine(pointer, count, states, moves[t].ctypes.data)

        return self._follow(self._states(state, count), steps, move)

    def decode(self, latents: Any) -> Any:
        """Observations of states [...,], as the domain has them: images as float32 [...,64,64,3],
        of which 0 is black, 1 white, and the model may leave that range; vectors [...,V]; or a dict
        of both."""
        stoch, deter = (np.atleast_1d(part) for part in _parts(latents, "latents"))
        leading = deter.shape[:-1]
        count = int(np.prod(leading))
        if stoch.shape[:-1] != leading:
            raise c.InputError(f"latents must have as many states in stoch as in deter, not "
                               f"{stoch.shape[:-1]} and {leading}")
        states = self._states([part.reshape(count, part.shape[-1]) for part in (stoch, deter)],
                              count)
        images, vectors = self.domain.observation.empty((count,), np.float32)
        with self._handle.lock:
            pointer = self._handle.pointer
            lib.model_decode_observations(
                pointer, count,
                c.ModelLatents(states.stoch.ctypes.data, states.deter.ctypes.data),
                address(images), address(vectors))
        return self.domain.observation.join(
            None if images is None else images.reshape(*leading, *images.shape[1:])
            + np.float32(0.5),
            None if vectors is None else vectors.reshape(*leading, *vectors.shape[1:]))

    def close(self) -> None:
        """Gives the library's object up; what is called afterwards raises waker.ClosedError."""
        self._handle.close()

    def __reduce__(self) -> Any:
        raise TypeError("a model is not pickled: open its run again where it is needed")
