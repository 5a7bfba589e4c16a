"""Steps with pictures a second: waker's dmc-walker beside dm_control's own walker through Gymnasium (shimmy).

usage: MUJOCO_GL=osmesa python3 bench/python_dm_control.py [--rounds 10] [--steps 50]
Both move the Control Suite's walker by two control steps for each 64x64 picture, with the same actions, one environment
each, in turn; then waker's vector of 16 on all cores. Needs the installed package, gymnasium, dm_control and shimmy.
"""
import argparse
import statistics
import time

import gymnasium as gym
import numpy as np
import shimmy  # noqa: F401, registers dm_control/...
import waker  # noqa: F401

parser = argparse.ArgumentParser()
parser.add_argument("--rounds", type=int, default=10)
parser.add_argument("--steps", type=int, default=50)
o = parser.parse_args()


def rate(step):
    began = time.perf_counter()
    for i in range(o.steps):
        step(i)
    return o.steps / (time.perf_counter() - began)


theirs = gym.make("dm_control/walker-walk-v0", render_mode="rgb_array", render_kwargs={"height": 64, "width": 64})
ours = gym.make("waker/DmcWalker-v0", task="walk")
many = gym.make_vec("waker/DmcWalker-v0", num_envs=16, task="walk")
actions = np.random.default_rng(0).uniform(-1, 1, (o.steps, 6)).astype("f")


def their_step(i):
    theirs.step(actions[i])
    theirs.step(actions[i])
    return theirs.render()


many.reset(seed=0)
rates = []
for k in range(o.rounds):
    theirs.reset(seed=k)
    ours.reset(seed=k)
    rates.append((rate(lambda i: ours.step(actions[i])), rate(their_step),
                  16 * rate(lambda i: many.step(np.tile(actions[i], (16, 1))))))
middle = [statistics.median(column) for column in zip(*rates)]
print(f"dm_control through shimmy {middle[1]:.0f} steps with pictures a second, waker {middle[0]:.0f}, waker's vector "
      f"of 16 {middle[2]:.0f}")
theirs.close()
print(f"median ratio of {o.rounds} rounds: one environment {statistics.median(a / b for a, b, _ in rates):.1f}, "
      f"vector {statistics.median(v / b for _, b, v in rates):.1f}")
