"""waker's vector of environments for the learners of Stable-Baselines3, which expect a VecEnv: one C
call steps all environments, where SubprocVecEnv starts a process for each.

    pip install stable-baselines3
    python3 examples/python/sb3_vector.py
"""

import gymnasium as gym
import numpy as np
from stable_baselines3.common.vec_env import VecEnv


class WakerVecEnv(VecEnv):
    """Begins the next episode in the step that ends one, as learners of Stable-Baselines3 expect."""

    def __init__(self, envs):
        self.envs = envs
        super().__init__(envs.num_envs, envs.single_observation_space, envs.single_action_space)

    def reset(self):
        seed, self._seeds = self._seeds[0], [None] * self.num_envs
        return self.envs.reset(seed=seed)[0].copy()

    def step_async(self, actions):
        self.actions = actions

    def step_wait(self):
        observations, rewards, terminated, truncated, _ = self.envs.step(self.actions)
        over, infos = terminated | truncated, [{} for _ in range(self.num_envs)]
        for i in np.flatnonzero(over):
            infos[i] = {"terminal_observation": observations[i].copy(),
                        "TimeLimit.truncated": bool(truncated[i])}
        if over.any():
            observations, _ = self.envs.reset(options={"reset_mask": over})
        return observations.copy(), rewards, over, infos

    def close(self):
        self.envs.close()

    def get_attr(self, attr_name, indices=None):
        return [getattr(self.envs, attr_name)] * self.num_envs

    def set_attr(self, attr_name, value, indices=None):
        setattr(self.envs, attr_name, value)

    def env_method(self, method_name, *arguments, indices=None, **keywords):
        return [getattr(self.envs, method_name)(*arguments, **keywords)] * self.num_envs

    def env_is_wrapped(self, wrapper_class, indices=None):
        return [False] * self.num_envs


if __name__ == "__main__":
    from stable_baselines3 import PPO
    from stable_baselines3.common.vec_env import VecMonitor

    envs = VecMonitor(WakerVecEnv(gym.make_vec("waker:waker/Toy-v0", num_envs=16, task="west")))
    PPO("CnnPolicy", envs, n_steps=64, batch_size=128, verbose=1).learn(20_000)
