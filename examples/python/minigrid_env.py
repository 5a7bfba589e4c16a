"""MiniGrid in waker: a room whose size and number of obstacles are θ.

    pip install minigrid
    waker train --python examples/python/minigrid_env.py:make_env --logdir runs/minigrid \\
        --configs quick --tasks all
"""

import gymnasium as gym
from minigrid.envs.dynamicobstacles import DynamicObstaclesEnv
from minigrid.wrappers import ImgObsWrapper, RGBImgPartialObsWrapper

STEPS = 60


class Room(gym.Env):
    """The agent sees the 7 x 7 squares before it as a picture of 56 x 56 pixels, which waker
    enlarges to 64 x 64."""

    theta_space = gym.spaces.Dict({"size": gym.spaces.Discrete(4, start=5),
                                   "obstacles": gym.spaces.Discrete(3, start=1)})
    episode_steps = STEPS
    action_space = gym.spaces.Discrete(3)  # left, right, forward: the others do nothing here
    observation_space = gym.spaces.Box(0, 255, (56, 56, 3), "uint8")

    def reset(self, *, seed=None, options=None):
        theta = (options or {}).get("theta", {"size": 6, "obstacles": 1})
        room = DynamicObstaclesEnv(size=theta["size"], n_obstacles=theta["obstacles"],
                                   max_steps=STEPS)
        self.room = ImgObsWrapper(RGBImgPartialObsWrapper(room, tile_size=8))
        return self.room.reset(seed=seed)

    def step(self, action):
        return self.room.step(action)


def make_env():
    return Room()
