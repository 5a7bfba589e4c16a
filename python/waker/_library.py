"""The C library: where it is, its structs and functions, its errors as exceptions.

Everything in the package reaches C through here. The structs repeat those of include/waker/*.h;
tests/python/test_library.py compares them with what a C compiler says.
"""

from __future__ import annotations

import ctypes
import math
import operator
import os
import sys
import threading
import weakref
from collections.abc import Callable, Iterable
from ctypes import POINTER, c_bool, c_char_p, c_double, c_float, c_int, c_size_t, c_uint8
from ctypes import c_int64, c_uint32, c_uint64, c_void_p
from pathlib import Path
from typing import Any, TypeVar, Union

import numpy
from numpy.typing import NDArray

StrPath = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]
AnyStruct = TypeVar("AnyStruct", bound=ctypes.Structure)

ENV_ABI = 4
IMAGE_SIDE = 64
IS_FIRST, IS_LAST, IS_TERMINAL, IS_DIVERGED = 1, 2, 4, 8

if sys.executable:  # what library and program run environments of Python with
    os.environ.setdefault("WAKER_PYTHON", sys.executable)


class Error(Exception):
    """What the library refuses, with the library's own message.

    >>> try:
    ...     waker.Domain("clean-upp")
    ... except waker.Error as error:
    ...     print(type(error).__name__, error)
    NotFoundError no domain is called 'clean-upp'; did you mean 'clean-up'?
    """


class InputError(Error, ValueError):
    """A value, name or combination is not acceptable."""


class NotFoundError(Error, LookupError):
    """A named thing (run, domain, task, key, metric) does not exist."""


class FileError(Error, OSError):
    """The operating system refused a file operation."""


class FormatError(Error, ValueError):
    """A file exists but its content is not what it claims to be."""


class NoMemoryError(Error, MemoryError):
    """An allocation failed."""


class UnsupportedError(Error, RuntimeError):
    """Valid, but this build or machine cannot do it."""


class DivergedError(Error, ArithmeticError):
    """Numbers became non-finite."""


class StoppedError(Error, InterruptedError):
    """Asked to stop before the work began; the same call does it."""


class ClosedError(Error, ValueError):
    """An object was used after its close()."""


class ForkError(Error, RuntimeError):
    """An object was used in a child process that inherited it: its threads did not come along."""


_ERRORS = (Error, InputError, NotFoundError, FileError, FormatError, NoMemoryError, UnsupportedError,
           DivergedError, StoppedError)
for _error in (*_ERRORS, ClosedError, ForkError):
    _error.__module__ = "waker"  # where users find it


class CError(ctypes.Structure):
    _fields_ = [("status", c_int), ("message", ctypes.c_char * 1024)]


class Param(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("help", c_char_p), ("min", c_double), ("max", c_double),
                ("step", c_double), ("legal_min", c_double), ("legal_max", c_double),
                ("continuous", c_bool)]


class Task(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("alias", c_char_p), ("has_completion", c_bool)]


class Case(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("help", c_char_p), ("count", c_int),
                ("params", POINTER(c_double)), ("episodes", c_int), ("extra", c_bool)]


class Option(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("choices", c_char_p), ("help", c_char_p)]


class ObservationSpec(ctypes.Structure):
    _fields_ = [("vector", c_int), ("no_image", c_bool)]


class Domain(ctypes.Structure):
    _fields_ = [("abi", c_uint32), ("size", c_uint32), ("name", c_char_p), ("summary", c_char_p),
                ("n_params", c_int), ("params", POINTER(Param)),
                ("n_tasks", c_int), ("tasks", POINTER(Task)),
                ("n_cases", c_int), ("cases", POINTER(Case)),
                ("n_options", c_int), ("options", POINTER(Option)),
                ("n_indicators", c_int), ("indicators", c_void_p),
                ("action_size", c_int), ("discrete", c_bool),
                ("observation", ObservationSpec), ("action_repeat", c_int),
                ("episode_steps", c_int), ("ends_early", c_bool), ("step_seconds", c_double),
                ("hardest", POINTER(c_double)), ("n_complex", c_int),
                ("most_complex", POINTER(c_double)),
                ("functions", c_void_p * 14)]


