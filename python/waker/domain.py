"""Domains, their θ, and curricula over them."""

import ctypes
import os
from collections import namedtuple
from collections.abc import Mapping

import numpy as np

from . import _library as c
from ._library import lib

Param = namedtuple("Param", "name help min max step legal_min legal_max continuous")
Task = namedtuple("Task", "name alias has_completion")
Case = namedtuple("Case", "name help thetas episodes extra")
Option = namedtuple("Option", "name choices help")
IMAGE = (c.IMAGE_SIDE, c.IMAGE_SIDE, 3)


class Observation(namedtuple("Observation", "image vector")):
    """What is observed: whether there is an image, and how many numbers the vector has. Where a
    domain has both, its observations are {"image": ..., "vector": ...}, else the one array."""

    __slots__ = ()

    def join(self, image, vector):
        """The observation of these parts; what the domain does not have is ignored."""
        if self.image and self.vector:
            return {"image": image, "vector": vector}
        return image if self.image else vector

    def empty(self, leading=(), pixel=np.uint8):
        """Arrays for images and vectors; None for what the domain does not have."""
        return (np.empty((*leading, *IMAGE), pixel) if self.image else None,
                np.empty((*leading, self.vector), np.float32) if self.vector else None)

    def split(self, observation, leading=(), what="observation"):
        """Images and vectors of an observation as arrays for C; None for what there is not."""
        image = vector = observation
        names = (what, what)
        if self.image and self.vector:
            if not isinstance(observation, Mapping) or set(observation) != {"image", "vector"}:
                given = list(observation) if isinstance(observation, Mapping) else \
                    type(observation).__name__
                raise TypeError(f"{what}: a dict of 'image' and 'vector' is needed, given: {given}")
            image, vector = observation["image"], observation["vector"]
            names = (f"{what}['image']", f"{what}['vector']")
        return (c_array(image, np.uint8, (*leading, *IMAGE), names[0]) if self.image else None,
                c_array(vector, np.float32, (*leading, self.vector), names[1])
                if self.vector else None)


def address(array):
    """For C, where NULL stands for None."""
    return None if array is None else array.ctypes.data


def _decoded(value):
    return value.decode() if isinstance(value, bytes) else value


