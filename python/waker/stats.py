"""Statistics of scores, computed by the library (docs/evaluation.md has the definitions)."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _library as c
from ._library import lib
from .domain import c_array


class Estimate(NamedTuple):
    """A number with its interval."""

    value: float
    low: float
    high: float


AGGREGATES = ("mean", "median", "iqm", "optimality gap")


def _vector(values: ArrayLike, what: str = "values") -> NDArray[np.float64]:
    array = c_array(values, np.float64, None, what)
    if array.ndim != 1:
        raise c.InputError(f"{what} must be a list of numbers, not of shape {array.shape}")
    return array


def _number(function: Any, *arguments: Any) -> float:
    out = ctypes.c_double()
    function(*arguments, ctypes.byref(out))
    return out.value


def mean(values: ArrayLike) -> float:
    """Arithmetic mean; NaN of nothing.

    >>> waker.stats.mean([1, 2, 6])
    3.0
    """
    numbers = _vector(values)
    return float(lib.stats_mean(numbers.ctypes.data, numbers.size))


def sd(values: ArrayLike) -> float:
    """Population standard deviation, as numpy.std.

    >>> waker.stats.sd([1, 3])
    1.0
    """
    numbers = _vector(values)
    return float(lib.stats_sd(numbers.ctypes.data, numbers.size))


def percentile(values: ArrayLike, percent: float) -> float:
    """The value below which `percent` of the values lie, as numpy.percentile.

    >>> waker.stats.percentile([1, 2, 3], 50)
    2.0
    """
    numbers = _vector(values)
    return _number(lib.stats_percentile, numbers.ctypes.data, numbers.size,
                   c.number(percent, "percent"))


def cvar(values: ArrayLike, fraction: float = 0.1, worst: str = "low") -> float:
    """Mean of the worst `fraction` of the values; `worst` is "low" (scores) or "high" (errors).

    >>> waker.stats.cvar([1, 2, 3, 4], 0.5)
    1.5
    """
    if worst not in ("low", "high"):
        raise c.InputError(f"worst must be 'low' or 'high', not {worst!r}")
    numbers = _vector(values)
    return _number(lib.stats_cvar, numbers.ctypes.data, numbers.size,
                   c.number(fraction, "fraction"), worst == "high")


def rank_correlation(x: ArrayLike, y: ArrayLike) -> float:
    """Spearman's.

    >>> round(waker.stats.rank_correlation([1, 2, 3], [1, 4, 9]), 6)
    1.0
    """
    one, other = _vector(x, "x"), _vector(y, "y")
    if one.size != other.size:
        raise c.InputError(f"x and y must have the same length, not {one.size} and {other.size}")
    return _number(lib.stats_rank_correlation, one.ctypes.data, other.ctypes.data, one.size)


class _Scores:
    """A matrix of runs by tasks for C, which borrows it."""

    def __init__(self, values: ArrayLike, names: Iterable[str] | None) -> None:
        self.values = c_array(values, np.float64, None, "scores")
        if self.values.ndim != 2:
            raise c.InputError(f"scores must be a matrix of runs by tasks, not of shape "
                               f"{self.values.shape}")
        runs, tasks = self.values.shape
        texts = None if names is None else c.texts(names, "tasks")
        if texts is not None and len(texts) != tasks:
            raise c.InputError(f"tasks must be {tasks} names, not {len(texts)}")
        self.names = None if texts is None else (ctypes.c_char_p * tasks)(*texts)
        self.struct = c.Scores(self.values.ctypes.data, runs, tasks, None, None, self.names)
        self.struct.owner = self.values  # C sees it for as long as the struct lives

    @property
    def pointer(self) -> Any:
        return ctypes.byref(self.struct)


def _aggregate(name: str) -> int:
    if name not in AGGREGATES:
        raise c.InputError(f"how must be one of {', '.join(map(repr, AGGREGATES))}, not {name!r}")
    return AGGREGATES.index(name)


def aggregate(scores: ArrayLike, how: str = "iqm", tasks: Iterable[str] | None = None) -> float:
    """One number for a matrix of runs by tasks: "mean", "median", "iqm" or "optimality gap".

    >>> waker.stats.aggregate([[0.1, 0.3], [0.5, 0.7]], "mean")
    0.4
    """
    return _number(lib.stats_aggregate, _Scores(scores, tasks).pointer, _aggregate(how))


def _interval(function: Any, *arguments: Any, reps: int, size: float, seed: int) -> Estimate:
    config = c.fill(c.BootstrapConfig(), reps=reps, size=size, seed=seed)
    out = c.Estimate()
    function(*arguments, ctypes.byref(config), ctypes.byref(out))
    return Estimate(out.value, out.low, out.high)


def bootstrap(scores: ArrayLike, how: str = "iqm", tasks: Iterable[str] | None = None, *,
              reps: int = 50000, size: float = 0.95, seed: int = 0) -> Estimate:
    """An aggregate with its stratified percentile bootstrap interval.

    >>> waker.stats.bootstrap([[0.1], [0.5]], "mean", reps=1000)
    Estimate(value=0.3, low=0.1, high=0.5)
    """
    return _interval(lib.stats_bootstrap, _Scores(scores, tasks).pointer, _aggregate(how),
                     reps=reps, size=size, seed=seed)


def improvement(x: ArrayLike, y: ArrayLike, *, reps: int = 50000, size: float = 0.95,
                seed: int = 0) -> Estimate:
    """Probability that a run of x scores higher than a run of y, with its interval.

    >>> waker.stats.improvement([[0.5], [0.7]], [[0.1], [0.6]], reps=1000).value
    0.75
    """
    return _interval(lib.stats_improvement_bootstrap, _Scores(x, None).pointer,
                     _Scores(y, None).pointer, reps=reps, size=size, seed=seed)