class Frame(ctypes.Structure):
    _fields_ = [("image", c_void_p), ("rewards", c_void_p), ("completion", c_void_p),
                ("flags", c_void_p), ("vector", c_void_p)]


class Batch(ctypes.Structure):
    _fields_ = [("images", c_void_p), ("rewards", c_void_p), ("completion", c_void_p),
                ("flags", c_void_p), ("vectors", c_void_p)]


class CurriculumConfig(ctypes.Structure):
    _fields_ = [("dr_probability", c_double), ("temperature", c_double), ("error_decay", c_double),
                ("reduction_decay", c_double), ("reduction_start", c_uint64),
                ("reduction_every", c_uint64), ("seed", c_uint64)]


class CurriculumView(ctypes.Structure):
    _fields_ = [("count", c_size_t), ("dr", POINTER(c_double)), ("error", POINTER(c_double)),
                ("reduction", POINTER(c_double)), ("visits", POINTER(c_uint64)),
                ("group", POINTER(c_int)), ("groups", c_int), ("has_reduction", c_bool),
                ("hardest", POINTER(c_double)), ("most_complex", POINTER(c_double)),
                ("domain", POINTER(Domain)), ("theta", POINTER(c_double)), ("episodes", c_uint64),
                ("steps", c_uint64), ("last_visit", POINTER(c_uint64)), ("state", c_void_p),
                ("scratch", POINTER(c_double))]


class PolicyConfig(ctypes.Structure):
    _fields_ = [("run", c_char_p), ("task", c_char_p), ("weights", c_char_p), ("step", c_int64),
                ("device", c_char_p), ("plugin", c_char_p), ("count", c_int), ("threads", c_int),
                ("sample", c_bool), ("seed", c_uint64)]


class ModelConfig(ctypes.Structure):
    _fields_ = [("run", c_char_p), ("step", c_int64), ("device", c_char_p), ("threads", c_int),
                ("sample", c_bool), ("seed", c_uint64)]


class ModelSizes(ctypes.Structure):
    _fields_ = [("stoch", c_int), ("classes", c_int), ("deter", c_int), ("action", c_int)]


class ModelLatents(ctypes.Structure):
    _fields_ = [("stoch", c_void_p), ("deter", c_void_p)]


class Scores(ctypes.Structure):
    _fields_ = [("values", c_void_p), ("runs", c_size_t), ("tasks", c_size_t),
                ("runs_of", c_void_p), ("name", c_char_p), ("task_names", POINTER(c_char_p))]


class BootstrapConfig(ctypes.Structure):
    _fields_ = [("reps", c_int), ("size", c_double), ("seed", c_uint64)]


class Estimate(ctypes.Structure):
    _fields_ = [("value", c_double), ("low", c_double), ("high", c_double)]


class Result(ctypes.Structure):
    _fields_ = [("run", c_char_p), ("domain", c_char_p), ("curriculum", c_char_p),
                ("exploration", c_char_p), ("seed", c_uint64), ("policy", c_char_p),
                ("step", c_uint64), ("task", c_char_p), ("set", c_char_p),
                ("episodes", c_uint64), ("eval_seed", c_uint64), ("mean", c_double),
                ("worst_tenth", c_double), ("kind", c_int), ("score", c_char_p),
                ("part", c_char_p), ("promised_value", c_double),
                ("discounted_return", c_double), ("estimate", c_double),
                ("correlation", c_double), ("environments", c_uint64),
                ("trajectories", c_uint64), ("steps_max", c_uint64), ("points", c_size_t),
                ("curves", POINTER(c_double) * 4)]


class Results(ctypes.Structure):
    _fields_ = [("items", POINTER(Result)), ("count", c_size_t), ("problems", POINTER(c_char_p)),
                ("n_problems", c_size_t), ("others", POINTER(Result)), ("n_others", c_size_t)]


class Curve(ctypes.Structure):
    _fields_ = [("steps", POINTER(c_uint64)), ("values", POINTER(c_double)), ("count", c_size_t)]


class TrainSetting(ctypes.Structure):
    _fields_ = [("key", c_char_p), ("value", c_char_p)]


