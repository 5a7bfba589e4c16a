"""waker: robust world models from reward-free curricula.

    waker.train("toy", "runs/a", steps=4000)    a run, as `waker train` makes it
    waker.Policy("runs/a", task="west")         policies of saved runs
    waker.Model("runs/a")                       their world models
    gym.make("waker/TerrainWalker-v0")          environments of Gymnasium (waker.envs)
    waker.relabel("runs/a", my_reward)          a reward that comes after the data
    waker.runs("runs/*")                        what runs have measured
    waker.stats, waker.plots                    statistics and figures of it

help(waker.train) and the like say how. The C library is loaded by the first use of it, Gymnasium
not at all unless it is imported.
"""

import importlib
from typing import TYPE_CHECKING, Any

from ._registration import register_when_imported

if TYPE_CHECKING:
    from . import envs, plots, stats
    from ._library import (ClosedError, DivergedError, Error, FileError, ForkError, FormatError,
                           InputError, NoMemoryError, NotFoundError, StoppedError,
                           UnsupportedError)
    from .domain import Curriculum, Domain, Space, domains
    from .envs import WakerEnv, WakerVectorEnv
    from .model import Latents, Model
    from .policy import Policy, PolicyState
    from .progress import Progress
    from .relabelling import Episode, relabel, reward
    from .results import Records, Run, command, evaluations, runs
    from .training import train

    __version__: str

register_when_imported()

_WHERE = {
    "domain": ("Curriculum", "Domain", "Space", "domains"), "policy": ("Policy", "PolicyState"),
    "model": ("Latents", "Model"), "progress": ("Progress",), "training": ("train",),
    "relabelling": ("Episode", "relabel", "reward"),
    "results": ("Records", "Run", "command", "evaluations", "runs"),
    "envs": ("WakerEnv", "WakerVectorEnv"),
    "_library": ("ClosedError", "DivergedError", "Error", "FileError", "ForkError", "FormatError",
                 "InputError", "NoMemoryError", "NotFoundError", "StoppedError",
                 "UnsupportedError"),
}
_MODULES = {name: module for module, names in _WHERE.items() for name in names}
__all__ = [
    "ClosedError", "Curriculum", "DivergedError", "Domain", "Episode", "Error", "FileError",
    "ForkError", "FormatError", "InputError", "Latents", "Model", "NoMemoryError",
    "NotFoundError", "Policy", "PolicyState", "Progress", "Records", "Run", "Space",
    "StoppedError", "UnsupportedError", "WakerEnv", "WakerVectorEnv", "command", "domains",
    "envs", "evaluations", "plots", "relabel", "reward", "runs", "stats", "train"]


def __getattr__(name: str) -> Any:
    if name in ("envs", "plots", "stats"):
        return importlib.import_module(f".{name}", __name__)
    if name == "__version__":
        return importlib.import_module("importlib.metadata").version("waker")
    if name not in _MODULES:
        raise AttributeError(f"module 'waker' has no attribute {name!r}")
    value = getattr(importlib.import_module(f".{_MODULES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
