#!/usr/bin/env python3
"""Writes directories that look like finished runs, with made-up results: for tests and timings of `waker report`.

    tools/synthetic_runs.py OUT [--seeds 5] [--domains ...] [--curricula ...] [--explorations p2e] [--steps 15]
                            [--lines 1480] [--waker build/waker]

One run per domain x exploration x curriculum x seed in OUT/DOMAIN/EXPLORATION-CURRICULUM/SEED: config.yaml, eval/*.json for every
snapshot, eval/model-error-*.json, metrics.jsonl. With --waker, every run is trained for a few steps to get a
checkpoint. The same arguments give the same bytes.
"""
import argparse
import json
import os
import random
import shutil
import subprocess

from config_defaults import config_defaults, run_format

DOMAINS = {  # tasks, score, out-of-distribution cases with their episodes, parameters (least, largest)
    "terrain-walker": (["stand", "walk", "run", "flip", "walk-backward"], "return", {"steep": 20, "stairs": 20}, [(0, 1), (.2, 2)]),
    "terrain-hopper": (["hop", "stand", "hop-backward"], "return", {"steep": 20, "stairs": 20}, [(0, 1), (.2, 2)]),
    "clean-up": (["sort", "sort-reverse", "push"], "completion", {"extra-block": 24}, [(0, 4)] * 3),
    "car-clean-up": (["sort", "sort-reverse", "push"], "completion", {"extra-block": 24}, [(0, 4)] * 3),
    "toy": (["west", "east"], "return", {"storm": 10}, [(0, 1)]),
}
CURRICULA = ["waker-m", "waker-r", "dr", "ge", "he-oracle", "rw-oracle"]
FRACTIONS = [0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5]
TINY = ("--steps 300 --prefill 100 --env.count 2 --env.threads 1 --train_every 100 --replay.capacity 2000 --encoder.depth 1 "
        "--rssm.deter 4 --rssm.hidden 4 --rssm.stoch 2 --rssm.classes 2 --units 4 --layers 1 --ensemble.size 2 --batch 2 "
        "--length 4 --horizon 2 --log.images_every 0 --log.tensorboard false --quiet").split()