class TrainProgress(ctypes.Structure):
    _fields_ = [("steps", c_int64), ("total", c_int64), ("updates", c_int64),
                ("updates_per_second", c_double), ("seconds_left", c_double),
                ("model_loss", c_double), ("mean_error", c_double)]


ProgressFunction = ctypes.CFUNCTYPE(None, c_void_p, POINTER(TrainProgress))
MessageFunction = ctypes.CFUNCTYPE(None, c_void_p, c_bool, c_char_p)


class TrainConfig(ctypes.Structure):
    _fields_ = [("directory", c_char_p), ("blocks", POINTER(c_char_p)),
                ("files", POINTER(c_char_p)), ("from_", c_char_p),
                ("settings", POINTER(TrainSetting)), ("stop", POINTER(c_int)),
                ("progress", ProgressFunction), ("message", MessageFunction),
                ("context", c_void_p)]


class RecordedEpisode(ctypes.Structure):
    _fields_ = [("domain", POINTER(Domain)), ("number", c_uint64), ("theta", POINTER(c_double)),
                ("steps", c_size_t), ("control_steps", c_size_t), ("actions", POINTER(c_float)),
                ("rewards", POINTER(c_float)), ("step", POINTER(c_uint32)),
                ("states", POINTER(POINTER(c_double))), ("widths", POINTER(c_int))]


RewardFunction = ctypes.CFUNCTYPE(c_bool, c_void_p, POINTER(RecordedEpisode), POINTER(c_double))


class RecordedReward(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("reads", POINTER(c_char_p)), ("n_reads", c_int),
                ("path", c_char_p), ("sha256", c_char_p), ("reward", RewardFunction),
                ("context", c_void_p)]


class RelabelConfig(ctypes.Structure):
    _fields_ = [("directory", c_char_p), ("reward", c_char_p),
                ("recorded", POINTER(RecordedReward)), ("plugin", c_char_p), ("restart", c_bool),
                ("threads", c_int)]


class RelabelResult(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char * 64), ("episodes", c_uint64), ("rows", c_uint64),
                ("simulated", c_uint64), ("steps", c_uint64), ("seconds", c_double),
                ("mean_return", c_double), ("threads", c_int)]


# Structs by their names in C.
STRUCTS: dict[str, type[ctypes.Structure]] = {
    "wk_error": CError, "wk_param": Param, "wk_task": Task, "wk_case": Case, "wk_option": Option,
    "wk_domain": Domain, "wk_observation_spec": ObservationSpec, "wk_frame": Frame, "wk_batch": Batch,
    "wk_curriculum_config": CurriculumConfig, "wk_curriculum_view": CurriculumView,
    "wk_policy_config": PolicyConfig, "wk_model_config": ModelConfig, "wk_model_sizes": ModelSizes,
    "wk_model_latents": ModelLatents, "wk_scores": Scores, "wk_bootstrap_config": BootstrapConfig,
    "wk_estimate": Estimate, "wk_result": Result, "wk_results": Results, "wk_curve": Curve,
    "wk_train_setting": TrainSetting, "wk_train_progress": TrainProgress,
    "wk_train_config": TrainConfig, "wk_recorded_episode": RecordedEpisode,
    "wk_recorded_reward": RecordedReward, "wk_relabel_config": RelabelConfig,
    "wk_relabel_result": RelabelResult,
}

_domain = POINTER(Domain)
_p, _n, _i, _d, _s, _u64 = c_void_p, c_size_t, c_int, c_double, c_char_p, c_uint64

