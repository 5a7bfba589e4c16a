"""Policies of saved runs."""

from __future__ import annotations

import ctypes
import os
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _library as c
from ._library import lib
from .domain import Domain, address, c_array


class PolicyState:
    """What a policy remembers after an action. Opaque; can be kept, gone back to, and pickled."""

    __slots__ = ("bytes",)

    def __init__(self, state: bytes) -> None:
        self.bytes = state

    def __repr__(self) -> str:
        return f"<waker.policy.PolicyState of {len(self.bytes)} bytes>"

    def __getstate__(self) -> bytes:
        return self.bytes

    def __setstate__(self, state: bytes) -> None:
        self.bytes = state


class Policy:
    """A policy of a run's directory: `action, state = policy.act(observation, state)`.

    run, task  directory of a run or of a model card, and the task's name or "explore"
    num_envs   None: one observation gives one action; N: all arrays begin with an axis [N]
    weights    "adapted", "alongside" or "finetuned"; default: adapted, else alongside;
               "adapted.NAME" of an adaptation or fine-tuning that has a name
    step       of the snapshot; default: the newest
    device     "auto", "cpu", "cuda", "cuda:N"; default: as the run was configured
    plugin     file to load the domain's code from; without it no code is loaded
    sample     draw actions instead of taking the mode
    seed       of everything drawn

    Observations and actions are those of WakerEnv: images [64,64,3], vectors [V], or a dict of both;
    actions [A], or the number of one where they are discrete.
    The same weights, observations and seed give the actions of `waker eval`, bit for bit.

    >>> policy = waker.Policy("runs/a", task="west")
    >>> policy
    <waker.Policy west of runs/a at step 402>
    >>> env, state = waker.WakerEnv(policy.domain, task="west", options=policy.options), None
    >>> observation, info = env.reset(seed=1)
    >>> for _ in range(3):
    ...     action, state = policy.act(observation, state)
    ...     observation, reward, terminated, truncated, info = env.step(action)
    >>> action.shape
    (2,)
    """

    def __init__(self, run: c.StrPath, task: str, *, num_envs: int | None = None,
                 weights: str | None = None, step: int | None = None, device: str | None = None,
                 plugin: c.StrPath | None = None, threads: int = 0, sample: bool = False,
                 seed: int = 0) -> None:
        config = c.fill(
            lib.policy_config_default(), run=run, task=task, threads=threads, sample=sample, seed=seed,
            **c.given(weights=weights, step=step, device=device, plugin=plugin))
        config.count = 1 if num_envs is None else c.integer(num_envs, "num_envs")
        self.run, self.task, self.seed = run, task, seed
        self._count, self._alone = config.count, num_envs is None
        self._handle = c.create("the policy", lib.policy_create, lib.policy_destroy,
                                ctypes.byref(config))
        with self._handle.lock:
            pointer = self._handle.pointer
            self.domain = Domain._borrow(lib.policy_domain(pointer), self._handle)
            chosen = lib.policy_options(pointer)
            self.options = {option.name: option.choices[chosen[i]]
                            for i, option in enumerate(self.domain.options)}
            self.step = lib.policy_step(pointer)
            self._size = lib.policy_state_size(pointer)
        self._latest: PolicyState | None = None  # the state that the C object is in
        self._leading: tuple[int, ...] = () if self._alone else (self._count,)
        self._nothing, self._begin = (np.full(self._count, flags, np.uint8)
                                      for flags in (0, c.IS_FIRST))

    def __repr__(self) -> str:
        many = "" if self._alone else f" for {self._count}"
        return f"<waker.Policy {self.task} of {os.fsdecode(self.run)} at step {self.step}" \
            f"{many}{self._handle.closed}>"

    def _take_state(self, pointer: Any) -> PolicyState:
        state = ctypes.create_string_buffer(self._size)
        lib.policy_save(pointer, state)
        self._latest = PolicyState(state.raw)
        return self._latest

    def reset(self, seed: int | None = None) -> PolicyState:
        """A state without memory whose draws come from `seed` on; default: that of the policy.

        >>> state = waker.Policy("runs/a", task="west").reset(seed=7)
        """
        with self._handle.lock:
            pointer = self._handle.pointer
            lib.policy_reset(pointer, c.seed(self.seed if seed is None else seed))
            return self._take_state(pointer)

    def act(self, observation: Any, state: PolicyState | None = None,
            first: ArrayLike | None = None) -> tuple[Any, PolicyState]:
        """The next action and state. `state` is what the call before gave, or None where an episode
        begins; `first` [N] says in which environments one begins."""
        images, vectors = self.domain.observation.split(observation, self._leading)
        if state is None:
            flags = self._begin
        elif first is None:
            flags = self._nothing
        else:
            begins = np.reshape(first, -1) if self._alone else first
            flags = c_array(begins, bool, (self._count,), "first").view(np.uint8)
        seen = c.Batch(images=address(images), flags=flags.ctypes.data, vectors=address(vectors))
        actions: NDArray[Any] = np.empty((self._count, self.domain.action_size), np.float32)
        with self._handle.lock:
            pointer = self._handle.pointer
            if state is not None and state is not self._latest:
                if not isinstance(state, PolicyState) or not isinstance(state.bytes, bytes):
                    raise TypeError(f"state must be what act() or reset() gave, not {state!r:.80}")
                lib.policy_load(pointer, state.bytes, len(state.bytes))
            self._latest = None  # until the call is through
            lib.policy_act_on(pointer, ctypes.byref(seen), actions.ctypes.data)
            if self.domain.discrete:
                actions = actions.argmax(axis=1)
            return (actions[0] if self._alone else actions), self._take_state(pointer)

    def close(self) -> None:
        """Gives the library's object up; what is called afterwards raises waker.ClosedError."""
        self._handle.close()

    def __reduce__(self) -> Any:
        raise TypeError("a policy is not pickled: open its run again where it is needed (its states "
                        "can be pickled)")
