#!/usr/bin/env python3
"""Golden files for the tensor engine, computed independently with PyTorch.

Every file holds the inputs of one computation, its outputs, and the gradient of a scalar loss with
respect to every input. Inputs are exact float32 numbers; everything is computed in float64 and
rounded to float32 once, at the end, so the files are right to half a unit in the last place and
whatever the C tests see beyond that is the rounding of float32 arithmetic.

    python3 tools/reference/engine.py tests/nn/golden

needs torch, numpy and safetensors. Names: `in/` what goes in, `out/` what comes out, `grad/` the
gradient with respect to the `in/` of the same name.
"""

import pathlib
import sys

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.numpy import save_file

torch.set_default_dtype(torch.float64)


class Case:
    """Collects the tensors of one golden file."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.inputs = {}
        self.results = {}

    def give(self, name, values):
        """An input with these values (made exact float32) that gradients are wanted for."""
        exact = np.asarray(values, dtype=np.float32)
        tensor = torch.from_numpy(exact.astype(np.float64)).requires_grad_(True)
        self.inputs[name] = tensor
        return tensor

    def normal(self, name, *shape, scale=1.0):
        """A random input; a few digits are enough and make failures easier to read."""
        return self.give(name, np.round(self.random.normal(size=shape) * scale, 3))

    def out(self, name, tensor):
        self.results["out/" + name] = tensor

    def gradients(self, loss, prefix="grad/"):
        """Records the loss and its gradient for every input it depends on."""
        names = list(self.inputs)
        grads = torch.autograd.grad(
            loss, [self.inputs[n] for n in names], retain_graph=True, allow_unused=True
        )
        for name, grad in zip(names, grads):
            if grad is not None:
                self.results[prefix + name] = grad

    def weigh(self, *outputs):
        """A loss with a random weight for every output element, so that no gradient hides."""
        loss = 0
        for i, output in enumerate(outputs):
            weight = np.round(self.random.normal(size=tuple(output.shape)), 3).astype(np.float32)
            self.results[f"in/weight{i}"] = torch.from_numpy(weight)
            loss = loss + (output * torch.from_numpy(weight.astype(np.float64))).sum()
        return loss

    def save(self, path):
        tensors = {"in/" + name: tensor for name, tensor in self.inputs.items()}
        tensors.update(self.results)
        arrays = {
            name: np.ascontiguousarray(tensor.detach().numpy().astype(np.float32))
            for name, tensor in tensors.items()
        }
        save_file(arrays, path)
        size = path.stat().st_size
        assert size < 100_000, f"{path} has {size} bytes; keep golden files small"
        print(f"{path}: {len(arrays)} tensors, {size} bytes")


def dense():
    """Three dense layers with ELU, a stack of 2 networks on one shared input."""
    case = Case(1)
    sizes = [11, 17, 13, 5]
    x = case.normal("x", 7, sizes[0])
    for layer, (rows, columns) in enumerate(zip(sizes, sizes[1:])):
        w = case.normal(f"w{layer}", 2, rows, columns, scale=0.3)
        b = case.normal(f"b{layer}", 2, columns, scale=0.1)
        x = torch.einsum("sbi,sio->sbo", x.expand(2, *x.shape) if layer == 0 else x, w)
        x = x + b[:, None, :]
        x = F.elu(x) if layer < 2 else x
    case.out("y", x)
    case.gradients(case.weigh(x))
    return case


def conv():
    """Three convolutions of kernel 4 and stride 2 without padding, 31 -> 14 -> 6 -> 2, ELU."""
    case = Case(2)
    channels = [3, 4, 6, 8]
    x = case.normal("x", 2, 31, 31, channels[0], scale=0.5)
    image = x.permute(0, 3, 1, 2)
    for layer, (inner, outer) in enumerate(zip(channels, channels[1:])):
        w = case.normal(f"w{layer}", 4, 4, inner, outer, scale=0.2)
        b = case.normal(f"b{layer}", outer, scale=0.1)
        image = F.elu(F.conv2d(image, w.permute(3, 2, 0, 1), b, stride=2))
    y = image.permute(0, 2, 3, 1)
    case.out("y", y)
    case.gradients(case.weigh(y))
    return case


def deconv():
    """Transposed convolutions, kernels 5, 5, 6, stride 2, 1 -> 5 -> 13 -> 30; ELU but the last."""
    case = Case(3)
    channels = [12, 8, 6, 3]
    x = case.normal("x", 2, 1, 1, channels[0])
    image = x.permute(0, 3, 1, 2)
    for layer, kernel in enumerate([5, 5, 6]):
        inner, outer = channels[layer : layer + 2]
        w = case.normal(f"w{layer}", kernel, kernel, outer, inner, scale=0.2)
        b = case.normal(f"b{layer}", outer, scale=0.1)
        image = F.conv_transpose2d(image, w.permute(3, 2, 0, 1), b, stride=2)
        image = F.elu(image) if layer < 2 else image
    y = image.permute(0, 2, 3, 1)
    case.out("y", y)
    case.gradients(case.weigh(y))
    return case


def gru():
    """The layer-norm GRU cell over five steps, each state used by the loss."""
    case = Case(4)
    batch, size, width, steps = 3, 7, 5, 5
    h = case.normal("h", batch, size, scale=0.5)
    w = case.normal("w", width + size, 3 * size, scale=0.4)
    gate_bias = case.normal("gate_bias", 3 * size, scale=0.2)
    gain = case.give("gain", 1 + np.round(case.random.normal(size=3 * size) * 0.2, 3))
    bias = case.normal("bias", 3 * size, scale=0.2)
    x = case.normal("x", steps, batch, width)
    states = []
    for step in range(steps):
        pre = torch.cat([x[step], h], -1) @ w + gate_bias
        parts = F.layer_norm(pre, (3 * size,), gain, bias, eps=1e-3)
        reset, candidate, update = parts.chunk(3, -1)
        candidate = torch.tanh(torch.sigmoid(reset) * candidate)
        update = torch.sigmoid(update - 1)
        h = update * candidate + (1 - update) * h
        states.append(h)
    states = torch.stack(states)
    case.out("h", states)
    case.gradients(case.weigh(states))
    return case


def kl():
    """Categorical KL with balancing and free nats, above and below the free nat, and entropy."""
    case = Case(5)
    for name, scale in (("far", 1.5), ("near", 0.1)):
        post = case.normal(f"{name}_post", 6, 4, 5, scale=scale)
        prior = case.normal(f"{name}_prior", 6, 4, 5, scale=scale)

        def divergence(p, q):
            p, q = torch.log_softmax(p, -1), torch.log_softmax(q, -1)
            return (p.exp() * (p - q)).sum((-1, -2))

        to_post = divergence(post, prior.detach())
        to_prior = divergence(post.detach(), prior)
        loss = 0.2 * to_post.mean().clamp(min=1) + 0.8 * to_prior.mean().clamp(min=1)
        case.out(f"{name}_kl", to_post)
        case.out(f"{name}_loss", loss.reshape(1))
        case.gradients(loss)
    entropy = torch.distributions.Categorical(logits=case.inputs["far_post"]).entropy().sum(-1)
    case.out("entropy", entropy)
    case.gradients(case.weigh(entropy), "grad_entropy/")
    return case


def philox(key, counter):
    """Philox 4x32 with 10 rounds (Salmon et al. 2011), on Python integers."""
    mask = 0xFFFFFFFF
    k0, k1 = key & mask, key >> 32
    c = list(counter)
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(p1 >> 32) ^ c[1] ^ k0, p1 & mask, (p0 >> 32) ^ c[3] ^ k1, p0 & mask]
        k0, k1 = (k0 + 0x9E3779B9) & mask, (k1 + 0xBB67AE85) & mask
    return c


def uniforms(key, substream, count):
    """Number i is word i % 4 of block i // 4 of the substream: (top 23 bits + 1/2) / 2^23."""
    mask = 0xFFFFFFFF
    values = []
    for i in range(count):
        block = i // 4
        words = philox(key, [block & mask, block >> 32, substream & mask, substream >> 32])
        values.append(((words[i % 4] >> 9) + 0.5) / 2**23)
    return np.array(values)


