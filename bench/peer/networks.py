"""The networks of an update in JAX: products, convolutions, the recurrent cell, distributions.

Parameters are flat dicts of float32 arrays under the names that waker gives them ('encoder/0/w'). What is computed
is computed in the dtype that `low` makes of them, bf16 or float32.
"""
import functools
import math

import jax
import jax.numpy as jnp
from jax import lax
from jax.ad_checkpoint import checkpoint_name

LAYOUT = ('NHWC', 'HWIO', 'NHWC')
DECODER_KERNELS = (5, 5, 6, 6)
F32 = jnp.float32
elu = jax.nn.elu


def glorot(key, shape, fan_in, fan_out):
    limit = math.sqrt(6 / (fan_in + fan_out))
    return jax.random.uniform(key, shape, F32, -limit, limit)


class Builder:
    """Makes the parameters of one network, with a leading stack axis if `stack` is given."""

    def __init__(self, key, stack=None):
        self.key, self.stack, self.params = key, () if stack is None else (stack,), {}

    def weight(self, name, shape, fan_in, fan_out):
        self.key, key = jax.random.split(self.key)
        self.params[name] = glorot(key, self.stack + shape, fan_in, fan_out)

    def vector(self, name, size, value=0.0):
        self.params[name] = jnp.full(self.stack + (size,), value, F32)

    def dense(self, name, inputs, outputs):
        self.weight(f'{name}/w', (inputs, outputs), inputs, outputs)
        self.vector(f'{name}/b', outputs)

    def mlp(self, settings, inputs, outputs):
        for k in range(settings.layers):
            self.dense(str(k), inputs if k == 0 else settings.units, settings.units)
        self.dense('out', settings.units, outputs)
        return self.params


def model_params(key, s):
    """The world model's: encoder, recurrent state-space model, decoder."""
    b, channels = Builder(key), [3] + [s.depth << k for k in range(4)]
    for k, (i, o) in enumerate(zip(channels, channels[1:])):
        b.weight(f'encoder/{k}/w', (4, 4, i, o), 16 * i, 16 * o)
        b.vector(f'encoder/{k}/b', o)
    b.dense('rssm/in', s.flat + s.actions, s.hidden)
    b.dense('rssm/gru', s.hidden + s.deter, 3 * s.deter)
    b.vector('rssm/gru/gain', 3 * s.deter, 1.0)
    b.vector('rssm/gru/bias', 3 * s.deter)
    for side, inputs in (('prior', s.deter), ('post', s.deter + s.embed)):
        b.dense(f'rssm/{side}/hidden', inputs, s.hidden)
        b.dense(f'rssm/{side}/out', s.hidden, s.flat)
    b.dense('decoder/in', s.features, s.embed)
    channels = [s.embed, 4 * s.depth, 2 * s.depth, s.depth, 3]
    for k, (i, o, size) in enumerate(zip(channels, channels[1:], DECODER_KERNELS)):
        b.weight(f'decoder/{k}/w', (size, size, o, i), size * size * i, size * size * o)
        b.vector(f'decoder/{k}/b', o)
    return b.params


# Products. The operands are low, sums are float32 inside, and so is the gradient of a float32 weight.

def wide(a, b):
    """a [..,I,K] times b [..,K,O], result float32."""
    return jnp.matmul(a, b, preferred_element_type=F32)


def flat_rows(x):
    return x.reshape(-1, x.shape[-1])


@functools.partial(jax.custom_vjp, nondiff_argnums=(2, 3))
def low_product(x, w, low, out):
    """Has a gradient of its own, because JAX's of a float32 result would be a product with a float32 operand."""
    return jnp.matmul(x.astype(low), w.astype(low), preferred_element_type=out)


def product_forward(x, w, low, out):
    return low_product(x, w, low, out), (x, w)


def product_backward(low, out, kept, d):
    x, w = kept
    d = d.astype(low)
    dx = jnp.matmul(d, w.astype(low).T)
    dw = wide(flat_rows(x).astype(low).T, flat_rows(d))
    return dx.astype(x.dtype), dw.astype(w.dtype)