class Domain:
    """A family of worlds: what θ means, which tasks there are. `Domain("clean-up")` is a built-in
    one, `Domain.load("ball.so")` one of a plug-in, whose code is loaded. A pickled domain of a
    plug-in loads the same file again, where it is unpickled."""

    def __init__(self, name):
        found = ctypes.POINTER(c.Domain)()
        lib.domain_find(c.text(name, "domain"), ctypes.byref(found))
        self._take(found)

    @classmethod
    def load(cls, path):
        plugin = c.create("the plug-in", lib.plugin_load, lib.plugin_unload, c.text(path, "path"))
        domain = cls._borrow(lib.plugin_domain(plugin.pointer), plugin)
        # Where a pickled one finds it again; another process may have another folder.
        domain._file = os.path.abspath(path) if os.path.exists(path) else path
        return domain

    def __reduce__(self):
        if self._file is not None:
            return Domain.load, (self._file,)
        return Domain, (self.name,)

    @classmethod
    def _borrow(cls, pointer, owner):
        domain = cls.__new__(cls)
        domain._take(pointer, owner)
        return domain

    def _take(self, pointer, owner=None):
        d = pointer.contents
        self._struct, self._owner, self._file = d, owner, None
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

    def _case(self, case):
        thetas = np.ctypeslib.as_array(case.params, (case.count, len(self.params))).copy()
        return Case(case.name.decode(), case.help.decode(), thetas, case.episodes, case.extra)

    @property
    def _pointer(self):
        """For C, with what the description is part of: a plug-in, or a policy that may be closed."""
        pointer = ctypes.pointer(self._struct)
        pointer.owner = self._owner and self._owner.pointer
        return pointer

    def __repr__(self):
        return f"<waker.Domain {self.name}: {self.summary}>"

    def task(self, name):
        """Number of the task called `name`."""
        found = ctypes.c_int()
        lib.domain_task(self._pointer, c.text(name, "task"), ctypes.byref(found))
        return found.value

    def choices(self, options=None):
        """{"option": "choice"} as the C array that environments are made with."""
        out = (ctypes.c_int * max(1, len(self.options)))()
        if not isinstance(options, (Mapping, type(None))):
            raise TypeError(f"options: a dict of names and choices is needed, given: {options!r:.80}")
        for name, choice in (options or {}).items():
            option, value = ctypes.c_int(), ctypes.c_int()
            lib.domain_option(self._pointer, c.text(name, "options"),
                              c.text(choice, f"options[{name!r}]"), ctypes.byref(option),
                              ctypes.byref(value))
            out[option.value] = value.value
        return out

    def theta(self, values):
        """θ from a sequence in the order of `params`, or from a dict by name; checked."""
        if isinstance(values, dict):
            names = [param.name for param in self.params]
            if set(values) != set(names):
                raise c.InputError(f"θ of {self.name} has the parameters {', '.join(names)}; "
                                   f"given: {', '.join(map(str, values)) or 'none'}")
            values = [values[name] for name in names]
        theta = c_array(values, np.float64, None, "θ")
        if theta.ndim != 1:
            raise c.InputError(f"θ of {self.name} is a list of {len(self.params)} numbers; given: "
                               f"an array of shape {theta.shape}")
        lib.domain_check_params(self._pointer, theta.ctypes.data, theta.size)
        return theta

    def actions(self, values, leading=(), what="action"):
        """Actions as the C library takes them, [..., action_size]. Discrete ones are numbers of
        actions, or one-hot already."""
        shape = (*leading, self.action_size)
        if not self.discrete or np.shape(values) == shape:
            return c_array(values, np.float32, shape, what)
        numbers = np.asarray(values)
        if numbers.dtype.kind not in "iu":
            raise TypeError(f"{what}: whole numbers are needed, given: {numbers.dtype}")
        if numbers.shape != tuple(leading):
            raise c.InputError(f"{what}: shape {tuple(leading)} is needed, given: {numbers.shape}")
        wrong = numbers[(numbers < 0) | (numbers >= self.action_size)]
        if wrong.size:
            raise c.InputError(f"{what}: {wrong[0]} is not in 0 to {self.action_size - 1}")
        return np.eye(self.action_size, dtype=np.float32)[numbers]


def domains():
    """All built-in domains."""
    return [Domain(lib.domain_at(i).contents.name) for i in range(lib.domain_count())]


def as_domain(domain):
    return domain if isinstance(domain, Domain) else Domain(domain)


def c_array(values, dtype, shape, what):
    """`values` as a contiguous array of `dtype` and `shape` (None: any), copied where needed.
    Kinds of numbers are not mixed up: a picture is of integers, an action is not of text."""
    array = np.asarray(values)
    dtype = np.dtype(dtype)
    if dtype.kind == "f" and array.dtype.kind not in "fiu":
        raise TypeError(f"{what}: numbers are needed, given: {array.dtype}")
    if dtype.kind in "ub" and array.dtype != dtype and array.dtype.kind != "b":
        raise TypeError(f"{what}: {dtype} is needed, given: {array.dtype}")
    if shape is not None and array.shape != tuple(shape):
        raise c.InputError(f"{what}: shape {tuple(shape)} is needed, given: {array.shape}")
    return np.ascontiguousarray(array, dtype)


class Space:
    """The default distribution of a domain: `params` [count, n_params] and `probability` [count]."""

    def __init__(self, domain, continuous=False):
        self.domain = as_domain(domain)
        self._handle = c.create("the space", lib.space_create, lib.space_destroy,
                                self.domain._pointer, bool(continuous))
        with self._handle.lock:
            pointer = self._handle.pointer
            width = len(self.domain.params)
            count = lib.space_count(pointer)
            self.params = np.array([np.ctypeslib.as_array(lib.space_params(pointer, i), (width,))
                                    for i in range(count)]).reshape(count, width)
            self.probability = np.array([lib.space_probability(pointer, i) for i in range(count)])

    def sample(self, seed, episode):
        """The θ that domain randomisation gives this episode."""
        theta = np.empty(len(self.domain.params))
        with self._handle.lock:
            pointer = self._handle.pointer
            lib.space_sample(pointer, c.seed(seed),
                             c.integer(episode, "episode", ctypes.c_uint64), theta.ctypes.data)
        return theta


