"""waker's random numbers in JAX, so that both programs can have the same draws.

Philox 4x32-10 at (stream, counter), as docs/learner.md and src/base/random.h define it: element i is word i % 4 of block i // 4.
"""
import math

import jax
import jax.numpy as jnp
import numpy as np

MASK = (1 << 64) - 1
U32 = jnp.uint32


def stream_key(seed, name):
    """The key of a named stream."""
    def mix(x):
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            x = (x ^ x >> shift) * factor & MASK
        return x ^ x >> 31

    key = 0xCBF29CE484222325
    for byte in name.encode():
        key = (key ^ byte) * 0x100000001B3 & MASK
    return mix(mix(seed + 0x9E3779B97F4A7C15 & MASK) ^ key)


def stream_keys(seed, name, steps):
    """Keys [steps,2] of the streams NAME/0 ..., low words first."""
    keys = [stream_key(seed, f'{name}/{t}') for t in range(steps)]
    return np.array([(key & 0xFFFFFFFF, key >> 32) for key in keys], np.uint32)


def wide_product(x, factor):
    """High and low words of a product of 32-bit words."""
    a, b, c, d = x >> 16, x & 0xFFFF, factor >> 16, factor & 0xFFFF
    middle = a * U32(d) + (b * U32(d) >> 16)
    low = (middle & 0xFFFF) + b * U32(c)
    return a * U32(c) + (middle >> 16) + (low >> 16), x * U32(factor)


def uniforms(keys, counter, shape):
    """Numbers inside (0, 1), [steps,*shape], of streams with keys [steps,2]."""
    count = math.prod(shape)
    blocks = jnp.arange(-(-count // 4), dtype=U32)[None]
    zero = jnp.zeros_like(blocks)
    c = [blocks, zero, zero + jnp.asarray(counter, U32), zero]
    k0, k1 = (jnp.asarray(keys)[:, i, None] for i in (0, 1))
    for _ in range(10):
        (p, p_low), (q, q_low) = wide_product(c[0], 0xD2511F53), wide_product(c[2], 0xCD9E8D57)
        c = [q ^ c[1] ^ k0, q_low, p ^ c[3] ^ k1, p_low]
        k0, k1 = k0 + U32(0x9E3779B9), k1 + U32(0xBB67AE85)
    words = jnp.stack(jnp.broadcast_arrays(*c), -1).reshape(len(keys), -1)[:, :count]
    return (((words >> 9).astype(jnp.float32) + 0.5) / 2 ** 23).reshape((len(keys),) + shape)


def inverse_choice(logits, uniform):
    """The class in whose share of [0, 1] the uniform number falls; sums over classes are one kernel."""
    classes = logits.shape[-1]
    below = np.tri(classes, dtype=bool)
    total = jnp.where(below, jax.nn.softmax(logits)[..., None, :], 0).sum(-1)
    return (total <= uniform[..., None] * total[..., -1:]).sum(-1)