low_product.defvjp(product_forward, product_backward)


def aligned(w):
    """w [..,K,O] with zeros to a K that is a multiple of 8: other products get slow kernels."""
    return jnp.pad(w, [(0, 0)] * (w.ndim - 2) + [(0, -w.shape[-2] % 8), (0, 0)])


def product(x, w, low, out):
    """x [..,K] times w [K,O], aligned or not, operands in dtype `low`, result in dtype `out`."""
    x = jnp.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, w.shape[0] - x.shape[-1])])
    return checkpoint_name(low_product(x, w, low, out), 'product')


def keep_products(step):
    """A scan's step that keeps only results of products for its gradient and computes the rest again: every number kept
    is a kernel of its own in every step, what lies between products is not."""
    return jax.checkpoint(step, prevent_cse=False, policy=jax.checkpoint_policies.save_only_these_names('product'))


@jax.custom_vjp
def add_bias(x, b):
    """x [..,O] and b [O] in x's dtype. The gradient of b is summed in float32: a sum over pixels in bf16 ends where the next
    term is less than its last digit."""
    return x + b.astype(x.dtype)


add_bias.defvjp(lambda x, b: (add_bias(x, b), b),
                lambda b, d: (d, flat_rows(d).astype(F32).sum(0).astype(b.dtype)))


def dense(p, name, x, low, out=None):
    return add_bias(product(x, p[f'{name}/w'], low, out or low), p[f'{name}/b'])


def mlp(p, x, low):
    """[..,I] through hidden layers to float32 or low results [..,O]."""
    for k in range(len(p) // 2 - 1):
        x = elu(dense(p, str(k), x, low))
    return dense(p, 'out', x, low)


def scalar(p, x, low):
    return mlp(p, x, low)[..., 0].astype(F32)


def encode(p, images, low):
    """Images [N,64,64,3] around zero as vectors."""
    x = images.astype(low)
    for k in range(4):
        x = lax.conv_general_dilated(x, p[f'encoder/{k}/w'].astype(low), (2, 2), 'VALID', dimension_numbers=LAYOUT)
        x = elu(add_bias(x, p[f'encoder/{k}/b']))
    return x.reshape(x.shape[0], -1)


def transposed_convolution(x, w):
    """x [N,S,S,I] by w [K,K,O,I], stride 2: [N,2S+K-2,2S+K-2,O].

    Written as a convolution that gives four neighbours at once, which are then put in place: cuDNN's kernels for that
    are faster, and XLA finds none for the weights' gradient of lax.conv_transpose.
    """
    kernel, outputs, inputs = w.shape[1:]
    size, taps = 2 * x.shape[1] + kernel - 2, (kernel + 1) // 2
    w = jnp.pad(w, [(0, 2 * taps - kernel)] * 2 + [(0, 0)] * 2)
    w = w.reshape(taps, 2, taps, 2, outputs, inputs)[::-1, :, ::-1].transpose(0, 2, 5, 1, 3, 4)
    y = lax.conv_general_dilated(x, w.reshape(taps, taps, inputs, 4 * outputs), (1, 1), [(taps - 1, taps - 1)] * 2,
                                 dimension_numbers=LAYOUT)
    side = y.shape[1]
    y = y.reshape(-1, side, side, 2, 2, outputs).transpose(0, 1, 3, 2, 4, 5)
    return y.reshape(-1, 2 * side, 2 * side, outputs)[:, :size, :size]


def decode(p, features, low):
    """Features [N,F] as images [N,64,64,3] around zero. The first layer sees one pixel: it is a product."""
    x = dense(p, 'decoder/in', features, low)
    w = p['decoder/0/w']
    x = product(x, w.reshape(-1, w.shape[-1]).T, low, low).reshape((-1,) + w.shape[:3])
    x = elu(add_bias(x, p['decoder/0/b']))
    for k in (1, 2, 3):
        x = add_bias(transposed_convolution(x, p[f'decoder/{k}/w'].astype(low)), p[f'decoder/{k}/b'])
        x = elu(x) if k < 3 else x
    return x.astype(F32)


def gru(gates, gain, offset, deter):
    """The cell behind its product: layer norm over all gates, the update gate's bias is -1."""
    mean = gates.mean(-1, keepdims=True)
    variance = jnp.square(gates).mean(-1, keepdims=True) - jnp.square(mean)
    reset, candidate, update = jnp.split((gates - mean) * lax.rsqrt(variance + 1e-3) * gain + offset, 3, -1)
    update = jax.nn.sigmoid(update - 1)
    return update * jnp.tanh(jax.nn.sigmoid(reset) * candidate) + (1 - update) * deter


# Distributions.

def grouped(logits, classes):
    return logits.reshape(logits.shape[:-1] + (-1, classes))


@jax.custom_vjp
def straight_through(probabilities, chosen):
    """The chosen one-hot rows; gradients go to the probabilities."""
    return chosen


straight_through.defvjp(lambda p, c: (c, None), lambda _, d: (d.astype(F32), None))


def gumbel_choice(logits, noise):
    """Draws classes: noise is Gumbel's, of the logits' shape."""
    return jnp.argmax(logits + noise, -1)


def sample(logits, noise, classes, choose, low):
    """One-hot rows [..,V*C] drawn by logits [..,V*C], with the straight-through gradient."""
    groups = grouped(logits, classes)
    chosen = jax.nn.one_hot(choose(lax.stop_gradient(groups), noise), classes, dtype=low)
    return straight_through(jax.nn.softmax(groups), chosen).reshape(logits.shape)


def kl(p, q, classes):
    """Mean divergence of rows of categorical variables, from logits."""
    p, q = jax.nn.log_softmax(grouped(p, classes)), jax.nn.log_softmax(grouped(q, classes))
    return (jnp.exp(p) * (p - q)).sum((-1, -2)).mean()


def density(x):
    return jnp.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)