def truncated_normal():
    """The actor's normal cut to [-1, 1]: sample for given uniforms, entropy, log-density."""
    case = Case(6)
    rows, actions = 8, 3
    raw = case.normal("raw", rows, 2 * actions, scale=1.2)
    action = case.give("action", np.round(case.random.uniform(-0.95, 0.95, (rows, actions)), 3))
    # The key and substream are repeated in the test; the bits are then the same on both sides.
    u = torch.from_numpy(uniforms(0x0123456789ABCDEF, 42, rows * actions).reshape(rows, actions))
    mean = torch.tanh(raw[:, :actions])
    std = 2 * torch.sigmoid(raw[:, actions:] / 2) + 0.1
    low, high = (-1 - mean) / std, (1 - mean) / std
    below, inside = torch.special.ndtr(low), torch.special.ndtr(high) - torch.special.ndtr(low)

    sample = mean + std * torch.special.ndtri(below + u * inside)
    clipped = sample.clamp(-1 + 1e-6, 1 - 1e-6)
    sample = sample + (clipped - sample).detach()

    def density(z):
        return torch.exp(-0.5 * z**2) / np.sqrt(2 * np.pi)

    edges = (low * density(low) - high * density(high)) / (2 * inside)
    entropy = (0.5 * np.log(2 * np.pi * np.e) + torch.log(std * inside) + edges).sum(-1)
    z = (action - mean) / std
    log_prob = (-0.5 * z**2 - 0.5 * np.log(2 * np.pi) - torch.log(std * inside)).sum(-1)

    case.results["in/uniform"] = u
    case.out("sample", sample)
    case.out("mode", mean.clamp(-1 + 1e-6, 1 - 1e-6))
    case.out("entropy", entropy)
    case.out("log_prob", log_prob)
    case.gradients(case.weigh(sample), "grad_sample/")
    case.results["in/weight_sample"] = case.results.pop("in/weight0")
    case.gradients(case.weigh(entropy), "grad_entropy/")
    case.results["in/weight_entropy"] = case.results.pop("in/weight0")
    case.gradients(case.weigh(log_prob), "grad_log_prob/")
    case.results["in/weight_log_prob"] = case.results.pop("in/weight0")
    return case


