"""WAKER's sampling distributions in NumPy, from random error estimates.

    python3 tools/reference/curriculum.py tests/curriculum/golden/curricula.safetensors

Per scenario: reports of (index of θ, error) with the number of steps collected after each, and the
distribution of waker-m and waker-r at the end. Scenario "combined" has two domains of different size. Written
from the paper's equations, not from the C code.
"""
import sys

import numpy as np
from safetensors.numpy import save_file

DR_SHARE, EMA, REDUCTION_EMA, START, EVERY = 0.2, 0.99, 0.95, 500, 100
# The error's EMA is faster than in training so that a short sequence moves it.


def softmax(x):
    e = np.exp(x - x.max())
    return e / e.sum()


def balanced(groups):
    """Weights that make every group count as many entries as the largest."""
    sizes = {g: (groups == g).sum() for g in set(groups)}
    return np.array([max(sizes.values()) / sizes[g] for g in groups])


def boltzmann(scores, groups, eta):
    return softmax(scores / eta + np.log(balanced(groups)))


def scenario(rng, count, group_of, dr, reports):
    error, reduction, before = {}, {}, None
    looks = 0
    log_index, log_error, log_steps = [], [], []
    for k in range(reports):
        steps = 2 * (k + 1)
        i = int(rng.integers(0, count - 2))  # the last two are never visited
        if k == reports - 20:
            i = count - 2  # the last but one only after the last look: it has an error and no reduction
        delta = np.float32(abs(rng.normal(1 + i / count, 0.3)))
        error[i] = EMA * error[i] + (1 - EMA) * float(delta) if i in error else float(delta)
        if steps >= START and (steps - START) % EVERY == 0:
            if before is not None:
                looks += 1
                for j in before:
                    reduction[j] = REDUCTION_EMA * reduction.get(j, 0.0) + (1 - REDUCTION_EMA) * (before[j] - error[j])
            before = dict(error)
        log_index.append(i), log_error.append(delta), log_steps.append(steps)

    out = {}
    # A θ without a reduction yet takes no part in waker-r.
    for name, table, norm, eta in (("waker-m", error, lambda x: (x - x.mean()) / (x.std() + 1e-6), 1.0),
                                   ("waker-r", reduction, lambda x: x / np.abs(x).mean(), 0.5)):
        known = np.array(sorted(table))
        groups, values = group_of[known], np.array([table[i] for i in known])
        scores = np.empty_like(values)
        for g in set(groups):
            scores[groups == g] = norm(values[groups == g])
        p = np.zeros(count)
        p[known] = boltzmann(scores, groups, eta)
        out[name] = DR_SHARE * dr + (1 - DR_SHARE) * p
    full = np.full(count, np.nan)
    for i, value in error.items():
        full[i] = value
    out.update(error=full, index=np.array(log_index, np.int32), delta=np.array(log_error, np.float32),
               steps=np.array(log_steps, np.int32))
    return out


def main():
    rng = np.random.default_rng(3)
    tensors = {}
    for k in range(5):
        data = scenario(rng, 12, np.zeros(12, int), np.full(12, 1 / 12), 600)
        tensors.update({f"plain{k}/{n}": v for n, v in data.items()})
    group_of = np.array([0] * 8 + [1] * 3)
    dr = np.array([0.5 / 8] * 8 + [0.5 / 3] * 3)
    data = scenario(rng, 11, group_of, dr, 600)
    tensors.update({f"combined/{n}": v for n, v in data.items()})
    save_file(tensors, sys.argv[1], {"about": "written by tools/reference/curriculum.py"})


main()
