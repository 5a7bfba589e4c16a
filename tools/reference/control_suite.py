"""Random states of the control suite's walker and hopper with the rewards dm_control gives for them.

    python3 tools/reference/control_suite.py tests/env/golden/control_suite.safetensors

Needs dm_control (1.0.50), mujoco (3.17), numpy and safetensors. Per robot: states and controls, the reward of each
task in that state, where the camera and the light stand, the acceleration without contacts and joint limits, and the
state two control steps later with the rewards summed over them. Nothing here is written from the C code.
"""
import sys

import numpy as np
from dm_control import suite
from safetensors.numpy import save_file

STATES = 64
TASKS = {"walker": ["stand", "walk", "run"], "hopper": ["stand", "hop"]}


def draw_state(rng, physics, number):
    """An initial state of the suite; every second one is bent towards the upright rest pose, all are in motion."""
    limited = physics.model.jnt_limited == 1
    low, high = physics.model.jnt_range.T
    pose = np.where(limited, rng.uniform(low, high), rng.uniform(-np.pi, np.pi, len(low)))
    if number % 2:
        pose = 0.1 * pose
    with physics.reset_context():
        physics.data.qpos[:] = pose
        physics.named.data.qpos["rootx"] = rng.uniform(-3, 30)
        physics.named.data.qpos["rootz"] = rng.uniform(-0.9, 0.4)
        physics.data.qvel[:] = rng.normal(0, 1, physics.model.nv)
        physics.named.data.qvel["rootx"] = rng.uniform(-2, 10)
        physics.data.ctrl[:] = rng.uniform(-1, 1, physics.model.nu)


def control_step(env, state, control):
    """The reward of one control step of `env` from `state`."""
    env.physics.set_state(state)
    env.physics.forward()
    return env.step(control).reward


def examine(name, rng):
    envs = [suite.load(name, task) for task in TASKS[name]]
    for env in envs:
        env.reset()
    physics = envs[0].physics
    rows = []
    for number in range(STATES):
        draw_state(rng, physics, number)
        physics.forward()  # leaving the reset computed it without actuation
        state, control = physics.get_state().copy(), physics.control().copy()
        row = {"qpos": physics.data.qpos.copy(), "qvel": physics.data.qvel.copy(), "ctrl": control,
               "camera": physics.data.cam_xpos[0].copy(), "light": physics.data.light_xpos[0].copy(),
               "acceleration": physics.data.qacc_smooth.copy()}
        rewards = []
        for env in envs:
            env.physics.set_state(state)
            env.physics.set_control(control)
            env.physics.forward()
            rewards.append(env.task.get_reward(env.physics))
        row["rewards"] = np.array(rewards)
        sums = []
        for env in envs:
            sums.append(control_step(env, state, control) + env.step(control).reward)
        row["later_rewards"] = np.array(sums)
        row["later_qpos"] = physics.data.qpos.copy()
        row["later_qvel"] = physics.data.qvel.copy()
        rows.append(row)
    return {f"{name}/{key}": np.stack([row[key] for row in rows]).astype(np.float64) for key in rows[0]}


def main():
    rng = np.random.default_rng(17)
    tensors = {**examine("walker", rng), **examine("hopper", rng)}
    for name in TASKS:
        rewards = tensors[f"{name}/rewards"]
        print(name, "rewards from", rewards.min(axis=0), "to", rewards.max(axis=0))
    save_file(tensors, sys.argv[1], {"about": "written by tools/reference/control_suite.py"})


main()
