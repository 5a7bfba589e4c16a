"""A small run on toy that several files look at."""

import pytest
import waker

TINY = {"seed": 5, "steps": 400, "prefill": 60, "env.count": 3, "env.threads": 1, "train_every": 6,
        "replay.capacity": 2000, "encoder.depth": 1, "rssm.deter": 6, "rssm.hidden": 6,
        "rssm.stoch": 3, "rssm.classes": 3, "units": 6, "layers": 1, "ensemble.size": 2, "batch": 2,
        "length": 6, "horizon": 3, "checkpoint.every_steps": 50, "snapshot.every": 200,
        "log.every": 30, "log.tensorboard": False, "tasks": "all"}


def pytest_configure(config):
    config.addinivalue_line("markers", "native: the sanitizers see nothing new in it")


@pytest.fixture(scope="session")
def run(tmp_path_factory):
    directory = tmp_path_factory.mktemp("runs") / "tiny"
    assert waker.train("toy", directory, progress=False, **TINY) == "finished"
    waker.command("eval", directory, "--policy", "alongside", "--task", "west", "--cases", "dr",
                  "--envs", 25, "--seed", 3, "--quiet")
    return directory
