"""Figures of results, with matplotlib. Every function draws into `axes` (default: new ones) and
returns them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from . import stats
from .results import Records, Run


def _axes(axes: Any) -> Any:
    if hasattr(axes, "plot"):
        return axes
    if axes is not None:
        raise TypeError(f"axes must be those of matplotlib, not {axes!r:.80}")
    import matplotlib.pyplot

    return matplotlib.pyplot.subplots()[1]


def _run(run: Any, what: str) -> Run:
    if not isinstance(run, Run):
        raise TypeError(f"{what} must be a waker.Run, not {run!r:.80}")
    return run


def curve(runs: Iterable[Run], metric: str, axes: Any = None,
          label: Callable[[Run], str] | None = None) -> Any:
    """One metric over agent steps, a line for each run; `label` names a run, else its folder does.

    >>> axes = waker.plots.curve(waker.runs("runs/*"), "train/model_loss")
    """
    axes = _axes(axes)
    for run in runs:
        steps, values = _run(run, "runs").curve(metric)
        axes.plot(steps, values, label=label(run) if label else run.name)
    axes.set_xlabel("agent steps")
    axes.set_ylabel(metric)
    axes.legend()
    return axes


def bars(evaluations: Iterable[Mapping[str, Any]], by: str = "curriculum", score: str = "mean",
         axes: Any = None, reps: int = 2000) -> Any:
    """The mean over runs of every task, grouped by a column, with bootstrap intervals.

    >>> axes = waker.plots.bars(waker.evaluations("runs").where(set="dr"))
    """
    axes, rows = _axes(axes), Records(dict(row) for row in evaluations)
    tasks = sorted(set(rows.column("task").tolist()))
    groups = sorted(set(rows.column(by).tolist()), key=str)
    width = 0.8 / max(1, len(groups))
    for i, group in enumerate(groups):
        found = [stats.bootstrap(rows.where(task=task, **{by: group}).column(score)[:, None],
                                 "mean", reps=reps) for task in tasks]
        values = np.array([estimate.value for estimate in found])
        around = np.array([[e.value - e.low, e.high - e.value] for e in found]).T
        axes.bar(np.arange(len(tasks)) + i * width, values, width, yerr=np.abs(around), capsize=3,
                 label=str(group))
    axes.set_xticks(np.arange(len(tasks)) + 0.4 - width / 2, tasks)
    axes.set_ylabel(score)
    axes.legend(title=by)
    return axes


def curriculum(run: Run, value: str = "probability", axes: Any = None) -> Any:
    """What the curriculum knows over θ: a heat map for two parameters, bars for one. `value` is
    "probability", "error" or "episodes".

    >>> axes = waker.plots.curriculum(waker.Run("runs/a"), "episodes")
    """
    axes = _axes(axes)
    rows = _run(run, "run").curriculum()
    names = [name for name in rows[0] if name not in (
        "probability", "default_probability", "error", "reduction", "episodes")]
    numbers = np.array([np.nan if row.get(value) is None else row[value] for row in rows], float)
    if len(names) == 1:
        theta = rows.column(names[0])
        order = np.argsort(theta)
        axes.bar(np.arange(len(theta)), numbers[order])
        axes.set_xticks(np.arange(len(theta)), [f"{t:g}" for t in theta[order]])
        axes.set_ylabel(value)
    else:
        x, y = (np.unique(rows.column(name)) for name in names[:2])
        grid = np.full((len(y), len(x)), np.nan)
        for row, number in zip(rows, numbers):
            grid[np.searchsorted(y, row[names[1]]), np.searchsorted(x, row[names[0]])] = number
        picture = axes.imshow(grid, origin="lower", aspect="auto",
                              extent=(x[0], x[-1], y[0], y[-1]))
        axes.figure.colorbar(picture, ax=axes, label=value)
        axes.set_ylabel(names[1])
    axes.set_xlabel(names[0])
    return axes


def images(pictures: ArrayLike, axes: Any = None) -> Any:
    """Images [T,...,64,64,3] in a row (in rows, where there is an axis before), as decode() gives
    them or as bytes.

    >>> model = waker.Model("runs/a")
    >>> axes = waker.plots.images(model.decode(model.initial(5)))
    """
    axes = _axes(axes)
    rows = np.asarray(pictures)
    if rows.dtype == np.uint8:
        rows = rows / 255
    if rows.ndim == 4:
        rows = rows[:, None]
    sheet = rows.transpose(1, 2, 0, 3, 4).reshape(
        rows.shape[1] * rows.shape[2], rows.shape[0] * rows.shape[3], 3)
    axes.imshow(np.clip(sheet, 0, 1))
    axes.set_axis_off()
    return axes
