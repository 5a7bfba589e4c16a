"""How the progress of a run is shown to people."""

from __future__ import annotations

import importlib.util
import math
import sys
import time
from collections.abc import Callable
from typing import Any, Protocol

from .progress import Progress

SECONDS_BETWEEN_LINES = 10.0


class Display(Protocol):
    """Shows progress until it is closed."""

    def show(self, now: Progress) -> None: ...

    def close(self) -> None: ...


class Calls:
    """Of a function of the caller."""

    def __init__(self, function: Callable[[Progress], object]) -> None:
        self.function = function

    def show(self, now: Progress) -> None:
        self.function(now)

    def close(self) -> None:
        pass


class Nothing:
    def show(self, now: Progress) -> None:
        pass

    def close(self) -> None:
        pass


class Lines:
    """A line on standard error now and then, and one at the end."""

    def __init__(self) -> None:
        self.latest: Progress | None = None
        self.printed = ""
        self.time = time.monotonic()

    def show(self, now: Progress) -> None:
        self.latest = now
        if time.monotonic() - self.time >= SECONDS_BETWEEN_LINES:
            self.print(now)

    def print(self, now: Progress) -> None:
        words = [f"{min(now.steps, now.total)} of {now.total} steps"]
        for name, value in (("updates/s", now.updates_per_second), ("s left", now.seconds_left)):
            if math.isfinite(value):
                words.append(f"{value:.3g} {name}")
        if math.isfinite(now.model_loss):
            words.append(f"model loss {now.model_loss:.4g}")
        line, before = ", ".join(words), self.printed
        self.time, self.printed = time.monotonic(), line
        if line != before:
            print("waker:", line, file=sys.stderr, flush=True)

    def close(self) -> None:
        if self.latest is not None:
            self.print(self.latest)


class Tqdm:
    def __init__(self) -> None:
        from tqdm.auto import tqdm

        self.make: Any = tqdm
        self.bar: Any = None

    def show(self, now: Progress) -> None:
        if self.bar is None:
            self.bar = self.make(total=now.total, initial=now.steps, unit=" steps")
        if math.isfinite(now.model_loss):
            self.bar.set_postfix({"loss": f"{now.model_loss:.4g}"}, refresh=False)
        self.bar.update(min(now.steps, now.total) - self.bar.n)

    def close(self) -> None:
        if self.bar is not None:
            self.bar.close()


class Rich:
    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bars

        self.bars: Any = Bars(BarColumn(), MofNCompleteColumn(), TextColumn("steps"),
                              TimeRemainingColumn(), TextColumn("{task.fields[loss]}"),
                              console=Console(stderr=True))
        self.task: Any = None

    def show(self, now: Progress) -> None:
        if self.task is None:
            self.bars.start()
            self.task = self.bars.add_task("", total=now.total, loss="")
        loss = f"loss {now.model_loss:.4g}" if math.isfinite(now.model_loss) else ""
        self.bars.update(self.task, completed=min(now.steps, now.total), loss=loss)

    def close(self) -> None:
        self.bars.stop()


class Unless:
    """A display that ends where it cannot be written to, instead of the training."""

    def __init__(self, display: Display) -> None:
        self.display: Display = display

    def show(self, now: Progress) -> None:
        try:
            self.display.show(now)
        except (OSError, ValueError):  # standard error is closed
            self.display = Nothing()

    def close(self) -> None:
        try:
            self.display.close()
        except (OSError, ValueError):
            pass


def display(progress: bool | Callable[[Progress], object]) -> Display:
    """A function of the caller, or what is there: a bar of tqdm or of rich for people who watch, in
    a notebook or a terminal; lines for files and where neither is installed."""
    if callable(progress):
        return Calls(progress)
    if not isinstance(progress, bool):
        raise TypeError(f"progress must be True, False or a function, not {progress!r:.80}")
    if not progress or sys.stderr is None or getattr(sys.stderr, "closed", False):
        return Nothing()
    watched = "ipykernel" in sys.modules or sys.stderr.isatty()
    for name, bar in (("tqdm", Tqdm), ("rich", Rich)):
        if watched and importlib.util.find_spec(name) is not None:
            return Unless(bar())
    return Unless(Lines())
