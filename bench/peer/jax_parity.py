"""Trains the world model in JAX on the data, batches and initial weights of bench_parity, and measures what it measures.

usage: python3 bench/peer/jax_parity.py DATA PLAN --out DIR [--precision f32|bf16] [--seeds 0,1] [--updates N] [--every N]
example: python3 bench/peer/jax_parity.py data plan --out jax-f32 --precision f32

DATA and PLAN are folders of bench_parity (bench/parity.h says what is in them). Each seed is a run of its own, in DIR-SEED,
with the files of 'bench_parity train'. Seeds are those of the draws: with the seed of PLAN they are waker's own. A plan
with exploration trains ensemble and exploration policy too.
"""
import argparse
import dataclasses
import json
import os
import pathlib
import signal
import sys
import time

import settings as presets

HEADER = ('updates', 'batch', 'length', 'sequences', 'together', 'frames', 'context')
LOSSES = ('model_loss', 'image_loss', 'kl', 'model_norm')
EXPLORATION = ('actor_entropy', 'disagreement')


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('data', type=pathlib.Path)
    parser.add_argument('plan', type=pathlib.Path)
    parser.add_argument('--out', required=True, help='folders of results, without their seeds')
    parser.add_argument('--precision', choices=('f32', 'bf16'), default='f32', help='of products (default f32)')
    parser.add_argument('--seeds', default='0', help='of the draws (default 0)')
    parser.add_argument('--updates', type=int, help='at most (default: all that are planned)')
    parser.add_argument('--every', type=int, default=500, help='updates between measurements (default 500)')
    return parser.parse_args()


options = parse()
try:
    import jax
except ImportError:
    sys.exit(f'jax_parity.py: {sys.executable} has no JAX; install it there or run another python')
import jax.numpy as jnp
import numpy as np
from jax import lax

import networks
import update as learner
from draws import inverse_choice, stream_keys, uniforms
from weights import read_safetensors

LOW = {'bf16': jnp.bfloat16, 'f32': jnp.float32}[options.precision]


class Inputs:
    """What bench_parity wrote."""

    def __init__(self, data, plan):
        numbers = np.fromfile(plan / 'plan.u32', np.uint32)
        self.plan = argparse.Namespace(**{k: int(x) for k, x in zip(HEADER, numbers)})
        self.held, batches = np.split(numbers[len(HEADER):].astype(np.int32), [self.plan.sequences])
        self.frames = np.memmap(data / 'frames.u8', np.uint8, 'r').reshape(-1, 64, 64, 3)
        self.actions = np.fromfile(data / 'actions.f32', np.float32).reshape(len(self.frames), -1)
        self.batches = batches.reshape(self.plan.updates, self.plan.batch)
        self.settings = presets.load_run(plan / 'config.yaml', {'actions': self.actions.shape[1]})
        self.exploring = 'exploration: plan2explore' in (plan / 'config.yaml').read_text()
        weights = read_safetensors(plan / 'weights.safetensors')
        sets = {'model': 'model/', 'ensemble': 'ensemble/mlp/', 'explore/actor': 'explore.actor/mlp/',
                'explore/critic': 'explore.critic/mlp/'}
        self.weights = {of: {name[len(prefix):]: w[0] if of.startswith('explore') else w  # a stack of one
                             for name, w in weights.items() if name.startswith(prefix)}
                        for of, prefix in sets.items() if of == 'model' or self.exploring}


def take(data, starts, length):
    """Sequences that begin at rows `starts`, time-major."""
    rows = starts[None] + jnp.arange(length)[:, None]
    return {'image': data['frames'][rows], 'action': data['actions'][rows],
            'first': jnp.zeros(rows.shape).at[0].set(1)}


def make_keys(s, seed):
    """Keys of the streams of an update."""
    steps = {'model/observe': s.length, 'explore/action': s.horizon, 'explore/imagine': s.horizon}
    return {name: jnp.asarray(stream_keys(seed, name, count)) for name, count in steps.items()}


def make_step(s, exploring):
    """A function of (state, data, keys) that makes the update that is next, and gives its LOSSES, and EXPLORATION's."""
    update = learner.make_update(s, options.precision, inverse_choice)

    def model_alone(state, batch, observe):
        t = learner.Training(state, s)
        update.train_model(t, batch, observe)
        return t.state(), {'loss': t.losses, 'norm': t.norms}

    def step(state, data, keys):
        batch, n = take(data, data['batches'][state['count']], s.length), state['count']
        observe = uniforms(keys['model/observe'], n, (s.batch, s.stoch))
        if not exploring:
            state, figures = model_alone(state, batch, observe)
        else:
            explore = {'action': uniforms(keys['explore/action'], n, (s.rows, s.actions)),
                       'imagine': uniforms(keys['explore/imagine'], n, (s.rows, s.stoch))}
            state, figures = update(state, batch, {'observe': observe, 'explore': explore})
        losses = [*(figures['loss'][k] for k in ('model', 'image', 'kl')), figures['norm']['model']]
        if exploring:
            losses += [figures['entropy']['explore'], figures['delta'].mean()]
        return state, jnp.stack(losses)

    return jax.jit(step, donate_argnums=0)


