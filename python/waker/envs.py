"""waker's worlds as Gymnasium environments: one, and many that step together.

A step's `info` has the reward and the completion of every task by its name, θ, and whether the
simulation broke down. Which task's reward is the reward is `task=`.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import ArrayLike, NDArray

from . import _library as c
from ._library import lib
from .domain import IMAGE, Domain, Space, Theta, address, as_domain, c_array

SEEDS = 2**63  # Gymnasium's generators draw seeds below this
RESET_OPTIONS = {"theta", "reset_mask"}


class ChoosesTheta(Protocol):
    """What `curriculum=` takes: waker.Curriculum, or an object of yours."""

    def next(self) -> Any:
        """θ of the next episode."""


class _Views(NamedTuple):
    """Of the library's memory, [num_envs, ...]; None for what the domain does not have."""

    images: NDArray[np.uint8] | None
    rewards: NDArray[np.float32]
    completion: NDArray[np.float32]
    flags: NDArray[np.uint8]
    vectors: NDArray[np.float32] | None


class _Episodes:
    """What both kinds of environments do alike: the domain's spaces, and what episodes begin with."""

    def _open(self, domain: Domain | str, task: str | None, options: Mapping[str, str] | None,
              theta: Theta | None, curriculum: ChoosesTheta | None, render_mode: str | None,
              width: int, height: int) -> tuple[Any, Any]:
        if render_mode not in (None, "rgb_array"):
            raise c.InputError(f"render_mode must be None or 'rgb_array', not {render_mode!r}")
        if theta is not None and curriculum is not None:
            raise c.InputError("theta and curriculum both choose θ; give one of them")
        if curriculum is not None and not callable(getattr(curriculum, "next", None)):
            raise TypeError(f"curriculum must be an object with next(), not {curriculum!r:.80}")
        self.domain = as_domain(domain)
        self.task = self.domain.task_names[self.domain.task(task)] if task is not None \
            else self.domain.task_names[0]
        self.theta = None if theta is None else self.domain.theta(theta)
        self.curriculum = curriculum
        self.render_mode = render_mode
        self.width, self.height = c.integer(width, "width"), c.integer(height, "height")
        self._task = self.domain.task_names.index(self.task)
        self._choices = self.domain.choices(options)
        self._space = Space(self.domain)
        self._arguments: dict[str, Any] = {
            "domain": self.domain, "task": self.task, "options": options, "theta": theta,
            "curriculum": curriculum, "render_mode": render_mode, "width": self.width,
            "height": self.height}
        return self._spaces()

    def _spaces(self) -> tuple[Any, Any]:
        """Those of observations and of actions."""
        observed, size = self.domain.observation, self.domain.action_size
        image = spaces.Box(0, 255, IMAGE, np.uint8)
        vector = spaces.Box(-np.inf, np.inf, (observed.vector,), np.float32)
        both = observed.image and observed.vector
        return (spaces.Dict(image=image, vector=vector) if both else observed.join(image, vector),
                spaces.Discrete(size) if self.domain.discrete
                else spaces.Box(-1, 1, (size,), np.float32))

    def _describe(self) -> str:
        name = f"{self.domain.name}, task {self.task}"
        return name if self.theta is None else f"{name}, θ {self.theta.tolist()}"

    def _choose_theta(self, given: Theta | None, seed: int, episode: int) -> NDArray[np.float64]:
        if given is not None:
            return self.domain.theta(given)
        if self.theta is not None:
            return self.theta
        if self.curriculum is not None:
            return self.domain.theta(self.curriculum.next())
        return self._space.sample(seed, episode)

    def _render(self, pointer: Any) -> NDArray[np.uint8]:
        rgb = np.empty((max(0, self.height), max(0, self.width), 3), np.uint8)
        lib.env_render(pointer, self.width, self.height, rgb.ctypes.data)
        return rgb


