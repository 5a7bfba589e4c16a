"""Environments of the user in training: waker.train(env, ...) and `waker train --python`."""

import functools
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
import waker
from conftest import TINY
from waker import _make_env

SHORT = {**TINY, "steps": 200}


class Corridor(gym.Env):
    """A light moves along a corridor as long as θ says; a picture in gray and two numbers."""

    observation_space = gym.spaces.Dict({
        "camera": gym.spaces.Box(0, 255, (20, 100, 1), np.uint8),
        "speed": gym.spaces.Box(-1, 1, (2,), np.float64)})
    action_space = gym.spaces.Box(np.array([-3, 0], np.float32), np.array([3, 1], np.float32))
    theta_space = gym.spaces.Box(np.array([5, 0]), np.array([9, 1]), dtype=np.int64)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.length = int(options["theta"][0])
        self.place = self.np_random.uniform(0, self.length)
        return self.observe(0.0), {}

    def step(self, action):
        assert self.action_space.contains(action)
        self.place += float(action[0])
        out = not 0 <= self.place <= self.length
        self.place = min(max(self.place, 0), self.length)
        return self.observe(float(action[1])), 1.0 - out, out, False, {}

    def observe(self, speed):
        picture = np.zeros((20, 100, 1), np.uint8)
        picture[:, :int(10 * self.place) + 1] = 255
        return {"camera": picture, "speed": np.array([speed, self.place / 10])}


def corridor():
    return gym.wrappers.TimeLimit(Corridor(), 15)


def pendulum():
    return gym.make("Pendulum-v1")


def cart_pole():
    return gym.make("CartPole-v1", max_episode_steps=30)


@pytest.mark.parametrize("make_env", [corridor, pendulum, cart_pole])
def test_gymnasium_environments_are_trained_in(tmp_path, make_env):
    lines = []
    steps = {} if make_env is not pendulum else {"steps": 260}  # one episode has 200
    assert waker.train(make_env, tmp_path / "run", "toy", **{**SHORT, **steps},
                       message=lambda warning, line: lines.append(line)) == "finished"
    run = waker.Run(tmp_path / "run")
    assert run.config["plugin"] == f"{os.path.realpath(__file__)}:{make_env.__name__}"
    assert run.config["domain"] == {"corridor": "corridor", "pendulum": "pendulum-v1",
                                    "cart_pole": "cartpole-v1"}[make_env.__name__]
    assert not any("failed" in line for line in lines)


def test_a_run_goes_on_by_naming_the_function(tmp_path):
    settings, lines = {**SHORT, "checkpoint.every_steps": 20}, []

    def watch(now):
        if now.steps > 100:
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        waker.train(corridor, tmp_path / "run", "toy", **settings, progress=watch)
    with pytest.raises(waker.Error, match="env must be given again: .*test_own_envs.py:corridor"):
        waker.train(logdir=tmp_path / "run")
    assert waker.train(corridor, tmp_path / "run", "toy", **settings,
                       message=lambda warning, line: lines.append(line)) == "finished"
    assert any("cannot save their state" in line for line in lines)
    name = f"{__file__}:corridor"
    waker.command("eval", tmp_path / "run", "--policy", "random", "--cases", "dr", "--envs", 4,
                  "--python", name, "--quiet")
    policy = waker.Policy(tmp_path / "run", task="reward", plugin=name)
    assert policy.domain.name == "corridor" and policy.domain.params[0].max == 9


def test_what_makes_no_environments_leaves_nothing_behind(tmp_path, monkeypatch):
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)  # nor what was compiled
    lock = threading.Lock()
    for env, reason in [(lambda: None, "returned a NoneType without 'reset'"),
                        (dict, "returned a dict without 'reset'"),
                        (lambda: lock, "cannot be sent to other processes .*lock"),
                        (Corridor, "set the environment's attribute episode_steps"),
                        ("clean-upp", "did you mean 'clean-up'"),
                        ("CartPol-v1", "Did you mean: `CartPole`"),
                        ("nowhere.so", "there is no file")]:
        with pytest.raises(waker.Error, match=reason):
            waker.train(env, tmp_path / "run", "toy")
    assert not (tmp_path / "run").exists()


