"""How far a run is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Progress:
    """How far a run is, after one of its iterations. Numbers that are not known yet are NaN.

    steps, total         agent steps, and how many there will be
    updates              of the world model
    updates_per_second   of late
    seconds_left         at that rate
    model_loss           of the last update
    mean_error           the curriculum's estimate of the model's error

    >>> waker.Progress(steps=1000, total=4000, updates=200, updates_per_second=50.0,
    ...                seconds_left=12.0, model_loss=1.25, mean_error=math.nan).fraction
    0.25
    """

    steps: int
    total: int
    updates: int
    updates_per_second: float
    seconds_left: float
    model_loss: float
    mean_error: float

    @property
    def fraction(self) -> float:
        """How much of the run is done, from 0 to 1."""
        return min(1.0, self.steps / self.total) if self.total else 1.0