# Functions that return a wk_status and take a wk_error last: the arguments before it.
_CHECKED: dict[str, list[Any]] = {
    "wk_domain_find": [_s, POINTER(_domain)],
    "wk_domain_task": [_domain, _s, POINTER(_i)],
    "wk_domain_option": [_domain, _s, _s, POINTER(_i), POINTER(_i)],
    "wk_domain_check_params": [_domain, _p, _n],
    "wk_plugin_load": [_s, POINTER(_p)],
    "wk_space_create": [_domain, c_bool, POINTER(_p)],
    "wk_env_create": [_domain, _p, POINTER(_p)],
    "wk_env_reset": [_p, _p, _n, _u64, _u64, POINTER(Frame)],
    "wk_env_step": [_p, _p, POINTER(Frame)],
    "wk_env_render": [_p, _i, _i, _p],
    "wk_env_save": [_p, _p, _n],
    "wk_env_load": [_p, _p, _n],
    "wk_vec_create": [_domain, _p, _i, _i, POINTER(_p)],
    "wk_vec_plan_reset": [_p, _i, _p, _n, _u64, _u64],
    "wk_vec_step": [_p, _p],
    "wk_curriculum_rule_find": [_s, POINTER(_p)],
    "wk_curriculum_create": [_p, _domain, _p, POINTER(CurriculumConfig), POINTER(_p)],
    "wk_curriculum_next": [_p, _u64, c_bool, _p, POINTER(_n)],
    "wk_curriculum_report": [_p, _p, _p, _n],
    "wk_curriculum_load": [_p, _p, _n],
    "wk_policy_create": [POINTER(PolicyConfig), POINTER(_p)],
    "wk_policy_act": [_p, _p, _p, _p],
    "wk_policy_act_on": [_p, POINTER(Batch), _p],
    "wk_policy_reset": [_p, _u64],
    "wk_policy_save": [_p, _p],
    "wk_policy_load": [_p, _p, _n],
    "wk_model_create": [POINTER(ModelConfig), POINTER(_p)],
    "wk_model_observe_batch": [_p, _i, ModelLatents, POINTER(Batch), _p],
    "wk_model_imagine": [_p, _i, ModelLatents, _p],
    "wk_model_decode_observations": [_p, _i, ModelLatents, _p, _p],
    "wk_stats_percentile": [_p, _n, _d, POINTER(_d)],
    "wk_stats_cvar": [_p, _n, _d, _i, POINTER(_d)],
    "wk_stats_rank_correlation": [_p, _p, _n, POINTER(_d)],
    "wk_stats_aggregate": [POINTER(Scores), _i, POINTER(_d)],
    "wk_stats_optimality_gap": [POINTER(Scores), _d, POINTER(_d)],
    "wk_stats_bootstrap": [POINTER(Scores), _i, POINTER(BootstrapConfig), POINTER(Estimate)],
    "wk_stats_improvement": [POINTER(Scores), POINTER(Scores), POINTER(_d)],
    "wk_stats_improvement_bootstrap": [POINTER(Scores), POINTER(Scores), POINTER(BootstrapConfig),
                                       POINTER(Estimate)],
    "wk_results_read": [_s, POINTER(POINTER(Results))],
    "wk_curve_read": [_s, _s, POINTER(Curve)],
    "wk_train_run": [POINTER(TrainConfig), POINTER(_i)],
    "wk_relabel_run": [POINTER(RelabelConfig), POINTER(RelabelResult)],
}

# The others: what they return, and their arguments.
_PLAIN: dict[str, tuple[Any, list[Any]]] = {
    "wk_domain_count": (_n, []),
    "wk_domain_at": (_domain, [_n]),
    "wk_plugin_domain": (_domain, [_p]),
    "wk_plugin_unload": (None, [_p]),
    "wk_space_destroy": (None, [_p]),
    "wk_space_count": (_n, [_p]),
    "wk_space_params": (POINTER(_d), [_p, _n]),
    "wk_space_probability": (_d, [_p, _n]),
    "wk_space_sample": (_n, [_p, _u64, _u64, _p]),
    "wk_space_find": (_n, [_p, _p]),
    "wk_env_destroy": (None, [_p]),
    "wk_env_params": (POINTER(_d), [_p]),
    "wk_env_state_size": (_n, [_p]),
    "wk_vec_destroy": (None, [_p]),
    "wk_vec_plan_idle": (None, [_p, _i]),
    "wk_vec_env": (_p, [_p, _i]),
    "wk_vec_batch": (POINTER(Batch), [_p]),
    "wk_vec_diverged": (_u64, [_p]),
    "wk_curriculum_config_default": (CurriculumConfig, []),
    "wk_curriculum_destroy": (None, [_p]),
    "wk_curriculum_advance": (None, [_p, _u64]),
    "wk_curriculum_distribution": (None, [_p, _p]),
    "wk_curriculum_get_view": (CurriculumView, [_p]),
    "wk_curriculum_state_size": (_n, [_p]),
    "wk_curriculum_save": (None, [_p, _p]),
    "wk_policy_config_default": (PolicyConfig, []),
    "wk_policy_destroy": (None, [_p]),
    "wk_policy_domain": (_domain, [_p]),
    "wk_policy_options": (POINTER(_i), [_p]),
    "wk_policy_step": (_u64, [_p]),
    "wk_policy_state_size": (_n, [_p]),
    "wk_model_config_default": (ModelConfig, []),
    "wk_model_destroy": (None, [_p]),
    "wk_model_get_sizes": (ModelSizes, [_p]),
    "wk_model_domain": (_domain, [_p]),
    "wk_model_step": (_u64, [_p]),
    "wk_stats_mean": (_d, [_p, _n]),
    "wk_stats_sd": (_d, [_p, _n]),
    "wk_bootstrap_config_default": (BootstrapConfig, []),
    "wk_results_free": (None, [POINTER(Results)]),
    "wk_curve_free": (None, [POINTER(Curve)]),
    "wk_train_config_default": (TrainConfig, []),
}