def _check_options(options: Mapping[str, Any] | None) -> Mapping[str, Any]:
    if not isinstance(options, (Mapping, type(None))):
        raise TypeError(f"options must be a dict, not {options!r:.80}")
    unknown = set(options or {}) - RESET_OPTIONS
    if unknown:
        raise c.InputError(f"reset has no option {', '.join(map(repr, sorted(unknown)))}; it knows "
                           "'theta'")
    return options or {}


class WakerEnv(_Episodes, gymnasium.Env[Any, Any]):
    """One environment of a domain, which is its name or a waker.Domain.

    task     whose reward is the reward; default: the domain's first
    options  {"option": "choice"} of the domain (`waker envs DOMAIN` lists them)
    theta    θ of every episode; default: drawn from the domain's own distribution
    curriculum  an object whose next() gives θ of the next episode: waker.Curriculum or your own
    width, height  of render()

    reset(options={"theta": ...}) sets θ of that episode, as a list or {"name": value}. A pickled
    environment continues bit for bit where it was.

    >>> env = waker.WakerEnv("clean-up", task="push")
    >>> env
    <waker.WakerEnv clean-up, task push>
    >>> observation, info = env.reset(seed=1, options={"theta": {"arena": 2, "green": 1, "blue": 1}})
    >>> observation.shape
    (64, 64, 3)
    >>> observation, reward, terminated, truncated, info = env.step([1.0, 0.0])
    >>> list(info["completion"])
    ['sort', 'sort-reverse', 'push']
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 40}

    def __init__(self, domain: Domain | str, *, task: str | None = None,
                 options: Mapping[str, str] | None = None, theta: Theta | None = None,
                 curriculum: ChoosesTheta | None = None, render_mode: str | None = None,
                 width: int = 256, height: int = 256) -> None:
        self.observation_space, self.action_space = self._open(
            domain, task, options, theta, curriculum, render_mode, width, height)
        self.metadata = {**self.metadata, "render_fps": round(1 / self.domain.step_seconds)}
        self._rewards = np.zeros(len(self.domain.tasks), np.float32)
        self._completion = np.zeros_like(self._rewards)
        self._flags = np.zeros(1, np.uint8)
        self._episode_theta: NDArray[np.float64] = np.zeros(len(self.domain.params))
        self._seed: int | None = None
        self._episode = 0
        self._handle = c.create("the environment", lib.env_create, lib.env_destroy,
                                self.domain._pointer, self._choices)

    def __repr__(self) -> str:
        return f"<waker.WakerEnv {self._describe()}{self._handle.closed}>"

    __str__ = __repr__

    def _frame(self, image: NDArray[Any] | None, vector: NDArray[Any] | None) -> c.Frame:
        return c.Frame(address(image), self._rewards.ctypes.data, self._completion.ctypes.data,
                       self._flags.ctypes.data, address(vector))

    def _info(self) -> dict[str, Any]:
        return {"rewards": dict(zip(self.domain.task_names, self._rewards.tolist())),
                "completion": {task.name: value for task, value in
                               zip(self.domain.tasks, self._completion.tolist())
                               if task.has_completion},
                "theta": self._episode_theta.copy(),
                "diverged": bool(self._flags[0] & c.IS_DIVERGED)}

    def reset(self, *, seed: int | None = None, options: Mapping[str, Any] | None = None) -> \
            tuple[Any, dict[str, Any]]:
        """Begins an episode; `options={"theta": ...}` chooses its θ."""
        seed = None if seed is None else c.seed(seed)
        super().reset(seed=seed)
        options = _check_options(options)
        seen = self.domain.observation.empty()
        with self._handle.lock:
            pointer = self._handle.pointer
            if seed is not None:
                self._seed, self._episode = seed, 0
            elif self._seed is None:
                self._seed = int(self.np_random.integers(SEEDS))
            theta = self._choose_theta(options.get("theta"), self._seed, self._episode)
            lib.env_reset(pointer, theta.ctypes.data, theta.size, self._seed, self._episode,
                          ctypes.byref(self._frame(*seen)))
            self._episode += 1
            self._episode_theta = theta
            return self.domain.observation.join(*seen), self._info()

    def step(self, action: ArrayLike) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """One step with the reward of `task`; `info` has those of all tasks."""
        action = self.domain.actions(action)
        seen = self.domain.observation.empty()
        with self._handle.lock:
            pointer = self._handle.pointer
            lib.env_step(pointer, action.ctypes.data, ctypes.byref(self._frame(*seen)))
            flags = int(self._flags[0])
            terminated = bool(flags & c.IS_TERMINAL)
            return (self.domain.observation.join(*seen), float(self._rewards[self._task]),
                    terminated, bool(flags & c.IS_LAST) and not terminated, self._info())

    def render(self) -> NDArray[np.uint8] | None:
        """The picture of `width` by `height`, where render_mode is "rgb_array"."""
        if self.render_mode is None:
            gymnasium.logger.warn("render() needs render_mode='rgb_array', given to gym.make")
            return None
        with self._handle.lock:
            pointer = self._handle.pointer
            return self._render(pointer)

    def close(self) -> None:
        """Gives the library's object up; what is called afterwards raises waker.ClosedError."""
        self._handle.close()

    def __getstate__(self) -> dict[str, Any]:
        with self._handle.lock:
            pointer = self._handle.pointer
            size = lib.env_state_size(pointer)
            state = ctypes.create_string_buffer(size)
            if size:
                lib.env_save(pointer, state, size)
        return {"arguments": self._arguments, "state": state.raw[:size], "seed": self._seed,
                "episode": self._episode, "theta": self._episode_theta, "spec": self.spec,
                "random": (self._np_random, self._np_random_seed)}

    def __setstate__(self, saved: dict[str, Any]) -> None:
        WakerEnv.__init__(self, **saved["arguments"])
        if saved["state"]:
            with self._handle.lock:
                pointer = self._handle.pointer
                lib.env_load(pointer, saved["state"], len(saved["state"]))
        self._seed, self._episode = saved["seed"], saved["episode"]
        self._episode_theta, self.spec = saved["theta"], saved["spec"]
        self._np_random, self._np_random_seed = saved["random"]


