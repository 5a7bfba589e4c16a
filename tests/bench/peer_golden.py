"""Five updates of the JAX peer against the golden updates of the learner, on the same draws, in float32.

usage: python3 tests/bench/peer_golden.py LEARNER.safetensors
The file is that of tools/reference/learner.py. Losses, norms, error estimates and weights must be within 1e-4 of the
largest number of their tensor.
"""
import json
import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / 'bench/peer'))

import jax
import jax.numpy as jnp
import numpy as np

import settings
import update

SEED, UPDATES, TOLERANCE = 8, 5, 1e-4
SIZES = dict(depth=2, deter=6, hidden=5, stoch=3, classes=4, units=7, layers=2, ensemble=3, batch=2, length=4, horizon=3,
             actions=2, tasks=2, slow_period=2, kl_scale=1.5, free_nats=0.01, entropy_scale=1e-2)


def read_safetensors(path):
    data = pathlib.Path(path).read_bytes()
    size = struct.unpack('<Q', data[:8])[0]
    kinds, tensors = {'F32': np.float32, 'U8': np.uint8}, {}
    for name, of in json.loads(data[8:8 + size]).items():
        if name != '__metadata__':
            begin, end = of['data_offsets']
            tensors[name] = np.frombuffer(data[8 + size:][begin:end], kinds[of['dtype']]).reshape(of['shape'])
    return tensors


def stream_key(name):
    """The key of a named stream, as docs/learner.md and src/base/rng.h define it."""
    def mix(x):
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            x = (x ^ x >> shift) * factor & MASK
        return x ^ x >> 31

    MASK, key = (1 << 64) - 1, 0xCBF29CE484222325
    for byte in name.encode():
        key = (key ^ byte) * 0x100000001B3 & MASK
    return mix(mix(SEED + 0x9E3779B97F4A7C15 & MASK) ^ key)


def uniforms(name, counter, shape):
    """Philox 4x32-10 at (stream, counter): element i is word i % 4 of block i // 4, inside (0, 1)."""
    key, blocks, low = stream_key(name), -(-int(np.prod(shape)) // 4), np.uint64(0xFFFFFFFF)
    c = [np.arange(blocks, dtype=np.uint64), np.uint64(0), np.uint64(counter), np.uint64(0)]
    k0, k1 = key & 0xFFFFFFFF, key >> 32
    for _ in range(10):
        p, q = np.uint64(0xD2511F53) * c[0], np.uint64(0xCD9E8D57) * c[2]
        c = [(q >> np.uint64(32)) ^ c[1] ^ np.uint64(k0), q & low, (p >> np.uint64(32)) ^ c[3] ^ np.uint64(k1), p & low]
        k0, k1 = k0 + 0x9E3779B9 & 0xFFFFFFFF, k1 + 0xBB67AE85 & 0xFFFFFFFF
    words = np.stack(np.broadcast_arrays(*c), -1).reshape(-1)[:int(np.prod(shape))]
    return (((words >> np.uint64(9)).astype(np.float64) + 0.5) / 2 ** 23).astype(np.float32).reshape(shape)


def draws(s, n):
    def steps(name, count, shape):
        return jnp.stack([uniforms(f'{name}/{t}', n, shape) for t in range(count)])

    def rollout(who, stack):
        shape = stack + (s.rows,)
        return {'action': steps(f'{who}/action', s.horizon, shape + (s.actions,)),
                'imagine': steps(f'{who}/imagine', s.horizon, shape + (s.stoch,))}

    task = {k: jnp.swapaxes(x, 0, 1) for k, x in rollout('task', (s.tasks,)).items()}
    return {'observe': steps('model/observe', s.length, (s.batch, s.stoch)), 'explore': rollout('explore', ()),
            'task': task}


def inverse_choice(logits, uniform):
    """The class in whose share of [0, 1] the uniform number falls."""
    total = jnp.cumsum(jax.nn.softmax(logits), -1)
    return (total <= uniform[..., None] * total[..., -1:]).sum(-1)


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
