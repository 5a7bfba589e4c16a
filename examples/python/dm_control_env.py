"""The Control Suite's cheetah in waker, seen as numbers; θ is the strength of gravity.

    pip install dm_control gymnasium
    waker train --python examples/python/dm_control_env.py:make_env --logdir runs/cheetah \\
        --configs quick --tasks all
"""

import os

os.environ.setdefault("MUJOCO_GL", "disable")  # nothing is drawn

import gymnasium as gym
import numpy as np
from dm_control import suite

REPEAT = 4


class Cheetah(gym.Env):
    theta_space = gym.spaces.Dict({"gravity": gym.spaces.Box(5.0, 15.0, ())})
    theta_grid = {"gravity": 5}   # 5, 7.5, 10, 12.5, 15
    hardest_theta = [15.0]
    reward_names = ("run", "back")
    ends_early = False            # the suite's tasks end by time alone
    action_repeat = REPEAT
    episode_steps = 1000 // REPEAT
    metadata = {"render_fps": 25}

    def __init__(self):
        self.suite = suite.load("cheetah", "run")
        action = self.suite.action_spec()
        self.action_space = gym.spaces.Box(action.minimum.astype(np.float32),
                                           action.maximum.astype(np.float32))
        self.observation_space = gym.spaces.Dict({
            name: gym.spaces.Box(-np.inf, np.inf, spec.shape)
            for name, spec in self.suite.observation_spec().items()})

    def reset(self, *, seed=None, options=None):
        self.suite.task._random = np.random.RandomState(seed)
        gravity = (options or {}).get("theta", {"gravity": 9.81})["gravity"]
        self.suite.physics.model.opt.gravity[2] = -float(gravity)
        return self.observe(self.suite.reset()), {}

    def step(self, action):
        for _ in range(REPEAT):
            now = self.suite.step(action)
        speed = self.suite.physics.speed()
        rewards = {"run": np.clip(speed / 10, 0, 1), "back": np.clip(-speed / 10, 0, 1)}
        return self.observe(now), rewards["run"], False, now.last(), {"rewards": rewards}

    def observe(self, now):
        # Speeds reach 20; numbers of the order of 1 are learned best.
        scale = {"position": 1, "velocity": 0.1}
        return {name: (value * scale[name]).astype(np.float32)
                for name, value in now.observation.items()}


def make_env():
    return Cheetah()
