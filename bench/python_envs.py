"""Environments of Python in waker beside gymnasium's AsyncVectorEnv: steps a second of the same environment.

usage: python3 bench/python_envs.py [--envs 8] [--threads 0] [--rounds 15] [--kind picture|numbers] [--work MICROSECONDS]
Both step the environments in processes of their own with shared memory. The contestants take turns in short rounds; medians
of the rounds' ratios, so that a busy machine slows both alike. --work keeps the environment busy in every step. Needs the
installed package and gymnasium.
"""
import argparse
import ctypes
import os
import statistics
import time

import gymnasium as gym
import numpy as np

STEPS = 200


class Trivial(gym.Env):
    action_space = gym.spaces.Discrete(4)
    episode_steps = 1000000

    def __init__(self):
        self.work = float(os.environ["TRIVIAL_WORK"]) * 1e-6
        picture = os.environ["TRIVIAL_KIND"] == "picture"
        self.observation_space = gym.spaces.Box(0, 255, (64, 64, 3), np.uint8) if picture else \
            gym.spaces.Box(-1, 1, (8,), np.float32)
        self.seen = np.zeros(self.observation_space.shape, self.observation_space.dtype)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self.seen, {}

    def step(self, action):
        until = time.perf_counter() + self.work
        while self.work and time.perf_counter() < until:
            pass
        self.seen.flat[0] = action
        return self.seen, 0.0, False, False, {}


class Ours:
    """The vector that training steps, through the library."""

    def __init__(self, envs, threads):
        import waker
        from waker import _library as c
        self.lib, self.domain = c.lib, waker.Domain.load(f"{os.path.realpath(__file__)}:Trivial")
        self.handle = c.create("the vector", c.lib.vec_create, c.lib.vec_destroy, self.domain._pointer, None, envs,
                               threads, keep=(self.domain,))
        self.actions, self.envs = np.zeros((envs, 4), "f"), envs
        theta = np.zeros(1)
        for i in range(envs):
            self.lib.vec_plan_reset(self.handle.pointer, i, theta.ctypes.data, 1, 0, i)
        self.step(np.zeros(envs, int))

    def step(self, chosen):
        self.actions[:] = 0
        self.actions[np.arange(self.envs), chosen] = 1
        self.lib.vec_step(self.handle.pointer, self.actions.ctypes.data)

    def close(self):
        self.handle.close()


class Gymnasiums:
    def __init__(self, envs):
        self.vector = gym.vector.AsyncVectorEnv([Trivial] * envs, shared_memory=True, copy=False)
        self.vector.reset(seed=0)

    def step(self, chosen):
        self.vector.step(chosen)

    def close(self):
        self.vector.close()


def seconds(function, actions):
    began = time.perf_counter()
    for row in actions:
        function(row)
    return (time.perf_counter() - began) / len(actions)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--envs", type=int, default=8)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--kind", choices=("picture", "numbers"), default="picture")
    parser.add_argument("--work", type=float, default=0)
    o = parser.parse_args()
    os.environ["TRIVIAL_KIND"], os.environ["TRIVIAL_WORK"] = o.kind, str(o.work)
    actions = np.random.default_rng(0).integers(0, 4, (STEPS, o.envs))
    theirs, ours = Gymnasiums(o.envs), Ours(o.envs, o.threads)
    rounds = [(seconds(ours.step, actions), seconds(theirs.step, actions)) for _ in range(o.rounds)]
    ratios = sorted(b / a for a, b in rounds)
    quarter = len(ratios) // 4
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores; {o.envs} environments, {o.kind}, {o.work:g} µs of work")
    for name, column in (("waker", 0), ("AsyncVectorEnv", 1)):
        print(f"  {name}: {o.envs / statistics.median(r[column] for r in rounds):.0f} steps a second")
    print(f"  speed of waker over AsyncVectorEnv: {statistics.median(ratios):.2f} (middle half of {len(ratios)} rounds: "
          f"{ratios[quarter]:.2f} to {ratios[-1 - quarter]:.2f})")
    ours.close()
    theirs.close()


if __name__ == "__main__":
    main()