def path() -> Path:
    """The library's file: that of the package, or the one WAKER_LIBRARY names."""
    named = os.environ.get("WAKER_LIBRARY")
    return Path(named) if named else Path(__file__).with_name("lib") / "libwaker.so"


def _checked(function: Any) -> Callable[..., None]:
    def call(*arguments: Any) -> None:
        error = CError()
        status = function(*arguments, ctypes.byref(error))
        if status:
            raise _ERRORS[status](error.message.decode("utf-8", "replace"))
    return call


def _open(file: Path) -> ctypes.CDLL:
    """Loads the library. OpenBLAS would start a thread for each core as it is loaded, which waker
    never uses and which cannot end where memory is limited (ulimit -v)."""
    name = "OPENBLAS_NUM_THREADS"
    before = os.environ.get(name)
    os.environ[name] = "1"
    try:
        return ctypes.CDLL(str(file))
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


class _Library:
    """The functions by their names in C without `wk_`; loaded by the first one that is used."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def __getattr__(self, name: str) -> Any:
        with self._lock:
            if "domain_count" not in self.__dict__:
                self._load()
        try:
            return self.__dict__[name]
        except KeyError:
            raise AttributeError(name) from None

    def _load(self) -> None:
        file = path()
        try:
            library = _open(file)
            plain = {name[3:]: self._declare(library, name, *kind)
                     for name, kind in _PLAIN.items()}
            checked = {name[3:]: _checked(self._declare(library, name, _i,
                                                        [*kinds, POINTER(CError)]))
                       for name, kinds in _CHECKED.items()}
        except (OSError, AttributeError) as problem:
            raise ImportError(f"the C library cannot be used: {problem}. `pip install .` in a clone "
                              f"of waker puts one into the package; WAKER_LIBRARY can name another "
                              f"(now: {file})") from problem
        domain = plain["domain_at"](0).contents
        if domain.abi != ENV_ABI or domain.size != ctypes.sizeof(Domain):
            raise ImportError(f"{file} is of another version (ABI {domain.abi}) than this Python "
                              f"package (ABI {ENV_ABI}); install both together")
        self.__dict__.update(checked)
        self.__dict__.update(plain)

    @staticmethod
    def _declare(library: ctypes.CDLL, name: str, result: Any, arguments: list[Any]) -> Any:
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
        return function


lib = _Library()


def integer(value: Any, what: str, kind: Any = c_int, least: int | None = None) -> int:
    """A whole number for an argument or a field of this type, from `least` on: ctypes would wrap
    those that do not fit. `what` is the argument's name."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{what} must be a whole number, not {value!r:.80}") from None
    bits = 8 * ctypes.sizeof(kind)
    low, high = (-2**(bits - 1), 2**(bits - 1) - 1) if kind(-1).value < 0 else (0, 2**bits - 1)
    if least is not None and number < least:
        raise InputError(f"{what} must be a whole number from {least} on, not {number}")
    if not low <= number <= high:
        raise InputError(f"{what} must be from {low} to {high}, not {number}")
    return number


def seed(value: Any) -> int:
    return integer(value, "seed", c_uint64)