def spread(values):
    n, ordered = len(values), sorted(values)
    mean = sum(values) / n
    cvar = {}
    for f in FRACTIONS:
        tail = max(1, -(-round(f * n * 1000) // 1000))
        cvar[str(f)] = sum(ordered[:tail]) / tail
    return {"mean": mean, "sd": (sum((v - mean) ** 2 for v in values) / n) ** 0.5, "min": ordered[0], "max": ordered[-1],
            "cvar": cvar}


def evaluation(rng, head, domain, skill, step):
    tasks, score, cases, _ = DOMAINS[domain]
    out = dict(head, format="waker-eval-1", step=step, policy="adapted", envs=100, eval_seed=0, tasks=[])
    for number, task in enumerate(tasks):
        entries = []
        for case, episodes in {"dr": 100, **cases}.items():
            level = max(0.02, min(0.98, skill * (1 - 0.1 * number) - (0.2 if case != "dr" else 0)))
            completions = [min(1.0, max(0.0, rng.gauss(level, 0.15))) for _ in range(episodes)]
            returns = [800 * c for c in completions]
            entry = {"case": case, "episodes": episodes, "return": spread(returns)}
            entry["discounted_return"] = sum(returns) / episodes / 8
            entry["promised_value"] = entry["discounted_return"] * (1 + 0.1 * number)
            if score == "completion":
                entry["completion"] = spread(completions)
                entry["completions"] = completions
            entries.append(dict(entry, returns=returns))
        out["tasks"].append({"task": task, "score": score, "cases": entries})
    return out


def model_error(rng, head, domain, skill, step):
    tasks, _, _, params = DOMAINS[domain]
    measures = []
    for policy in ["random", tasks[0]]:
        errors = [rng.lognormvariate(-6 - skill, 0.4) for _ in range(200)]
        estimates = [e * rng.lognormvariate(5, 0.3) for e in errors]
        measures.append({"policy": policy, "episodes": 200, "mean": sum(errors) / 200, "cvar_0.1": sum(sorted(errors)[-20:]) / 20,
                         "estimate_mean": sum(estimates) / 200, "rank_correlation": rng.uniform(0.3, 0.9), "errors": errors,
                         "estimates": estimates, "theta": [[rng.uniform(a, b) for a, b in params] for _ in errors]})
    return dict(head, format="waker-model-error-1", step=step, measures=measures)


def write_json(path, value):
    with open(path, "w") as f:
        json.dump(value, f)


def write_log(rng, path, domain, curriculum, last, lines):
    params = DOMAINS[domain][3]
    drift = 0.0 if curriculum == "dr" else 0.35
    with open(path, "w") as f:
        for i in range(1, lines + 1):
            share = i / lines
            line = {"step": 2 * last * i // lines, "agent_step": last * i // lines, "train_total_steps": last * i // lines}
            for k in range(30):
                line[f"train/metric_{k}"] = rng.random() * 10 ** (k % 5)
            line["train_env/episodes"] = rng.randrange(10, 100)
            line["train_indicator_distance"] = 10 * share + rng.random()
            for k, (low, high) in enumerate(params):
                line[f"train_env/env_param_{k}"] = low + (high - low) * (0.5 + drift * share + rng.gauss(0, 0.05))
            f.write(json.dumps(line) + "\n")


def configuration(values):
    """A config.yaml: the defaults with other values for some keys."""
    keys = "".join(f"{key}: '{value}'\n" for key, value in {**config_defaults(), **values}.items())
    return f"format: {run_format()}\n{keys}"


def train_a_little(waker, folder, domain, exploration, curriculum, seed):
    subprocess.run([waker, "train", "--logdir", folder, "--configs", "defaults", "--domain", domain, "--curriculum.rule", curriculum, "--exploration",
                    exploration, "--seed", str(seed), *TINY], check=True)
    for name in ("replay", "snapshots"):
        shutil.rmtree(f"{folder}/{name}")


def write_run(args, domain, exploration, c, seed):
    curriculum = args.curricula[c]
    rng = random.Random(f"{domain}/{exploration}/{curriculum}/{seed}")
    name = "plan2explore" if exploration == "p2e" else exploration
    run = f"{args.out}/{domain}/{exploration}-{curriculum}/{seed}"
    os.makedirs(f"{run}/eval", exist_ok=True)
    if args.waker:
        train_a_little(args.waker, run, domain, name, curriculum, seed)
    else:
        with open(f"{run}/config.yaml", "w") as f:
            f.write(configuration({"seed": seed, "domain": domain, "curriculum.rule": curriculum, "exploration": name}))
    head = {"domain": domain, "curriculum": curriculum, "exploration": name, "seed": seed}
    for k in range(1, args.steps + 1):
        step, skill = 500000 * k, (0.9 - 0.08 * c) * (1 - 0.6 ** k) + rng.gauss(0, 0.03)
        write_json(f"{run}/eval/adapted-{step:012d}.json", evaluation(rng, head, domain, skill, step))
    last = 500000 * args.steps
    write_json(f"{run}/eval/model-error-{last:012d}.json", model_error(rng, head, domain, 0.9 - 0.1 * c, last))
    write_log(rng, f"{run}/metrics.jsonl", domain, curriculum, last, args.lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--domains", nargs="+", choices=DOMAINS, default=[d for d in DOMAINS if d != "toy"])
    parser.add_argument("--curricula", nargs="+", default=CURRICULA)
    parser.add_argument("--explorations", nargs="+", default=["p2e"])
    parser.add_argument("--steps", type=int, default=15, help="snapshots, every 500000 steps")
    parser.add_argument("--lines", type=int, default=1480, help="of metrics.jsonl")
    parser.add_argument("--waker", help="the program, to train a little for checkpoints")
    args = parser.parse_args()
    for domain in args.domains:
        for exploration in args.explorations:
            for c in range(len(args.curricula)):
                for seed in range(args.seeds):
                    write_run(args, domain, exploration, c, seed)


if __name__ == "__main__":
    main()
