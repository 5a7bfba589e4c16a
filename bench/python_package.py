"""What Python costs: stepping and acting through the package beside the C calls, import, size.

usage: python3 bench/python_package.py [--domain terrain-walker] [--envs 64] [--rounds 15] [--run DIR] [--task TASK]
The contestants take turns in short rounds; medians of the rounds' ratios, so that a busy machine slows all alike.
`waker bench env` runs as a program of its own in turn with them. Without --run a policy of the size of the preset `small`
is trained for a moment. Needs the installed package and gymnasium.
"""
import argparse
import importlib.metadata
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import gymnasium as gym
import numpy as np
import waker
from waker._library import lib

STEPS = 50  # of one world, as `waker bench env`


def seconds(function, repeat):
    """Clock and processor time of one call."""
    began = time.perf_counter(), time.process_time()
    for i in range(repeat):
        function(i)
    return (time.perf_counter() - began[0]) / repeat, (time.process_time() - began[1]) / repeat


def ratio_line(what, ratios):
    ratios = sorted(ratios)
    middle = statistics.median(ratios)
    quarter = len(ratios) // 4
    print(f"{what}: {middle:.3f} (middle half of {len(ratios)} rounds: {ratios[quarter]:.3f} to "
          f"{ratios[-1 - quarter]:.3f})", flush=True)


def bench_env(domain, envs, rounds):
    name = next(name for name, d in waker._registration.DOMAINS.items() if d == domain)
    ours = gym.make_vec(f"waker/{name}-v0", num_envs=envs)
    actions = np.random.default_rng(0).uniform(-1, 1, (STEPS, *ours.action_space.shape)).astype("f")
    ours.reset(seed=0)
    python, c_calls, program = [], [], []
    pointer = ours._handle.pointer

    def reset(k):
        """One of the three groups of worlds that a short `waker bench env` visits."""
        ours._seeds = [0] * envs
        ours._episodes = [(4 + k % 3) * envs + i for i in range(envs)]
        ours.reset()

    for k in range(rounds):
        reset(k)
        python.append(seconds(lambda i: ours.step(actions[i]), STEPS))
        reset(k)
        c_calls.append(seconds(lambda i: lib.vec_step(pointer, actions[i].ctypes.data), STEPS))
        said = json.loads(waker.command("bench", "env", "--domain", domain, "--envs", envs,
                                        "--seconds", 1, "--json"))
        program.append(envs / said[0]["vector_image_steps_per_s"])
    print(f"{domain}, {envs} environments: {envs / statistics.median(p[0] for p in python):.0f} steps "
          "with pictures a second from Python")
    print("speed of env.step over")
    ratio_line("  wk_vec_step in the same process", [c[0] / p[0] for p, c in zip(python, c_calls)])
    ratio_line("    by processor time", [c[1] / p[1] for p, c in zip(python, c_calls)])
    ratio_line("  `waker bench env`", [c / p[0] for p, c in zip(python, program)])


def bench_policy(run, task, rounds):
    policy = waker.Policy(run, task, threads=1, device="cpu")
    image = np.random.default_rng(0).integers(0, 256, (64, 64, 3), np.uint8)
    state, actions, flags = policy.reset(), np.empty((1, policy.domain.action_size), "f"), np.zeros(1, "B")
    python, c_calls = [], []

    def act(_):
        nonlocal state
        _, state = policy.act(image, state)

    for _ in range(4 * rounds):
        python.append(seconds(act, 100))
        pointer = policy._handle.pointer
        c_calls.append(seconds(lambda i: lib.policy_act(
            pointer, image.ctypes.data, flags.ctypes.data, actions.ctypes.data), 100))
        state = policy.reset()
    print(f"Policy.act, one environment: {statistics.median(p[0] for p in python) * 1e6:.0f} µs")
    print("time of Policy.act over")
    ratio_line("  wk_policy_act", [p[0] / c[0] for p, c in zip(python, c_calls)])
    ratio_line("    by processor time", [p[1] / c[1] for p, c in zip(python, c_calls)])


def bench_import():
    code = "import time; b = time.perf_counter(); import waker; print(time.perf_counter() - b)"
    full = code.replace("import waker", "import waker; waker.domains()")
    for what, text in (("import waker", code), ("and the library with numpy loaded", full)):
        times = [float(subprocess.run([sys.executable, "-c", text], capture_output=True, text=True,
                                      check=True).stdout) for _ in range(9)]
        print(f"{what}: {statistics.median(times) * 1e3:.0f} ms (fastest {min(times) * 1e3:.0f})")


def installed_size():
    files = importlib.metadata.files("waker") or []
    print(f"installed: {sum(os.path.getsize(f.locate()) for f in files if f.locate().exists()) / 1e6:.1f} MB")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--domain", default="terrain-walker")
    parser.add_argument("--envs", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--run")
    parser.add_argument("--task", default="walk")
    o = parser.parse_args()
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    bench_import()
    installed_size()
    bench_env(o.domain, o.envs, o.rounds)
    with tempfile.TemporaryDirectory() as folder:
        run = o.run
        if run is None:
            run = os.path.join(folder, "run")
            waker.train(o.domain, run, "small", steps=1010, prefill=1000, tasks="all", batch=2, length=6,
                        settings={"env.count": 2, "replay.capacity": 4000, "log.tensorboard": False},
                        device="cpu", progress=False)
        bench_policy(run, o.task, o.rounds)


if __name__ == "__main__":
    main()