class WakerVectorEnv(_Episodes, VectorEnv[Any, Any, Any]):
    """Many environments of a domain: one C call steps all of them on the library's threads.

    Arguments are those of WakerEnv, and:

    num_envs  how many
    threads   of the library; 0: one for each core
    copy      False: observations and `info` are views of the library's memory, which the next step
              overwrites; True: they are the caller's

    Autoreset is Gymnasium's NEXT_STEP: the step after an episode's last begins the next one, its
    action is ignored and its reward is 0. Environment i is seeded with seed + i.
    reset(options={"theta": ...}) takes one θ for all or one row for each, and "reset_mask" as
    Gymnasium's own vectors do.

    >>> envs = waker.WakerVectorEnv("toy", 4, threads=1)
    >>> envs
    <waker.WakerVectorEnv of 4 toy, task west>
    >>> observations, info = envs.reset(seed=1)
    >>> observations, rewards, terminated, truncated, info = envs.step(envs.action_space.sample())
    >>> observations.shape, rewards.shape
    ((4, 64, 64, 3), (4,))
    """

    metadata = {"render_modes": ["rgb_array"], "autoreset_mode": AutoresetMode.NEXT_STEP}
    _handle: Any = None
    _views: Any = None

    def __init__(self, domain: Domain | str, num_envs: int = 1, *, task: str | None = None,
                 options: Mapping[str, str] | None = None, theta: Theta | None = None,
                 curriculum: ChoosesTheta | None = None, render_mode: str | None = None,
                 width: int = 256, height: int = 256, threads: int = 0, copy: bool = False) -> None:
        self.single_observation_space, self.single_action_space = self._open(
            domain, task, options, theta, curriculum, render_mode, width, height)
        self.metadata = {**self.metadata, "render_fps": round(1 / self.domain.step_seconds)}
        num_envs, threads = c.integer(num_envs, "num_envs"), c.integer(threads, "threads")
        self.num_envs, self.copy = num_envs, bool(copy)
        self._arguments.update(num_envs=num_envs, threads=threads, copy=self.copy)
        self._handle = c.create("the vector of environments", lib.vec_create, lib.vec_destroy,
                                self.domain._pointer, self._choices, num_envs, threads)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._seeds: list[int] | None = None
        self._episodes = [0] * num_envs
        self._thetas = np.zeros((num_envs, len(self.domain.params)))
        self._ignored = np.zeros((num_envs, self.domain.action_size), np.float32)
        self._views = self._make_views()

    def __repr__(self) -> str:
        return f"<waker.WakerVectorEnv of {self.num_envs} {self._describe()}{self._handle.closed}>"

    __str__ = __repr__

    def _make_views(self) -> _Views:
        n, tasks = self.num_envs, len(self.domain.tasks)
        with self._handle.lock:
            pointer = self._handle.pointer
            batch = lib.vec_batch(pointer).contents
            observed = self.domain.observation
            return _Views(
                c.view(pointer, ctypes.c_uint8, batch.images, (n, *IMAGE)) if observed.image else None,
                c.view(pointer, ctypes.c_float, batch.rewards, (n, tasks)),
                c.view(pointer, ctypes.c_float, batch.completion, (n, tasks)),
                c.view(pointer, ctypes.c_uint8, batch.flags, (n,)),
                c.view(pointer, ctypes.c_float, batch.vectors, (n, observed.vector))
                if observed.vector else None)

    def _masked(self, values: dict[str, Any]) -> dict[str, Any]:
        """With which environments have each of them, as Gymnasium's vectors say it: all."""
        masks = {"_" + name: np.ones(self.num_envs, bool) for name in values}
        return {**values, **masks}

    def _outputs(self, views: _Views) -> tuple[Any, dict[str, Any]]:
        """Observations and info as the batch has them now."""
        taken: Any = np.copy if self.copy else np.asarray
        rewards, completion = taken(views.rewards), taken(views.completion)
        info = self._masked({
            "rewards": self._masked({name: rewards[:, i]
                                     for i, name in enumerate(self.domain.task_names)}),
            "completion": self._masked({task.name: completion[:, i] for i, task in
                                        enumerate(self.domain.tasks) if task.has_completion}),
            "theta": taken(self._thetas), "diverged": (views.flags & c.IS_DIVERGED) != 0})
        return self.domain.observation.join(*(None if part is None else taken(part)
                                              for part in (views.images, views.vectors))), info

    def _plan_reset(self, pointer: Any, i: int, seed: int, given: Theta | None = None) -> None:
        theta = self._choose_theta(given, seed, self._episodes[i])
        lib.vec_plan_reset(pointer, i, theta.ctypes.data, theta.size, seed, self._episodes[i])
        self._episodes[i] += 1
        self._thetas[i] = theta

    def _seeds_of(self, given: Any) -> list[int | None] | None:
        """One for each environment, or None."""
        if given is None:
            return None
        if np.ndim(given) == 0:
            return [c.seed(c.seed(given) + i) for i in range(self.num_envs)]
        if len(given) != self.num_envs:
            raise c.InputError(f"seed must be one or {self.num_envs} numbers, not {len(given)}")
        return [None if seed is None else c.seed(seed) for seed in given]

    def _seed_all(self, seeds: list[int | None] | None) -> list[int]:
        if self._seeds is None:
            self._seeds = [int(s) for s in self.np_random.integers(SEEDS, size=self.num_envs)]
        for i, seed in enumerate(seeds or []):
            if seed is not None:
                self._seeds[i], self._episodes[i] = seed, 0
        return self._seeds

    def _thetas_of(self, given: Any) -> Any:
        if given is None or isinstance(given, dict) or np.ndim(given) < 2:
            return [given] * self.num_envs
        if len(given) != self.num_envs:
            raise c.InputError(f"theta must be one for all or {self.num_envs}, not {len(given)}")
        return given

    def _mask_of(self, mask: Any) -> NDArray[np.bool_]:
        if mask is None:
            return np.ones(self.num_envs, bool)
        return c_array(mask, bool, (self.num_envs,), "reset_mask")

    def reset(self, *, seed: int | Sequence[int | None] | None = None,
              options: Mapping[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begins episodes, with a seed for all (environment i has seed + i) or one for each."""
        seeds = self._seeds_of(seed)
        super().reset(seed=None if seeds is None or np.ndim(seed) else seeds[0])  # type: ignore[arg-type]
        options = _check_options(options)
        thetas, mask = self._thetas_of(options.get("theta")), self._mask_of(
            options.get("reset_mask"))
        views = self._views
        with self._handle.lock:
            pointer = self._handle.pointer
            now = self._seed_all(seeds)
            for i in range(self.num_envs):
                if mask[i]:
                    self._plan_reset(pointer, i, now[i], thetas[i])
                else:
                    lib.vec_plan_idle(pointer, i)
            lib.vec_step(pointer, self._ignored.ctypes.data)
            return self._outputs(views)

    def step(self, actions: ArrayLike) -> tuple[
            Any, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """One step of all of them; those whose episode was over begin a new one instead."""
        actions = self.domain.actions(actions, (self.num_envs,), "actions")
        views = self._views  # they stay if the environment is closed meanwhile
        with self._handle.lock:
            pointer = self._handle.pointer
            # Which episodes are over is read from the batch: a step that was interrupted by an
            # exception leaves nothing behind that the next one would trip over.
            for i in np.flatnonzero(views.flags & c.IS_LAST).tolist():
                self._plan_reset(pointer, i, self._seed_all(None)[i])
            lib.vec_step(pointer, actions.ctypes.data)
            observations, info = self._outputs(views)
            terminated = (views.flags & c.IS_TERMINAL) != 0
            truncated = ((views.flags & c.IS_LAST) != 0) & ~terminated
            return (observations, views.rewards[:, self._task].astype(np.float64), terminated,
                    truncated, info)

    def render(self) -> tuple[NDArray[np.uint8], ...] | None:
        """A picture of each, where render_mode is "rgb_array"."""
        if self.render_mode is None:
            gymnasium.logger.warn("render() needs render_mode='rgb_array', given to gym.make_vec")
            return None
        with self._handle.lock:
            pointer = self._handle.pointer
            return tuple(self._render(lib.vec_env(pointer, i)) for i in range(self.num_envs))

    def close_extras(self, **kwargs: Any) -> None:
        """For Gymnasium's close()."""
        if self._handle is None:  # what could not be made is deleted, too
            return
        self._handle.close()  # waits for a step of another thread, which uses the views
        self._views = None

    def __getstate__(self) -> dict[str, Any]:
        views = self._views
        with self._handle.lock:
            pointer = self._handle.pointer
            states = []
            for i in range(self.num_envs):
                env = lib.vec_env(pointer, i)
                state = ctypes.create_string_buffer(lib.env_state_size(env))
                if len(state):
                    lib.env_save(env, state, len(state))
                states.append(state.raw)
            batch = [array.copy() for array in views if array is not None]
        return {"arguments": self._arguments, "states": states, "batch": batch,
                "seeds": self._seeds, "episodes": self._episodes, "thetas": self._thetas,
                "spec": self.spec, "random": (self._np_random, self._np_random_seed)}

    def __setstate__(self, saved: dict[str, Any]) -> None:
        WakerVectorEnv.__init__(self, **saved["arguments"])
        views = self._views
        with self._handle.lock:
            pointer = self._handle.pointer
            for i, state in enumerate(saved["states"]):
                if state:
                    lib.env_load(lib.vec_env(pointer, i), state, len(state))
            for array, values in zip(filter(lambda view: view is not None, views), saved["batch"]):
                array[...] = values
        self._seeds, self._episodes = saved["seeds"], saved["episodes"]
        self._thetas, self.spec = saved["thetas"], saved["spec"]
        self._np_random, self._np_random_seed = saved["random"]
