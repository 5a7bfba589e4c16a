"""Statistics of scores, computed by the library (docs/evaluation.md has the definitions)."""

import ctypes
from collections import namedtuple

import numpy as np

from . import _library as c
from ._library import lib
from .domain import c_array

Estimate = namedtuple("Estimate", "value low high")
AGGREGATES = ("mean", "median", "iqm", "optimality gap")


def _vector(values, what="values"):
    array = c_array(values, np.float64, None, what)
    if array.ndim != 1:
        raise c.InputError(f"{what}: a list of numbers is needed, given: shape {array.shape}")
    return array


def _number(function, *arguments):
    out = ctypes.c_double()
    function(*arguments, ctypes.byref(out))
    return out.value


def mean(values):
    """Arithmetic mean; NaN of nothing."""
    values = _vector(values)
    return lib.stats_mean(values.ctypes.data, values.size)


def sd(values):
    """Population standard deviation, as numpy.std."""
    values = _vector(values)
    return lib.stats_sd(values.ctypes.data, values.size)


def percentile(values, percent):
    values = _vector(values)
    return _number(lib.stats_percentile, values.ctypes.data, values.size,
                   c.number(percent, "percent"))


def cvar(values, fraction=0.1, worst="low"):
    """Mean of the worst `fraction` of the values; `worst` is "low" (scores) or "high" (errors)."""
    if worst not in ("low", "high"):
        raise c.InputError(f"worst is 'low' or 'high', not {worst!r}")
    values = _vector(values)
    return _number(lib.stats_cvar, values.ctypes.data, values.size,
                   c.number(fraction, "fraction"), worst == "high")


def rank_correlation(x, y):
    """Spearman's."""
    x, y = _vector(x, "x"), _vector(y, "y")
    if x.size != y.size:
        raise c.InputError(f"x has {x.size} numbers, y has {y.size}")
    return _number(lib.stats_rank_correlation, x.ctypes.data, y.ctypes.data, x.size)


class _Scores:
    """A matrix of runs by tasks for C, which borrows it."""

    def __init__(self, values, names):
        self.values = c_array(values, np.float64, None, "scores")
        if self.values.ndim != 2:
            raise c.InputError(f"scores: a matrix of runs by tasks is needed, given: shape "
                               f"{self.values.shape}")
        runs, tasks = self.values.shape
        names = None if names is None else c.texts(names, "tasks")
        if names is not None and len(names) != tasks:
            raise c.InputError(f"{len(names)} names for {tasks} tasks")
        self.names = None if names is None else (ctypes.c_char_p * tasks)(*names)
        self.struct = c.Scores(self.values.ctypes.data, runs, tasks, None, None, self.names)

    @property
    def pointer(self):
        return ctypes.byref(self.struct)


def _aggregate(name):
    if name not in AGGREGATES:
        raise c.InputError(f"aggregate: {', '.join(AGGREGATES)}; not {name!r}")
    return AGGREGATES.index(name)


def aggregate(scores, how="iqm", tasks=None):
    """One number for a matrix of runs by tasks: "mean", "median", "iqm" or "optimality gap"."""
    return _number(lib.stats_aggregate, _Scores(scores, tasks).pointer, _aggregate(how))


def _interval(function, *arguments, reps, size, seed):
    config = c.fill(c.BootstrapConfig(), reps=reps, size=size, seed=seed)
    out = c.Estimate()
    function(*arguments, ctypes.byref(config), ctypes.byref(out))
    return Estimate(out.value, out.low, out.high)


def bootstrap(scores, how="iqm", tasks=None, *, reps=50000, size=0.95, seed=0):
    """An aggregate with its stratified percentile bootstrap interval."""
    return _interval(lib.stats_bootstrap, _Scores(scores, tasks).pointer, _aggregate(how),
                     reps=reps, size=size, seed=seed)


def improvement(x, y, *, reps=50000, size=0.95, seed=0):
    """Probability that a run of x scores higher than a run of y, with its interval."""
    return _interval(lib.stats_improvement_bootstrap, _Scores(x, None).pointer,
                     _Scores(y, None).pointer, reps=reps, size=size, seed=seed)