def lambda_return():
    """Returns over 15 steps by the recursion, discount 0.99, lambda 0.95."""
    case = Case(7)
    steps, rows = 15, 6
    reward = case.normal("reward", steps, rows)
    value = case.normal("value", steps + 1, rows, scale=3)
    returns, after = [], value[-1]
    for step in reversed(range(steps)):
        after = reward[step] + 0.99 * (0.05 * value[step + 1] + 0.95 * after)
        returns.insert(0, after)
    returns = torch.stack(returns)
    case.out("returns", returns)
    case.gradients(case.weigh(returns))
    return case


def disagreement():
    """Spread of a stack of 5 predictions, mean over features: deviation times 50, and variance."""
    case = Case(8)
    x = case.normal("x", 5, 4, 9)
    std = 50 * x.std(0, correction=0).mean(-1)
    variance = x.var(0, correction=0).mean(-1)
    case.out("std", std)
    case.out("variance", variance)
    case.gradients(case.weigh(std), "grad_std/")
    case.results["in/weight_std"] = case.results.pop("in/weight0")
    case.gradients(case.weigh(variance), "grad_variance/")
    case.results["in/weight_variance"] = case.results.pop("in/weight0")
    return case


def adam():
    """Six Adam steps on two weights with clipping at norm 100; decay as configured and a large one.

    The gradients of steps 2 and 4 have norms far above 100. Moments and weights are kept in double
    between the steps.
    """
    case = Case(9)
    steps = 6
    start = {"a": case.normal("a", 4, 3), "b": case.normal("b", 5)}
    factors = [1, 2, 400, 0.01, 3000, 1]
    for name, weight in start.items():
        raw = case.random.normal(size=(steps, *weight.shape))
        case.give(f"gradient_{name}", np.round([f * g for f, g in zip(factors, raw)], 3))
    for decay_name, decay in (("default", 1e-6), ("strong", 1e-2)):
        weights = {n: w.detach().clone().requires_grad_(True) for n, w in start.items()}
        optimiser = torch.optim.Adam(weights.values(), lr=3e-4, eps=1e-5)
        history = {n: [] for n in weights}
        norms = []
        for step in range(steps):
            grads = {n: case.inputs[f"gradient_{n}"][step].detach() for n in weights}
            norm = torch.sqrt(sum((g**2).sum() for g in grads.values()))
            norms.append(norm)
            for name, weight in weights.items():
                weight.grad = grads[name] * min(1.0, 100.0 / norm.item())
                weight.data.mul_(1 - decay)
            optimiser.step()
            for name, weight in weights.items():
                history[name].append(weight.detach().clone())
        for name, weight in weights.items():
            state = optimiser.state[weight]
            case.out(f"{decay_name}_{name}", torch.stack(history[name]))
            case.out(f"{decay_name}_{name}_m", state["exp_avg"])
            case.out(f"{decay_name}_{name}_v", state["exp_avg_sq"])
        case.out("norm", torch.stack(norms))
    return case


CASES = [dense, conv, deconv, gru, kl, truncated_normal, lambda_return, disagreement, adam]


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "tests/nn/golden")
    folder.mkdir(parents=True, exist_ok=True)
    for case in CASES:
        case().save(folder / f"{case.__name__}.safetensors")


if __name__ == "__main__":
    main()
