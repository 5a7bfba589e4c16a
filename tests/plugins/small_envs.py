"""Small environments in Gymnasium's manner without Gymnasium, for the tests of environments of
Python: a point walks in a square. Some of them break in the ways that environments do."""

import os
import signal
import subprocess
import sys
import time

import numpy as np

if "SMALL_ENVS_LOADED" in os.environ:
    open(os.environ["SMALL_ENVS_LOADED"], "w").close()  # says that this file was run


class Box:
    def __init__(self, low, high, shape=(), dtype=np.float32):
        self.shape, self.dtype = shape, np.dtype(dtype)
        self.low, self.high = np.full(shape, low, dtype), np.full(shape, high, dtype)


class Discrete:
    def __init__(self, n, start=0):
        self.n, self.start, self.shape = n, start, ()


class Dict:
    def __init__(self, spaces):
        self.spaces = spaces


class Walk:
    """Four actions move a white point; θ is its speed and the colour of the ground."""

    observation_space = Box(0, 255, (32, 48, 3), np.uint8)
    action_space = Discrete(4)
    theta_space = Dict({"speed": Box(1, 3), "ground": Discrete(3)})
    theta_grid = {"speed": 3}
    reward_names = ("east", "south")
    episode_steps = 12
    ends_early = False

    def reset(self, *, seed=None, options=None):
        self.random = np.random.default_rng(seed)
        theta = (options or {}).get("theta", {"speed": np.float32(1), "ground": 0})
        assert isinstance(theta["ground"], int) and theta["speed"].shape == ()
        self.speed, self.ground = float(theta["speed"]), theta["ground"]
        self.place = self.random.uniform(8, 24, 2)
        self.steps = 0
        return self.observe(), {}

    def step(self, action):
        move = np.array(((0, 1), (1, 0), (0, -1), (-1, 0))[action]) * self.speed
        self.place = np.clip(self.place + move, 0, 31)
        self.steps += 1
        rewards = {"south": self.place[0] / 31, "east": self.place[1] / 47}
        return self.observe(), 0.0, self.terminated(), False, {"rewards": rewards}

    def terminated(self):
        return False

    def observe(self):
        picture = np.zeros((32, 48, 3), np.uint8)
        picture[..., self.ground] = 90
        row, column = self.place.astype(int)
        picture[max(0, row - 2):row + 3, max(0, column - 2):column + 3] = 255
        return picture

    def close(self):
        if "SMALL_ENVS_CLOSED" in os.environ:
            with open(os.environ["SMALL_ENVS_CLOSED"], "a") as file:
                file.write("closed\n")


class Numbers(Walk):
    """The same, seen as numbers, moved by forces, without θ, and over when it leaves the middle."""

    observation_space = Dict({"place": Box(-1, 1, (2,)), "half": Discrete(2)})
    action_space = Box(-2, 2, (2,))
    theta_space = theta_grid = reward_names = None
    ends_early = True

    def step(self, action):
        assert action.shape == (2,) and action.dtype == np.float32 and abs(action).max() <= 2
        self.place = np.clip(self.place + action, 0, 31)
        self.steps += 1
        truncated = self.steps == 9  # before the time limit
        return self.observe(), float(self.place[0]), self.terminated(), truncated, {}

    def terminated(self):
        return bool(abs(self.place - 16).max() > 13)

    def observe(self):
        return {"half": int(self.place[0] > 16), "place": (self.place / 16 - 1).astype(np.float32)}


class Saved(Walk):
    """One whose state can be saved."""

    state_bytes = 100

    def save_state(self):
        if "SMALL_ENVS_FAULT" in os.environ and os.path.exists(os.environ["SMALL_ENVS_FAULT"]):
            raise ArithmeticError("the film is full")
        return np.array([*self.place, self.steps, self.speed, self.ground]).tobytes()

    def load_state(self, state):
        *self.place, steps, self.speed, ground = np.frombuffer(state)
        self.place, self.steps, self.ground = np.array(self.place), int(steps), int(ground)
        return self.observe()


class Broken(Walk):
    """Breaks in step 5 in the way that the file SMALL_ENVS_FAULT says: once, or "always"."""

    def step(self, action):
        fault = self.fault() if self.steps == 5 else ""
        if fault == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if fault == "hang":
            time.sleep(1000)
        if fault == "exit":
            os._exit(7)
        if fault == "raise":
            raise ArithmeticError("the point fell off")
        if fault == "shape":
            return np.zeros((5, 5, 3), np.uint8), 0.0, False, False, {}
        if fault == "dtype":
            return self.observe().astype(float), 0.0, False, False, {}
        if fault == "tuple":
            return self.observe(), 0.0, False, {}
        if fault == "rewards":
            return self.observe(), 0.0, False, False, {"rewards": {"east": 1}}
        if fault == "rewards-array":
            return self.observe(), 0.0, False, False, {"rewards": {"east": np.zeros(3)}}
        if fault == "rewards-none":
            return self.observe(), 0.0, False, False, {"rewards": {"east": None}}
        return super().step(action)

    def fault(self):
        path = os.environ["SMALL_ENVS_FAULT"]
        try:
            with open(path) as file:
                fault, _, how_often = file.read().strip().partition(" ")
            if how_often != "always":
                os.unlink(path)  # one process alone does it
        except FileNotFoundError:
            return ""
        return fault


class Raises(Walk):
    """Cannot move at all."""

    def step(self, action):
        raise ArithmeticError("the point is stuck")


class Unsaved(Saved):
    """Whose state cannot be saved after all."""

    def save_state(self):
        raise ArithmeticError("the film is full")


class Slow(Broken):
    """The same under another name."""


# Starts another process, leaves its group and session, writes its number down, and stays.
DAEMON = """
import os, sys, time
os.setsid()
if os.fork():
    os._exit(0)
with open(sys.argv[1], "a") as file:
    file.write(f"{os.getpid()}\\n")
time.sleep(1000)
"""


class Detached(Broken):
    """Leaves a process behind that is in no group of ours."""

    def __init__(self):
        subprocess.run([sys.executable, "-c", DAEMON, os.environ["SMALL_ENVS_DETACHED"]])


class Unclosed(Walk):
    """Cannot be closed."""

    def close(self):
        raise OSError("the window is stuck")


def broken_pipe():
    raise BrokenPipeError("the simulator has gone")


def connection_reset():
    raise ConnectionResetError("the simulator hung up")


def late():
    time.sleep(11)
    return Walk()


def no_length():
    env = Walk()
    env.episode_steps = None
    return env


def no_bounds():
    env = Numbers()
    env.action_space = Box(-np.inf, np.inf, (2,))
    return env


def sees(space):
    env = Walk()
    env.observation_space = space
    return env


def grey_without_channel():
    return sees(Box(0, 255, (64, 64), np.uint8))


def channels_first():
    return sees(Dict({"camera": Box(0, 255, (3, 32, 32), np.uint8)}))


def floats_as_image():
    return sees(Box(0, 1, (32, 32, 3), np.float32))


def table_of_floats():
    return sees(Box(0, 1, (20, 20), np.float32))


def many_numbers():
    return sees(Dict({"few": Box(0, 1, (4,)), "map": Box(0, 1, (128, 128))}))


def task_called_explore():
    env = Walk()
    env.reward_names = ("east", "explore")
    return env


def raises():
    raise ValueError("no such arena")


def nothing():
    return None