def test_a_name_a_lambda_or_an_inner_function_makes_environments(tmp_path, monkeypatch):
    limit = 12

    def inner():
        env = gym.make("Pendulum-v1", max_episode_steps=limit)
        return gym.wrappers.TransformReward(env, lambda reward: reward / 10)

    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "their_package.py").write_text(
        "import gymnasium\ngymnasium.register('Theirs-v0', 'test_own_envs:Corridor', max_episode_steps=12)\n")
    for name, env in [("id", "CartPole-v1"), ("module", "their_package:Theirs-v0"), ("inner", inner),
                      ("lambda", lambda: gym.wrappers.TimeLimit(Corridor(), limit)),
                      ("partial", functools.partial(gym.make, "CartPole-v1", max_episode_steps=30))]:
        run = tmp_path / name
        assert waker.train(env, run, "toy", progress=False, **SHORT) == "finished"
        file = f"{os.path.realpath(run)}/waker_env.py:make_env"
        assert waker.Run(run).config["plugin"] == file
        before = (run / "waker_env.py").read_text()
        with pytest.raises(waker.Error, match="holds another run|is not the .* that the run"):
            waker.train(cart_pole if name == "inner" else lambda: inner(), run, "toy", batch=9)
        assert (run / "waker_env.py").read_text() == before
        with warnings.catch_warnings():  # the file of another function would be a warning
            warnings.simplefilter("error")
            assert waker.train(env, run, "toy", **SHORT) == "finished"
        waker.command("eval", run, "--policy", "random", "--cases", "dr", "--envs", 2, "--python", file,
                      "--quiet")


# A decorator of another file, and a function that has the name of one of this file.
OTHER = {"__name__": __name__}
exec(compile("""
import functools
def renamed(function):
    @functools.wraps(function)
    def inner():
        return function()
    return inner
""", os.__file__, "exec"), OTHER)
exec(compile("def corridor():\n    pass", __file__, "exec"), OTHER)


@OTHER["renamed"]
def decorated():
    return corridor()


class Maker:
    def of_an_object(self):
        return corridor()

    @staticmethod
    def of_a_class():
        return corridor()


def test_what_a_file_has_under_its_name_is_imported_and_all_else_is_sent():
    for env, name in [(corridor, "corridor"), (Corridor, "Corridor"), (decorated, "decorated"),
                      (Maker.of_a_class, "Maker.of_a_class"), (Maker().of_an_object, None),
                      (OTHER["corridor"], None), (functools.partial(corridor), None)]:
        world = _make_env.world(env)
        assert world.plugin == (name and f"{os.path.realpath(__file__)}:{name}")
        assert (world.text is None) == (name is not None)


# As in a notebook: no file has it.
NOTEBOOK = """
import sys, gymnasium as gym, waker
from conftest import TINY
class Short(gym.Wrapper):
    def __init__(self):
        super().__init__(gym.make("CartPole-v1", max_episode_steps=LIMIT))
LIMIT = 20
print(waker.train(Short, "run", "toy", progress=False, **{**TINY, "steps": 150}))
"""


def test_what_a_notebook_defines_makes_environments(tmp_path):
    ended = subprocess.run([sys.executable, "-c", NOTEBOOK], cwd=tmp_path, capture_output=True, text=True,
                           env={**os.environ, "PYTHONPATH": str(Path(__file__).parent)})
    assert ended.stdout == "finished\n", ended.stderr