def cumulative(x):
    return 0.5 * (1 + lax.erf(x / math.sqrt(2)))


def truncated_normal(choice):
    """Mean, deviation and the two borders in deviations, of a normal cut to [-1, 1]."""
    mean, deviation = jnp.split(choice.astype(F32), 2, -1)
    mean, deviation = jnp.tanh(mean), 2 * jax.nn.sigmoid(deviation / 2) + 0.1
    return mean, deviation, (-1 - mean) / deviation, (1 - mean) / deviation


def act(choice, uniform, gradient='exact'):
    """The action that a uniform number stands for; clipping is not in its gradient. 'location-scale' holds z in mean + deviation z."""
    mean, deviation, low, high = truncated_normal(choice)
    begin, end = cumulative(low), cumulative(high)
    share = jnp.clip(2 * (begin + uniform * (end - begin)) - 1, -1 + 1e-7, 1 - 1e-7)
    z = math.sqrt(2) * lax.erf_inv(share)
    action = mean + deviation * (lax.stop_gradient(z) if gradient == 'location-scale' else z)
    return action + lax.stop_gradient(jnp.clip(action, -1 + 1e-6, 1 - 1e-6) - action)


def saturation(choice):
    """How far results lie beyond +-2 in units of the tanh that bounds them, squared, summed over an action's numbers."""
    mean, deviation = jnp.split(choice.astype(F32), 2, -1)
    both = jnp.concatenate([mean, deviation / 4], -1)
    return jnp.square(jnp.maximum(jnp.abs(both) - 2, 0)).sum(-1)


def entropy(choice):
    """Of the truncated normal, summed over an action's numbers."""
    _, deviation, low, high = truncated_normal(choice)
    mass = jnp.maximum(cumulative(high) - cumulative(low), 1e-6)
    each = (jnp.log(math.sqrt(2 * math.pi * math.e) * deviation * mass)
            + (low * density(low) - high * density(high)) / (2 * mass))
    return each.sum(-1)
