"""Domains, their θ, and curricula over them."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _library as c
from ._library import lib

IMAGE = (c.IMAGE_SIDE, c.IMAGE_SIDE, 3)
# What environments show and policies see: an array, or {"image": ..., "vector": ...}.
Observed = Union[NDArray[Any], dict[str, NDArray[Any]]]
Theta = Union[ArrayLike, Mapping[str, float]]


class Param(NamedTuple):
    """A number of θ: the grid from `min` to `max` is trained on, the legal range can be asked for.

    >>> waker.Domain("toy").params[0].name
    'turbulence'
    """

    name: str
    help: str
    min: float
    max: float
    step: float
    legal_min: float
    legal_max: float
    continuous: bool


class Task(NamedTuple):
    """A reward by its name; `has_completion` if it also says how much of it is done."""

    name: str
    alias: str | None
    has_completion: bool


class Case(NamedTuple):
    """A list of θ for evaluation, `thetas` [count, n_params]."""

    name: str
    help: str
    thetas: NDArray[np.float64]
    episodes: int
    extra: bool


class Option(NamedTuple):
    """A choice that a domain offers, the first of `choices` unless said otherwise."""

    name: str
    choices: tuple[str, ...]
    help: str


class Observation(NamedTuple):
    """What is observed: whether there is an image, and how many numbers the vector has. Where a
    domain has both, its observations are {"image": ..., "vector": ...}, else the one array."""

    image: bool
    vector: int

    def join(self, image: Any, vector: Any) -> Any:
        """The observation of these parts; what the domain does not have is ignored."""
        if self.image and self.vector:
            return {"image": image, "vector": vector}
        return image if self.image else vector

    def empty(self, leading: tuple[int, ...] = (), pixel: Any = np.uint8) -> \
            tuple[NDArray[Any] | None, NDArray[Any] | None]:
        """Arrays for images and vectors; None for what the domain does not have."""
        return (np.empty((*leading, *IMAGE), pixel) if self.image else None,
                np.empty((*leading, self.vector), np.float32) if self.vector else None)

    def split(self, observation: Any, leading: tuple[int, ...] = (), what: str = "observation") -> \
            tuple[NDArray[Any] | None, NDArray[Any] | None]:
        """Images and vectors of an observation as arrays for C; None for what there is not."""
        image = vector = observation
        names = (what, what)
        if self.image and self.vector:
            if not isinstance(observation, Mapping) or set(observation) != {"image", "vector"}:
                given = list(observation) if isinstance(observation, Mapping) else \
                    type(observation).__name__
                raise TypeError(f"{what} must be a dict of 'image' and 'vector', not {given}")
            image, vector = observation["image"], observation["vector"]
            names = (f"{what}['image']", f"{what}['vector']")
        return (c_array(image, np.uint8, (*leading, *IMAGE), names[0]) if self.image else None,
                c_array(vector, np.float32, (*leading, self.vector), names[1])
                if self.vector else None)


def address(array: NDArray[Any] | None) -> int | None:
    """For C, where NULL stands for None."""
    return None if array is None else array.ctypes.data


def _decoded(value: Any) -> Any:
    return value.decode() if isinstance(value, bytes) else value


class Domain:
    """A family of worlds: what θ means, which tasks there are. `Domain("clean-up")` is a built-in
    one, `Domain.load("ball.so")` one of a plug-in, whose code is loaded. A pickled domain of a
    plug-in loads the same file again, where it is unpickled.

    >>> domain = waker.Domain("clean-up")
    >>> domain.task_names, [param.name for param in domain.params]
    (('sort', 'sort-reverse', 'push'), ['arena', 'green', 'blue'])
    """

    name: str
    summary: str
    params: tuple[Param, ...]
    tasks: tuple[Task, ...]
    task_names: tuple[str, ...]
    cases: tuple[Case, ...]
    options: tuple[Option, ...]
    observation: Observation
    action_size: int
    action_repeat: int
    discrete: bool
    episode_steps: int
    step_seconds: float
    ends_early: bool

    def __init__(self, name: str) -> None:
        found = ctypes.POINTER(c.Domain)()
        lib.domain_find(c.text(name, "domain"), ctypes.byref(found))
        self._take(found)

    @classmethod
    def load(cls, path: c.StrPath) -> Domain:
        """The domain of a plug-in's file, or of FILE.py:FUNCTION, whose code this loads.

        >>> grid = waker.Domain.load("./grid.so")               # doctest: +SKIP
        """
        plugin = c.create("the plug-in", lib.plugin_load, lib.plugin_unload, c.text(path, "path"))
        domain = cls._borrow(lib.plugin_domain(plugin.pointer), plugin)
        # Where a pickled one finds it again; another process may have another folder.
        domain._file = os.fsdecode(os.path.abspath(path) if os.path.exists(path) else path)
        return domain

    def __reduce__(self) -> tuple[Any, ...]:
        if self._file is not None:
            return Domain.load, (self._file,)
        return Domain, (self.name,)

    @classmethod
    def _borrow(cls, pointer: Any, owner: c.Handle | None) -> Domain:
        domain = cls.__new__(cls)
        domain._take(pointer, owner)
        return domain

    def _take(self, pointer: Any, owner: c.Handle | None = None) -> None:
        d = pointer.contents
        self._struct, self._owner = d, owner
        self._file: str | None = None
        self.name, self.summary = d.name.decode(), d.summary.decode()
        self.action_size, self.action_repeat = d.action_size, d.action_repeat
        self.discrete = d.discrete
        self.observation = Observation(not d.observation.no_image, d.observation.vector)
        self.episode_steps, self.step_seconds = d.episode_steps, d.step_seconds
        self.ends_early = d.ends_early
        self.params = tuple(
            Param(*(_decoded(getattr(d.params[i], field)) for field in Param._fields))
            for i in range(d.n_params))
        self.tasks = tuple(Task(*(_decoded(getattr(d.tasks[i], field)) for field in Task._fields))
                           for i in range(d.n_tasks))
        self.task_names = tuple(task.name for task in self.tasks)
        self.cases = tuple(self._case(d.cases[i]) for i in range(d.n_cases))
        self.options = tuple(Option(d.options[i].name.decode(),
                                    tuple(d.options[i].choices.decode().split("|")),
                                    d.options[i].help.decode()) for i in range(d.n_options))

    def _case(self, case: Any) -> Case:
        thetas = np.ctypeslib.as_array(case.params, (case.count, len(self.params))).copy()
        return Case(case.name.decode(), case.help.decode(), thetas, case.episodes, case.extra)

    @property
    def _pointer(self) -> Any:
        """For C, with what the description is part of: a plug-in, or a policy that may be closed."""
        pointer: Any = ctypes.pointer(self._struct)
        pointer.owner = self._owner and self._owner.pointer
        return pointer

    def __repr__(self) -> str:
        return f"<waker.Domain {self.name}: {self.summary}>"

    def task(self, name: str) -> int:
        """Number of the task called `name`.

        >>> waker.Domain("clean-up").task("push")
        2
        """
        found = ctypes.c_int()
        lib.domain_task(self._pointer, c.text(name, "task"), ctypes.byref(found))
        return found.value

    def choices(self, options: Mapping[str, str] | None = None) -> Any:
        """{"option": "choice"} as the C array that environments are made with."""
        out = (ctypes.c_int * max(1, len(self.options)))()
        if not isinstance(options, (Mapping, type(None))):
            raise TypeError(f"options must be a dict of names and choices, not {options!r:.80}")
        for name, choice in (options or {}).items():
            option, value = ctypes.c_int(), ctypes.c_int()
            lib.domain_option(self._pointer, c.text(name, "options"),
                              c.text(choice, f"options[{name!r}]"), ctypes.byref(option),
                              ctypes.byref(value))
            out[option.value] = value.value
        return out

    def theta(self, values: Theta) -> NDArray[np.float64]:
        """θ from a sequence in the order of `params`, or from a dict by name; checked.

        >>> waker.Domain("terrain-walker").theta({"length": 2.0, "amplitude": 0.25})
        array([0.25, 2.  ])
        """
        if isinstance(values, dict):
            names = [param.name for param in self.params]
            if set(values) != set(names):
                raise c.InputError(f"θ of {self.name} must have the parameters {', '.join(names)}, "
                                   f"not {', '.join(map(str, values)) or 'none'}")
            values = [values[name] for name in names]
        theta = c_array(values, np.float64, None, "θ")
        if theta.ndim != 1:
            raise c.InputError(f"θ of {self.name} must be a list of {len(self.params)} numbers, "
                               f"not an array of shape {theta.shape}")
        lib.domain_check_params(self._pointer, theta.ctypes.data, theta.size)
        return theta

    def actions(self, values: ArrayLike, leading: tuple[int, ...] = (), what: str = "action") -> \
            NDArray[np.float32]:
        """Actions as the C library takes them, [..., action_size]. Discrete ones are numbers of
        actions, or one-hot already."""
        shape = (*leading, self.action_size)
        if not self.discrete or np.shape(values) == shape:
            return c_array(values, np.float32, shape, what)
        numbers = np.asarray(values)
        if numbers.dtype.kind not in "iu":
            raise TypeError(f"{what} must be whole numbers, not {numbers.dtype}")
        if numbers.shape != tuple(leading):
            raise c.InputError(f"{what} must have the shape {tuple(leading)}, not {numbers.shape}")
        wrong = numbers[(numbers < 0) | (numbers >= self.action_size)]
        if wrong.size:
            raise c.InputError(f"{what} must be from 0 to {self.action_size - 1}, not {wrong[0]}")
        one_hot: NDArray[np.float32] = np.eye(self.action_size, dtype=np.float32)[numbers]
        return one_hot


def domains() -> list[Domain]:
    """All built-in domains.

    >>> sorted(domain.name for domain in waker.domains())[:3]
    ['car-clean-up', 'clean-up', 'combined']
    """
    return [Domain(lib.domain_at(i).contents.name) for i in range(lib.domain_count())]


def as_domain(domain: Domain | str) -> Domain:
    return domain if isinstance(domain, Domain) else Domain(domain)


def c_array(values: Any, dtype: Any, shape: Sequence[int] | None, what: str) -> NDArray[Any]:
    """`values` as a contiguous array of `dtype` and `shape` (None: any), copied where needed.
    Kinds of numbers are not mixed up: a picture is of integers, an action is not of text."""
    array = np.asarray(values)
    dtype = np.dtype(dtype)
    if dtype.kind == "f" and array.dtype.kind not in "fiu":
        raise TypeError(f"{what} must be numbers, not {array.dtype}")
    if dtype.kind in "ub" and array.dtype != dtype and array.dtype.kind != "b":
        raise TypeError(f"{what} must be {dtype}, not {array.dtype}")
    if shape is not None and array.shape != tuple(shape):
        raise c.InputError(f"{what} must have the shape {tuple(shape)}, not {array.shape}")
    return np.ascontiguousarray(array, dtype)


class Space:
    """The default distribution of a domain: `params` [count, n_params] and `probability` [count].

    >>> space = waker.Space("toy")
    >>> space
    <waker.Space of toy: 11 θ>
    >>> space.sample(seed=1, episode=0).shape
    (1,)
    """

    def __init__(self, domain: Domain | str, continuous: bool = False) -> None:
        self.domain = as_domain(domain)
        self.continuous = bool(continuous)
        self._handle = c.create("the space", lib.space_create, lib.space_destroy,
                                self.domain._pointer, self.continuous)
        with self._handle.lock:
            pointer = self._handle.pointer
            width = len(self.domain.params)
            count = lib.space_count(pointer)
            self.params = np.array([np.ctypeslib.as_array(lib.space_params(pointer, i), (width,))
                                    for i in range(count)]).reshape(count, width)
            self.probability = np.array([lib.space_probability(pointer, i) for i in range(count)])

    def __repr__(self) -> str:
        count = "continuous" if self.continuous else f"{len(self.probability)} θ"
        return f"<waker.Space of {self.domain.name}: {count}>"

    def sample(self, seed: int, episode: int) -> NDArray[np.float64]:
        """The θ that domain randomisation gives this episode."""
        theta = np.empty(len(self.domain.params))
        with self._handle.lock:
            pointer = self._handle.pointer
            lib.space_sample(pointer, c.seed(seed),
                             c.integer(episode, "episode", ctypes.c_uint64), theta.ctypes.data)
        return theta


class Curriculum:
    """Chooses θ by the name of a rule ("dr", "waker-m", "waker-r", ...). Give it to environments as
    `curriculum=`; report() feeds error estimates of its θ back. Anything else that has next() can
    take its place. The settings, which docs/curricula.md explains, keep the rule's default where
    they are None.

    >>> curriculum = waker.Curriculum("waker-m", "toy", seed=5)
    >>> env = waker.WakerEnv("toy", curriculum=curriculum)
    >>> observation, info = env.reset(seed=1)
    >>> curriculum.report([info["theta"]], [0.3])
    >>> curriculum
    <waker.Curriculum waker-m of toy: 1 episode>
    """

    def __init__(self, rule: str, domain: Domain | str, *, dr_probability: float | None = None,
                 temperature: float | None = None, error_decay: float | None = None,
                 reduction_decay: float | None = None, reduction_start: int | None = None,
                 reduction_every: int | None = None, seed: int | None = None) -> None:
        self.space = Space(domain)
        self.domain, self.rule = self.space.domain, rule
        self._config = c.given(
            dr_probability=dr_probability, temperature=temperature, error_decay=error_decay,
            reduction_decay=reduction_decay, reduction_start=reduction_start,
            reduction_every=reduction_every, seed=seed)
        self._episode = 0
        settings = c.fill(lib.curriculum_config_default(), **self._config)
        found = ctypes.c_void_p()
        lib.curriculum_rule_find(c.text(rule, "rule"), ctypes.byref(found))
        with self.space._handle.lock:
            self._handle = c.create("the curriculum", lib.curriculum_create, lib.curriculum_destroy,
                                    found, self.domain._pointer, self.space._handle.pointer,
                                    ctypes.byref(settings))

    def __repr__(self) -> str:
        begun = f"{self._episode} episode{'s' * (self._episode != 1)}"
        return f"<waker.Curriculum {self.rule} of {self.domain.name}: {begun}{self._handle.closed}>"

    def next(self, episode: int | None = None, prefill: bool = False) -> NDArray[np.float64]:
        """θ of the next episode, or of the one with a number.

        >>> waker.Curriculum("dr", "toy", seed=5).next(episode=3)
        array([0.1])
        """
        theta, index = np.empty(len(self.domain.params)), ctypes.c_size_t()
        with self._handle.lock:
            pointer = self._handle.pointer
            number = self._episode if episode is None else \
                c.integer(episode, "episode", ctypes.c_uint64)
            lib.curriculum_next(pointer, number, bool(prefill), theta.ctypes.data,
                                ctypes.byref(index))
            self._episode = number + 1
        return theta

    def report(self, thetas: ArrayLike, errors: ArrayLike) -> None:
        """Error estimates of trajectories in episodes of these θ, [count, n_params] and [count]."""
        numbers = np.atleast_1d(c_array(errors, np.float32, None, "errors"))
        rows = np.atleast_2d(c_array(thetas, np.float64, None, "θ"))
        shape = (numbers.size, len(self.domain.params))
        if numbers.ndim != 1 or rows.shape != shape:
            raise c.InputError(f"θ must have the shape {shape} for {numbers.size} errors, not "
                               f"{rows.shape}")
        if not np.isfinite(numbers).all():
            raise c.InputError(f"errors must be finite numbers, not "
                               f"{numbers[~np.isfinite(numbers)][0]}")
        with self._handle.lock, self.space._handle.lock:
            pointer, space = self._handle.pointer, self.space._handle.pointer
            index = np.array([lib.space_find(space, row.ctypes.data) for row in rows], np.uintp)
            if index.size and index.max() >= len(self.space.probability):
                raise c.InputError("only θ of the curriculum's own grid can be reported")
            lib.curriculum_report(pointer, index.ctypes.data, numbers.ctypes.data, index.size)

    def advance(self, steps: int) -> None:
        """How many environment steps have been collected in all."""
        with self._handle.lock:
            pointer = self._handle.pointer
            lib.curriculum_advance(pointer, c.integer(steps, "steps", ctypes.c_uint64))

    def distribution(self) -> NDArray[np.float64]:
        """Probability of every θ of `space` for the next episode.

        >>> waker.Curriculum("dr", "toy").distribution().round(3)[:2]
        array([0.091, 0.091])
        """
        out = np.empty(len(self.space.probability))
        with self._handle.lock:
            pointer = self._handle.pointer
            lib.curriculum_distribution(pointer, out.ctypes.data)
        return out

    def visits(self) -> NDArray[np.uint64]:
        """Episodes begun in every θ of `space`."""
        with self._handle.lock:
            pointer = self._handle.pointer
            view = lib.curriculum_get_view(pointer)
            visits: NDArray[np.uint64] = np.ctypeslib.as_array(view.visits, (view.count,)).copy()
            return visits

    def close(self) -> None:
        """Gives the library's object up; what is called afterwards raises waker.ClosedError."""
        self._handle.close()

    def __getstate__(self) -> dict[str, Any]:
        with self._handle.lock:
            pointer = self._handle.pointer
            state = ctypes.create_string_buffer(lib.curriculum_state_size(pointer))
            lib.curriculum_save(pointer, state)
        return {"rule": self.rule, "domain": self.domain, "config": self._config,
                "episode": self._episode, "state": state.raw}

    def __setstate__(self, saved: dict[str, Any]) -> None:
        Curriculum.__init__(self, saved["rule"], saved["domain"], **saved["config"])
        with self._handle.lock:
            pointer = self._handle.pointer
            lib.curriculum_load(pointer, saved["state"], len(saved["state"]))
        self._episode = saved["episode"]
