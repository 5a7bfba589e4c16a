"""Names of the environments for gym.make. They are registered as soon as both packages are imported,
in either order; importing waker alone does not import Gymnasium, which takes longer than all else."""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

DOMAINS = {
    "TerrainWalker": "terrain-walker", "TerrainHopper": "terrain-hopper",
    "TerrainBody": "terrain-body", "CleanUp": "clean-up",
    "CarCleanUp": "car-clean-up", "Combined": "combined", "DmcWalker": "dmc-walker",
    "DmcHopper": "dmc-hopper", "Toy": "toy",
}


def register() -> None:
    from gymnasium.envs.registration import register as add

    for name, domain in DOMAINS.items():
        add(id=f"waker/{name}-v0", entry_point="waker.envs:WakerEnv",
            vector_entry_point="waker.envs:WakerVectorEnv", kwargs={"domain": domain})


class _GymnasiumFinder:
    """Sees `import gymnasium` come by once, and registers when it is done."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name != "gymnasium":
            return None
        import importlib.util

        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def execute_and_register(module: ModuleType) -> None:
                execute(module)
                register()

            spec.loader.exec_module = execute_and_register  # type: ignore[method-assign]
        return spec


def register_when_imported() -> None:
    if "gymnasium" in sys.modules:
        register()
    else:
        sys.meta_path.insert(0, _GymnasiumFinder())
