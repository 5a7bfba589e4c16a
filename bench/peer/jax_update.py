"""The time of waker's update in JAX: the same networks, losses and sizes, the whole update under one jit.

usage: python3 bench/peer/jax_update.py [--preset paper|small|quick] [--tasks N] [--updates N]
                                        [--precision bf16|f32] [--actions N] [--population N] [--set NAME=NUMBER] [--json]
example: python3 bench/peer/jax_update.py --preset paper --tasks 5
         python3 bench/peer/jax_update.py --preset small --population 10

With --population the same update is under vmap over runs: weights, optimiser states, batches and keys have an axis of
runs before all others, and the losses printed are those of the first run, which are what it has alone.

It prints what bench_update prints: median and least time of an update after a warm-up, device memory, and the losses of
the first and the last update on a fixed batch. tests/bench compares five of its updates with the golden ones.

JAX gets the easier conditions: its batch lies on the device, and an update is started before the losses of the one before
are waited for, so that starting one costs no time.

What was chosen to make it fast (figures are in docs/performance.md):
- one jit for everything, state donated; task policies and ensemble members side by side by vmap;
- float32 weights, products and convolutions (cuDNN, NHWC) of bf16 operands with float32 sums; float32 gradients of weights;
- lax.scan over the recurrence and over imagination. What images and actions add, and all draws, are made before it; weights'
  gradients are products over all steps after it; its own gradient keeps results of products and computes the rest again;
- transposed convolutions as convolutions with four times the channels; products padded to multiples of 8 terms;
- expressions over small axes (members, lambda-returns) written out, so that they are one kernel.
"""
import argparse
import json
import statistics
import sys
import time

import settings as presets


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--preset', default='paper', help='sizes: paper (the default), small or quick')
    parser.add_argument('--tasks', type=int, default=0, help='task policies trained alongside (default 0)')
    parser.add_argument('--updates', type=int, default=30, help='updates to time (default 30)')
    parser.add_argument('--precision', choices=('bf16', 'f32'), default='bf16', help='of products (default bf16)')
    parser.add_argument('--actions', type=int, default=6, help='numbers in an action (default 6)')
    parser.add_argument('--population', type=int, default=1, help='runs that are updated together (default 1)')
    parser.add_argument('--set', action='append', default=[], metavar='NAME=NUMBER', help='another size or rate')
    parser.add_argument('--unroll', type=int, default=1, help='steps of a scan in one body (default 1)')
    parser.add_argument('--json', action='store_true', help='print JSON')
    options = parser.parse_args()
    if options.population < 1:
        parser.error('a population has at least one run')
    try:
        changes = dict(change.split('=', 1) for change in options.set)
        return options, presets.load(options.preset, {**changes, 'tasks': options.tasks, 'actions': options.actions})
    except ValueError as error:
        parser.error(str(error))


options, settings = parse()
try:
    import jax
except ImportError:
    sys.exit(f'jax_update.py: {sys.executable} has no JAX; install it there (pip install "jax[cuda13]", or jax for the CPU) '
             'or run another python')
import update as learner

WARM_UP = 3


def over_runs(function):
    """The function for all runs: as it is for one, else under vmap over a leading axis of every argument."""
    return function if options.population == 1 else jax.vmap(function)


def compile_update():
    """The compiled update, its first state, its batch and the seeds of its draws."""
    def step(state, batch, seed):
        noise = learner.make_noise(jax.random.fold_in(jax.random.key(seed), state['count']), settings)
        return make(state, batch, noise)

    def prepare(seed):
        return (learner.make_state(learner.make_params(jax.random.key(seed), settings)),
                learner.make_batch(jax.random.key(seed + 1), settings), seed + 2)

    make = learner.make_update(settings, options.precision, unroll=options.unroll)
    seeds = 3 * jax.numpy.arange(options.population)
    arguments = jax.jit(over_runs(prepare))(seeds if options.population > 1 else seeds[0])
    return jax.jit(over_runs(step), donate_argnums=0).lower(*arguments).compile(), *arguments


def time_updates(step, state, batch, seed):
    """Seconds between the ends of updates, each started while the one before runs, and figures of the first and last."""
    ends, first = [], None
    state, running = step(state, batch, seed)
    for _ in range(WARM_UP + options.updates):
        state, following = step(state, batch, seed)
        figures = jax.device_get(running['loss'])
        ends.append(time.perf_counter())
        first, running = first or figures, following
    jax.block_until_ready(state)
    return [b - a for a, b in zip(ends[WARM_UP - 1:], ends[WARM_UP:])], first, figures


def in_use():
    """The most bytes that were in use on the device; 0 where JAX does not count."""
    return (jax.local_devices()[0].memory_stats() or {}).get('peak_bytes_in_use', 0)


def describe(losses):
    """Those of the first run."""
    first = losses if options.population == 1 else {name: loss[0] for name, loss in losses.items()}
    return ', '.join(f'{name} {float(loss.mean()):g}' for name, loss in first.items())


def measure():
    start = time.perf_counter()
    step, state, batch, seed = compile_update()
    set_up = time.perf_counter() - start
    state_bytes = sum(x.nbytes for x in jax.tree.leaves(state))
    seconds, first, last = time_updates(step, state, batch, seed)
    median = 1e3 * statistics.median(seconds)
    return {'preset': options.preset, 'tasks': options.tasks, 'actions': options.actions,
            'device': jax.local_devices()[0].device_kind, 'platform': jax.default_backend(), 'version': jax.__version__,
            'precision': options.precision, 'iters': options.updates, 'population': options.population,
            'update': {'median_ms': median, 'least_ms': 1e3 * min(seconds)}, 'per_run_ms': median / options.population,
            'state_bytes': state_bytes, 'planned_bytes': step.memory_analysis().temp_size_in_bytes,
            'device_bytes': in_use(), 'setup_ms': 1e3 * set_up, 'first': describe(first), 'last': describe(last)}


def print_text(r):
    mebi = 1 << 20
    print(f"preset {r['preset']} on {r['platform']} (JAX {r['version']}, {r['device']}), {r['precision']}, "
          f"{r['tasks']} tasks; set-up {r['setup_ms']:.0f} ms")
    print(f"memory: {r['state_bytes'] / mebi:.1f} MiB state, {r['planned_bytes'] / mebi:.1f} MiB planned, "
          f"{r['device_bytes'] / mebi:.1f} MiB in use")
    print(f"first: {r['first']}")
    name = 'reward-free update' if not r['tasks'] else 'reward-free and task update'
    if r['population'] > 1:
        name += f" of all {r['population']} runs"
    print(f"{name}: {r['update']['median_ms']:.3f} ms (median), {r['update']['least_ms']:.3f} ms (min)")
    if r['population'] > 1:
        print(f"{r['per_run_ms']:.3f} ms a run")
    print(f"last: {r['last']}")


if options.precision == 'f32':
    jax.config.update('jax_default_matmul_precision', 'highest')
result = measure()
print(json.dumps(result)) if options.json else print_text(result)
