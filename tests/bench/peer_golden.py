"""Five updates of the JAX peer against the golden updates of the learner, on the same draws, in float32.

usage: python3 tests/bench/peer_golden.py LEARNER.safetensors
The file is that of tools/reference/learner.py. Losses, norms, error estimates and weights must be within 1e-4 of the
largest number of their tensor.
"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / 'bench/peer'))

import jax
import jax.numpy as jnp
import numpy as np

import settings
import update
from draws import inverse_choice, stream_keys, uniforms
from weights import read_safetensors

SEED, UPDATES, TOLERANCE = 8, 5, 1e-4
SIZES = dict(depth=2, deter=6, hidden=5, stoch=3, classes=4, units=7, layers=2, ensemble=3, batch=2, length=4, horizon=3,
             actions=2, tasks=2, slow_period=2, kl_scale=1.5, free_nats=0.01, entropy_scale=1e-2)


def draws(s, n):
    def steps(name, count, shape):
        return uniforms(stream_keys(SEED, name, count), n, shape)

    def rollout(who, stack):
        shape = stack + (s.rows,)
        return {'action': steps(f'{who}/action', s.horizon, shape + (s.actions,)),
                'imagine': steps(f'{who}/imagine', s.horizon, shape + (s.stoch,))}

    task = {k: jnp.swapaxes(x, 0, 1) for k, x in rollout('task', (s.tasks,)).items()}
    return {'observe': steps('model/observe', s.length, (s.batch, s.stoch)), 'explore': rollout('explore', ()),
            'task': task}


SETS = {'model': '', 'ensemble': 'ensemble/', 'reward': 'reward/', 'explore/actor': 'explore/actor/',
        'explore/critic': 'explore/critic/', 'task/actor': 'task/actor/', 'task/critic': 'task/critic/'}


def initial(golden, s):
    params = update.make_params(jax.random.key(0), s)
    return {name: {k: jnp.asarray(golden[f'init/{SETS[name]}{k}']).reshape(p.shape) for k, p in one.items()}
            for name, one in params.items()}


class Comparison:
    def __init__(self, golden):
        self.golden, self.worst, self.count = golden, 0.0, 0

    def __call__(self, name, ours):
        truth = self.golden[name]
        off = np.abs(np.asarray(ours).reshape(truth.shape) - truth).max() / max(np.abs(truth).max(), 1e-6)
        self.worst, self.count = max(self.worst, off), self.count + 1
        if not off <= TOLERANCE:
            sys.exit(f'{name}: off by a share of {off:.3g} of its largest number')


def main():
    golden = read_safetensors(sys.argv[1])
    s = settings.load('paper', SIZES)
    state = update.make_state(initial(golden, s))
    batch = {k: jnp.asarray(golden[f'batch/{k}']) for k in ('image', 'action', 'first', 'reward')}
    step, compare = jax.jit(update.make_update(s, 'f32', inverse_choice)), Comparison(golden)
    with jax.default_matmul_precision('highest'):
        for n in range(UPDATES):
            state, figures = step(state, batch, draws(s, n))
            for group in ('loss', 'norm'):
                for name, value in figures[group].items():
                    compare(f'{n}/{group}/{name}', value)
            compare(f'{n}/delta', figures['delta'])
            for name, one in state['params'].items() if n in (0, UPDATES - 1) else ():
                for k, p in one.items():
                    compare(f'{n}/param/{SETS[name]}{k}', p)
    print(f'{compare.count} tensors of {UPDATES} updates, worst share {compare.worst:.2g}')


main()
