"""Statistics of random score matrices with rliable, SciPy and NumPy.

    python3 tools/reference/statistics.py tests/stats/golden/statistics.safetensors

Needs rliable (1.2), scipy, numpy and safetensors (and pandas before 3, which rliable's own dependency asks for).
Per case: two matrices [runs, tasks], their point statistics, a few resamples with the index draws they came
from, and brackets for bootstrap intervals. Nothing here is written from the C code.
"""
import sys

import numpy as np
import scipy.stats
from rliable import library, metrics
from safetensors.numpy import save_file

FRACTIONS = [0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 1.0]
PERCENTS = [0, 2.5, 10, 37, 50, 75, 97.5, 100]
DRAWS = 40  # resamples whose indices are written down
REPS, OUR_REPS = 8000, 20000  # resamples behind the brackets, and in the test that is held against them
# Estimates of the percentiles 2.5 and 97.5 from so many resamples differ by less than this share in all but one of a
# million cases (5 standard errors of a difference of two binomial shares).
SLACK = 5 * np.sqrt(0.025 * 0.975 * (1 / REPS + 1 / OUR_REPS))



def cvar(values, fraction, high):
    """Mean of the worst share, rounded up to whole values."""
    worst = np.sort(values)[::-1] if high else np.sort(values)
    tail = int(np.ceil(round(fraction * len(values), 9)))
    return worst[:tail].mean()


def improvement(x, y):
    """rliable's probability of improvement without a call to SciPy per task, for resampling; checked against it."""
    wins = (x[:, None] > y[None]) + 0.5 * (x[:, None] == y[None])
    return wins.mean(axis=(0, 1)).mean()


def aggregates(x):
    return np.array([metrics.aggregate_mean(x), metrics.aggregate_median(x), metrics.aggregate_iqm(x),
                     metrics.aggregate_optimality_gap(x)])


def quick_aggregates(x):
    """The same without a call to SciPy, for resampling; checked against it."""
    means, cut = x.mean(axis=0), x.size // 4
    return np.array([means.mean(), np.median(means), np.sort(x, axis=None)[cut:x.size - cut].mean(),
                     1 - np.minimum(x, 1).mean()])


def bracket(scores, func, rng_seed):
    """Where the ends of a 95 % interval may lie: rows low end from, low end to, high end from, high end to."""
    np.random.seed(rng_seed)  # rliable draws from the global generator
    kind = library.StratifiedBootstrap if len(scores) == 1 else library.StratifiedIndependentBootstrap
    bootstrap = kind(*scores)
    ends = {"reps": REPS, "method": "percentile"}
    wide = bootstrap.conf_int(func, size=0.95 + 2 * SLACK, **ends)
    narrow = bootstrap.conf_int(func, size=0.95 - 2 * SLACK, reuse=True, **ends)
    return np.stack([wide[0], narrow[0], narrow[1], wide[1]])


def resamples(rng, x, y):
    """Index draws [draw, run, task], and what rliable's functions make of them."""
    i = rng.integers(0, x.shape[0], (DRAWS, *x.shape))
    j = rng.integers(0, y.shape[0], (DRAWS, *y.shape))
    columns = np.arange(x.shape[1])
    values = []
    for a, b in zip(i, j):
        p, q = x[a, columns], y[b, columns]
        assert abs(improvement(p, q) - metrics.probability_of_improvement(p, q)) < 1e-14
        assert np.allclose(quick_aggregates(p), aggregates(p), rtol=1e-13, atol=1e-13)
        values.append(np.append(aggregates(p), metrics.probability_of_improvement(p, q)))
    return i, j, np.array(values)


def case(rng, name, x, y, out):
    flat = x.ravel()
    other = np.round(flat * rng.normal(1, 0.5, flat.shape) + rng.normal(0, 0.1, flat.shape), 1)
    i, j, values = resamples(rng, x, y)
    correlation = np.nan
    if len(flat) > 1 and np.ptp(flat) > 0 and np.ptp(other) > 0:
        correlation = scipy.stats.spearmanr(flat, other).statistic
    assert abs(metrics.aggregate_iqm(x) - scipy.stats.trim_mean(flat, 0.25)) < 1e-12
    put = {
        "x": x, "y": y, "other": other,
        "points": np.concatenate([
            [flat.mean(), flat.std()], aggregates(x), [metrics.aggregate_optimality_gap(x, gamma=0.7)],
            [metrics.probability_of_improvement(x, y), correlation]]),
        "percentiles": np.percentile(flat, PERCENTS),
        "cvar_low": np.array([cvar(flat, f, False) for f in FRACTIONS]),
        "cvar_high": np.array([cvar(flat, f, True) for f in FRACTIONS]),
        "index_x": i.astype(np.uint8), "index_y": j.astype(np.uint8), "draws": values,
        "interval": np.percentile(values, [2.5, 97.5], axis=0),
        "bracket": bracket([x], quick_aggregates, 1),
        "bracket_improvement": bracket([x, y], lambda p, q: np.array([improvement(p, q)]), 2),
    }
    for key, value in put.items():
        out[f"{name}/{key}"] = np.ascontiguousarray(value if key.startswith("index") else value.astype(np.float64))


def matrices(rng):
    """(x, y) with ties, unequal runs, one task, one run, equal columns, large and negative scores."""
    yield np.array([[1, 2], [2, 2], [1, 1], [2, 1.0]]), np.array([[1, 1], [2, 2], [3, 3.0]])  # rliable's own test
    for runs_x, runs_y, tasks in [(5, 5, 3), (5, 3, 14), (2, 7, 6), (10, 10, 1), (1, 1, 4), (1, 6, 2), (6, 1, 2),
                                  (1, 1, 1), (3, 4, 26), (20, 15, 2)]:
        yield rng.normal(0.5, 0.3, (runs_x, tasks)), rng.normal(0.4, 0.3, (runs_y, tasks))
    for runs_x, runs_y, tasks in [(5, 5, 4), (4, 6, 3), (8, 8, 1), (3, 2, 9)]:  # ties inside and between
        yield rng.integers(0, 4, (runs_x, tasks)) / 2.0, rng.integers(0, 4, (runs_y, tasks)) / 2.0
    x = rng.normal(0, 1, (5, 4))
    y = x.copy()
    yield x, y  # all columns equal
    y = rng.normal(0, 1, (5, 4))
    y[:, 1] = x[:, 1]
    y[:, 3] = x[::-1, 3]  # the same scores in another order
    yield x, y
    yield np.full((4, 3), 0.25), np.full((5, 3), 0.25)  # constant
    yield rng.uniform(0, 1000, (5, 5)), rng.uniform(0, 1000, (5, 5))
    yield 1e6 + rng.normal(0, 1, (6, 3)), 1e6 + rng.normal(0, 1, (4, 3))
    yield -rng.exponential(3, (7, 2)), -rng.exponential(2, (3, 2))
    yield rng.normal(0.9, 0.02, (5, 8)), rng.normal(0.2, 0.02, (5, 8))  # X wins everywhere


def main():
    rng = np.random.default_rng(7)
    out = {}
    for number, (x, y) in enumerate(matrices(rng)):
        case(rng, f"{number:02d}", x, y, out)
    save_file(out, sys.argv[1], {"about": "written by tools/reference/statistics.py"})


if __name__ == "__main__":
    main()