def test_what_is_sent_to_other_processes_needs_cloudpickle(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    with pytest.raises(waker.UnsupportedError, match="needs cloudpickle: pip install cloudpickle"):
        waker.train(lambda: corridor(), tmp_path / "run", "toy")
    assert not (tmp_path / "run").exists()


def test_names_that_stand_for_a_domain(tmp_path):
    for i, env in enumerate(["toy", "waker:waker/Toy-v0", waker.Domain("toy")]):
        assert waker.train(env, tmp_path / str(i), progress=False, **SHORT) == "finished"
        assert waker.Run(tmp_path / str(i)).config["domain"] == "toy"
    weights = {waker.Run(tmp_path / str(i)).snapshot().read_bytes() for i in range(3)}
    assert len(weights) == 1


class Failing(Corridor):
    """Raises an exception in every episode."""

    episode_steps = 15

    def step(self, action):
        raise ZeroDivisionError("a wall that is not there")


def test_why_environments_fail_is_a_warning(tmp_path):
    with pytest.warns(UserWarning, match="a wall that is not there"):
        with pytest.raises(waker.Error, match="a wall that is not there"):
            waker.train(Failing, tmp_path / "run", "toy", **SHORT)
    lines = []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(waker.Error, match="a wall that is not there"):
            waker.train(Failing, tmp_path / "other", "toy", **SHORT,
                        message=lambda warning, line: lines.append((warning, line)))
    assert any(warning and "a wall that is not there" in line for warning, line in lines)


class Unclosed(Corridor):
    """Cannot be closed."""

    episode_steps = 15

    def close(self):
        raise OSError("the window is stuck")


def test_one_that_cannot_be_closed_is_trained_in_and_told_of_once(tmp_path):
    lines = []
    assert waker.train(Unclosed, tmp_path / "run", "toy", **SHORT,
                       message=lambda warning, line: warning and lines.append(line)) == "finished"
    told = [line for line in lines if "OSError: the window is stuck" in line]
    assert len(told) == 1 and f"{__file__}:Unclosed raises" in told[0]
    assert len(waker.Run(tmp_path / "run").snapshots()) > 0


def test_what_cannot_make_environments_is_named(tmp_path):
    directory = tmp_path / "run"
    for wrong, reason in [(3, "not 3"), ([corridor], "not .*corridor"),
                          (Corridor(), "that is made already: each of several processes makes its own")]:
        with pytest.raises(TypeError, match=f"^env must be a name .* class or function .*{reason}"):
            waker.train(wrong, directory, "toy")
    with pytest.raises(waker.InputError, match="configs must say how large"):
        waker.train(corridor, directory)
    assert not directory.exists()


SCRIPT = """
import sys, waker
sys.path.insert(0, {folder!r})
from test_own_envs import SHORT, corridor
def make():
    return corridor()
{guard}waker.train(make, {run!r}, "toy", **{{**SHORT, "steps": {steps}}},
{space}            progress=lambda now: print(now.steps, flush=True))
"""


def write_script(folder, guard, steps):
    file = folder / "script.py"
    file.write_text(SCRIPT.format(folder=str(Path(__file__).parent), run=str(folder / "run"),
                                  guard=guard, space=" " * len(guard.splitlines()[-1])
                                  if guard else "", steps=steps))
    return file


def test_scripts_train_below_their_guard(tmp_path):
    file = write_script(tmp_path, 'if __name__ == "__main__": ', 120)
    subprocess.run([sys.executable, file], check=True, stdout=subprocess.DEVNULL)
    assert waker.Run(tmp_path / "run").config["domain"] == "corridor"
    file = write_script(tmp_path, "", 150)
    ended = subprocess.run([sys.executable, file], capture_output=True, text=True)
    assert ended.returncode and "put the call of train() below" in ended.stderr


def workers(parent):
    """Children of all threads of a process."""
    return [int(pid) for file in Path(f"/proc/{parent}/task").glob("*/children")
            for pid in file.read_text().split()]


def runs(pid):
    """Whether a process is there and not waiting to be reaped, which is its new parent's work."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGKILL])
def test_no_process_is_left_behind(tmp_path, end):
    file = write_script(tmp_path, 'if __name__ == "__main__": ', 10**6)
    # Started from a shell's background this process ignores interrupts, and so would its child.
    child = subprocess.Popen([sys.executable, file], stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL, text=True,
                             preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    try:
        for line in child.stdout:
            if int(line) > 30:
                break
        started = workers(child.pid)
        child.send_signal(end)
        child.stdout.read()
    finally:
        child.kill()
        child.wait()
    assert len(started) == TINY["env.count"]
    until = time.monotonic() + 120
    while any(map(runs, started)) and time.monotonic() < until:
        time.sleep(0.05)
    assert not list(filter(runs, started))


def test_the_worker_needs_the_package_not(tmp_path):
    """What the library starts is its own text, not a module that a folder could put in its place."""
    (tmp_path / "waker").mkdir()
    (tmp_path / "waker" / "__init__.py").write_text("raise SystemExit('wrong')")
    (tmp_path / "numpy.py").write_text("raise SystemExit('wrong')")
    subprocess.run([sys.executable, "-c", "import sys, os, waker; sys.path.insert(0, sys.argv[1])\n"
                    "import test_own_envs as own\n"
                    "os.chdir(sys.argv[2])\n"
                    "waker.train(own.corridor, 'run', 'toy', **{**own.SHORT, 'steps': 80})",
                    Path(__file__).parent, tmp_path], check=True)


@pytest.mark.parametrize("package", ["minigrid", "dm_control"])
def test_the_examples_run(tmp_path, package):
    pytest.importorskip(package)
    source = Path(os.environ.get("WAKER_SOURCE", Path(__file__).parents[2]))
    example = source / "examples" / "python" / f"{package}_env.py"
    waker.command("train", "--logdir", tmp_path / "run", "--configs", "toy", "--python",
                  f"{example}:make_env", "--steps", 300, "--quiet",
                  *(word for key, value in SHORT.items() if key != "steps"
                    for word in (f"--{key}", str(value).lower() if value is False else value)))
    assert waker.Run(tmp_path / "run").snapshots()