class Curriculum:
    """Chooses θ by the name of a rule ("dr", "waker-m", "waker-r", ...). Give it to environments as
    `curriculum=`; report() feeds error estimates of its θ back. Keywords are the fields of
    wk_curriculum_config. Anything else that has next() can take its place."""

    def __init__(self, rule, domain, **config):
        self.space = Space(domain)
        self.domain, self.rule = self.space.domain, rule
        self._config, self._episode = config, 0
        settings = lib.curriculum_config_default()
        for name, value in config.items():
            if not any(name == field for field, _ in settings._fields_):
                raise c.InputError(f"a curriculum has no setting {name!r}")
            c.fill(settings, **{name: value})
        found = ctypes.c_void_p()
        lib.curriculum_rule_find(c.text(rule, "rule"), ctypes.byref(found))
        with self.space._handle.lock:
            self._handle = c.create("the curriculum", lib.curriculum_create, lib.curriculum_destroy,
                                    found, self.domain._pointer, self.space._handle.pointer,
                                    ctypes.byref(settings))

    def next(self, episode=None, prefill=False):
        """θ of the next episode."""
        theta, index = np.empty(len(self.domain.params)), ctypes.c_size_t()
        with self._handle.lock:
            pointer = self._handle.pointer
            number = self._episode if episode is None else \
                c.integer(episode, "episode", ctypes.c_uint64)
            lib.curriculum_next(pointer, number, bool(prefill), theta.ctypes.data,
                                ctypes.byref(index))
            self._episode = number + 1
        return theta

    def report(self, thetas, errors):
        """Error estimates of trajectories in episodes of these θ, [count, n_params] and [count]."""
        errors = np.atleast_1d(c_array(errors, np.float32, None, "errors"))
        thetas = np.atleast_2d(c_array(thetas, np.float64, None, "θ"))
        shape = (errors.size, len(self.domain.params))
        if errors.ndim != 1 or thetas.shape != shape:
            raise c.InputError(f"θ: shape {shape} is needed for {errors.size} errors, given: "
                               f"{thetas.shape}")
        if not np.isfinite(errors).all():
            raise c.InputError(f"errors: {errors[~np.isfinite(errors)][0]} is not a finite number")
        with self._handle.lock, self.space._handle.lock:
            pointer, space = self._handle.pointer, self.space._handle.pointer
            index = np.array([lib.space_find(space, row.ctypes.data) for row in thetas], np.uintp)
            if index.size and index.max() >= len(self.space.probability):
                raise c.InputError("only θ of the curriculum's own grid can be reported")
            lib.curriculum_report(pointer, index.ctypes.data, errors.ctypes.data, index.size)

    def advance(self, steps):
        """How many environment steps have been collected in all."""
        with self._handle.lock:
            pointer = self._handle.pointer
            lib.curriculum_advance(pointer, c.integer(steps, "steps", ctypes.c_uint64))

    def distribution(self):
        """Probability of every θ of `space` for the next episode."""
        out = np.empty(len(self.space.probability))
        with self._handle.lock:
            pointer = self._handle.pointer
            lib.curriculum_distribution(pointer, out.ctypes.data)
        return out

    def visits(self):
        """Episodes begun in every θ of `space`."""
        with self._handle.lock:
            pointer = self._handle.pointer
            view = lib.curriculum_get_view(pointer)
            return np.ctypeslib.as_array(view.visits, (view.count,)).copy()

    def close(self):
        self._handle.close()

    def __getstate__(self):
        with self._handle.lock:
            pointer = self._handle.pointer
            state = ctypes.create_string_buffer(lib.curriculum_state_size(pointer))
            lib.curriculum_save(pointer, state)
        return {"rule": self.rule, "domain": self.domain, "config": self._config,
                "episode": self._episode, "state": state.raw}

    def __setstate__(self, saved):
        self.__init__(saved["rule"], saved["domain"], **saved["config"])
        with self._handle.lock:
            pointer = self._handle.pointer
            lib.curriculum_load(pointer, saved["state"], len(saved["state"]))
        self._episode = saved["episode"]
