"""waker: robust world models from reward-free curricula.

    gym.make("waker/TerrainWalker-v0")      environments of Gymnasium (waker.envs)
    waker.Policy("runs/a", task="walk")     policies of saved runs
    waker.Model("runs/a")                   their world models
    waker.train("runs/a", ["toy"])          a run, as `waker train` makes it
    waker.relabel("runs/a", my_reward)      a reward that comes after the data
    waker.runs("runs/*")                    what runs have measured
    waker.stats, waker.plots                statistics and figures of it

The C library is loaded by the first use of it, Gymnasium not at all unless it is imported.
"""

import importlib

from ._registration import register_when_imported

register_when_imported()

_WHERE = {
    "Domain": "domain", "Space": "domain", "Curriculum": "domain", "domains": "domain",
    "Policy": "policy", "Model": "model", "train": "training",
    "reward": "relabelling", "relabel": "relabelling", "Run": "results", "runs": "results",
    "evaluations": "results", "command": "results", "WakerEnv": "envs",
    "WakerVectorEnv": "envs",
    **{name: "_library" for name in (
        "Error", "InputError", "NotFoundError", "FileError", "FormatError", "NoMemoryError",
        "UnsupportedError", "DivergedError", "StoppedError", "ClosedError", "ForkError")},
}
_MODULES = ("envs", "plots", "stats")
__all__ = sorted([*_WHERE, *_MODULES])


def __getattr__(name):
    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    if name == "__version__":
        return importlib.import_module("importlib.metadata").version("waker")
    if name not in _WHERE:
        raise AttributeError(f"module 'waker' has no attribute {name!r}")
    value = getattr(importlib.import_module(f".{_WHERE[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__():
    return sorted([*globals(), *__all__])