def make_measurement(s, plan):
    """A function of (parameters, data, starts, keys): the errors that src/agent/prediction.c defines, of some sequences.

    One step ahead, the mean; open loop from the context on and reconstructions, of each step [frames].
    """
    s = dataclasses.replace(s, batch=plan.together, length=plan.frames)
    update = learner.make_update(s, options.precision, inverse_choice)

    def picture_errors(p, stoch, deter, images):
        features = networks.flat_rows(update.features(stoch.astype(LOW), deter))
        pictures = networks.decode(p, features, LOW).reshape(images.shape)
        return jnp.square(pictures - images).mean((2, 3, 4))

    def one_step(p, stoch, deter, action, images):
        deter = update.advance(p, stoch[:-1], deter[:-1], action[1:])
        mean = jax.nn.softmax(networks.grouped(update.prior(p, deter), s.classes)).reshape(deter.shape[:2] + (-1,))
        return picture_errors(p, mean, deter, images[1:]).mean()

    def open_loop(p, stoch, deter, action, images):
        def step(latent, action):
            deter = update.advance(p, *latent, action)
            logits = networks.grouped(update.prior(p, deter), s.classes)
            stoch = jax.nn.one_hot(jnp.argmax(logits, -1), s.classes, dtype=LOW).reshape(latent[0].shape)
            return (stoch, deter), (stoch, deter)

        seen = plan.context - 1
        _, latents = lax.scan(step, (stoch[seen].astype(LOW), deter[seen]), action[plan.context:])
        return jnp.zeros(s.length).at[plan.context:].set(
            picture_errors(p, *latents, images[plan.context:]).mean(1))

    def measure(p, data, starts, keys):
        batch = take(data, starts, s.length)
        images = batch['image'].astype(jnp.float32) / 255 - 0.5
        embed = networks.encode(p, images.reshape((-1,) + images.shape[2:]), LOW).reshape(s.length, s.batch, -1)
        stoch, deter, _ = update.observe(p, embed, batch['action'], 1 - batch['first'],
                                         uniforms(keys, 0, (s.batch, s.stoch)))
        return {'one_step': one_step(p, stoch, deter, batch['action'], images),
                'open_loop': open_loop(p, stoch, deter, batch['action'], images),
                'reconstruction': picture_errors(p, stoch, deter, images).mean(1)}

    return jax.jit(measure)


class Run:
    """One seed: its state on the device and its files."""

    def __init__(self, inputs, data, seed):
        s, plan = inputs.settings, inputs.plan
        self.plan, self.data, self.seconds = plan, data, 0.0
        self.keys, self.names = make_keys(s, seed), LOSSES + EXPLORATION * inputs.exploring
        self.measure_keys = jnp.asarray(stream_keys(seed, 'predict/observe', plan.frames))
        self.held = jnp.asarray(inputs.held).reshape(-1, plan.together)
        self.state = learner.make_state(jax.tree.map(jnp.array, inputs.weights))
        self.directory = pathlib.Path(f'{options.out}-{seed}')
        self.directory.mkdir(parents=True, exist_ok=True)
        self.metrics, self.losses = ((self.directory / f'{name}.jsonl').open('w') for name in ('metrics', 'losses'))

    def train(self, step, first, end):
        """Updates first ... end - 1; gives their losses [end-first,n]."""
        start, losses = time.perf_counter(), []
        for _ in range(first, end):
            self.state, figures = step(self.state, self.data, self.keys)
            losses.append(figures)
        losses = np.stack(jax.device_get(losses)).astype(float)
        self.seconds += time.perf_counter() - start
        for n, row in enumerate(losses, first + 1):
            write(self.losses, {'update': n, **dict(zip(self.names, row))})
        return losses

    def report(self, measure, n, losses):
        groups = [measure(self.state['params']['model'], self.data, starts, self.measure_keys) for starts in self.held]
        errors = jax.tree.map(lambda *x: np.mean(np.stack(x), 0, float), *jax.device_get(groups))
        ahead = slice(self.plan.context, None)
        means = {k: errors[k][ahead].mean() for k in ('open_loop', 'reconstruction')}
        window = {} if losses is None else dict(zip(self.names, losses.mean(0)))
        write(self.metrics, {'update': n, **window, 'one_step': errors['one_step'], **means, 'seconds': self.seconds})
        self.write_horizon(n, [errors[k][ahead] for k in ('open_loop', 'reconstruction')])

    def write_horizon(self, n, errors):
        path = self.directory / 'horizon.jsonl'
        with open(f'{path}.new', 'w') as lines:
            for step, (imagined, seen) in enumerate(zip(*errors), 1):
                write(lines, {'step': step, 'update': n, 'open_loop': imagined, 'reconstruction': seen})
        os.replace(f'{path}.new', path)


def write(file, row):
    """A line of JSON; numbers that are not finite are null, as in the other program's."""
    row = {k: int(x) if k in ('update', 'step') else float(x) if np.isfinite(x) else None for k, x in row.items()}
    file.write(json.dumps(row) + '\n')
    file.flush()


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # not killed: kernels in flight end first
    inputs = Inputs(options.data, options.plan)
    end = min(inputs.plan.updates, options.updates or inputs.plan.updates)
    data = {name: jnp.asarray(getattr(inputs, name)) for name in ('frames', 'actions', 'batches')}
    runs = [Run(inputs, data, int(seed)) for seed in options.seeds.split(',')]
    step = make_step(inputs.settings, inputs.exploring).lower(runs[0].state, data, runs[0].keys).compile()
    measure = make_measurement(inputs.settings, inputs.plan)
    for run in runs:
        run.report(measure, 0, None)
    for first in range(0, end, options.every):
        last = min(first + options.every, end)
        for run in runs:
            run.report(measure, last, run.train(step, first, last))


if options.precision == 'f32':
    jax.config.update('jax_default_matmul_precision', 'highest')
main()