def number(value: Any, what: str) -> float:
    """A real number for C."""
    try:
        return c_double(value).value
    except TypeError:
        raise TypeError(f"{what} must be a number, not {value!r:.80}") from None
    except OverflowError:
        raise InputError(f"{what} is too large a number") from None


def text(value: Any, what: str) -> bytes:
    """A C string from str, bytes or a path."""
    try:
        encoded = os.fsencode(value)
    except TypeError:
        raise TypeError(f"{what} must be a text, not {value!r:.80}") from None
    if b"\0" in encoded:
        raise InputError(f"{what} contains a NUL character: {value!r:.80}")
    return encoded


def texts(values: Any, what: str) -> list[bytes]:
    """Those of a list."""
    if isinstance(values, (str, bytes, os.PathLike)) or not isinstance(values, Iterable):
        raise TypeError(f"{what} must be a list of names, not {values!r:.80}")
    return [text(value, what) for value in values]


def fill(struct: AnyStruct, **values: Any) -> AnyStruct:
    """Sets fields of a struct to arguments of the same names."""
    kinds: dict[str, Any] = {field[0]: field[1] for field in struct._fields_}
    for name, value in values.items():
        kind = kinds[name]
        if kind is c_char_p:
            value = text(value, name)
        elif kind is c_double:
            value = number(value, name)
        else:
            value = bool(value) if kind is c_bool else integer(value, name, kind)
        setattr(struct, name, value)
    return struct


def given(**values: Any) -> dict[str, Any]:
    """The arguments that are not None."""
    return {name: value for name, value in values.items() if value is not None}


class Pointer(c_void_p):
    """The address of a C object, which is destroyed when nothing refers to it any more: no handle,
    no view of its memory, and no call, which holds its arguments until it returns."""

    def own(self, destroy: Any, keep: object) -> None:
        self._finalizer = weakref.finalize(self, _destroy, os.getpid(), destroy, self.value or 0, keep)


def _destroy(pid: int, destroy: Any, address: int, keep: object) -> None:
    # A forked child has no threads to wait for, and at the end of the program daemon threads are
    # still in their calls: what they have is left to the end of the process.
    ends = not threading.main_thread().is_alive()
    if os.getpid() == pid and not (ends and any(thread.daemon for thread in threading.enumerate())):
        destroy(address)
    del keep  # what the C object borrowed


class Handle:
    """An object of the library: used by one thread at a time, not after close() and not in a child
    process that inherited it."""

    def __init__(self, what: str, pointer: Pointer) -> None:
        self._what = what
        self._pointer: Pointer | None = pointer
        self._lock = threading.RLock()
        self._pid = os.getpid()

    @property
    def lock(self) -> Any:
        """To be held while `pointer` is used. It is a lock of Python itself, which an interrupt at
        any moment leaves as it should be."""
        if os.getpid() != self._pid:
            raise ForkError(f"{self._what} was made before this process was forked; make a new one "
                            "in the child, or start processes by 'spawn'")
        return self._lock

    @property
    def pointer(self) -> Pointer:
        """The C object, for as long as the caller keeps this: what is called meanwhile, such as a
        signal handler, may close the handle."""
        pointer = self._pointer
        if pointer is None:
            raise ClosedError(f"{self._what} is closed")
        return pointer

    @property
    def closed(self) -> str:
        """For the repr of what has the handle."""
        return "" if self._pointer is not None else ", closed"

    def close(self) -> None:
        """Gives the C object up, after the call that another thread is in; it goes when the last
        call and the last view of its memory do."""
        if os.getpid() != self._pid:
            return
        with self._lock:
            self._pointer = None


def view(pointer: Pointer, kind: Any, address: int, shape: tuple[int, ...]) -> NDArray[Any]:
    """An array over memory of the C object, which lives as long as the array."""
    memory = (kind * math.prod(shape)).from_address(address)
    memory.owner = pointer
    return numpy.frombuffer(memory, kind).reshape(shape)


def create(what: str, function: Any, destroy: Any, *arguments: Any) -> Handle:
    """Makes a Handle by a `wk_..._create` function, whose last argument is where the pointer goes.
    The C object borrows its arguments, which live as long as it does."""
    out = Pointer()
    function(*arguments, ctypes.byref(out))
    out.own(destroy, arguments)
    return Handle(what, out)
