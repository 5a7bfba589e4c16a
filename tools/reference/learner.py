"""An independent model of waker's learner in PyTorch, in double precision.

It computes whole updates (world model, reward heads, exploration actor-critic, ensemble, task
actor-critics) at a tiny size from the same random bits as the C program draws, and writes every input,
loss, gradient and parameter to a safetensors file that tests/agent/test_golden.c compares with.

    python3 tools/reference/learner.py tests/agent/golden/learner.safetensors

Needs torch, numpy and safetensors. Written from docs/learner.md, not from the C code.
"""
import math
import sys

import numpy as np
import torch
from safetensors.numpy import save_file

torch.set_default_dtype(torch.float64)

# Sizes: everything tiny but the image, whose side the convolutions fix.
DEPTH, DETER, HIDDEN, STOCH, CLASSES, UNITS, LAYERS, MEMBERS = 2, 6, 5, 3, 4, 7, 2, 3
BATCH, LENGTH, HORIZON, ACTIONS, TASKS = 2, 4, 3, 2, 2
FLAT = STOCH * CLASSES
FEATURES = FLAT + DETER
SEED, UPDATES = 8, 5
MODEL_RATE, ENSEMBLE_RATE, POLICY_RATE = 3e-4, 3e-4, 1e-4
KL_SCALE, FREE_NATS, BALANCE, ENTROPY_SCALE = 1.5, 0.01, 0.8, 1e-2
GAMMA, LAMBDA, SLOW_EVERY, DISAGREEMENT_SCALE = 0.99, 0.95, 2, 50.0


# ---- the random bits: Philox 4x32-10 on (key of seed and name, counter, element) -------------------

MASK32, MASK64 = 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF


def mix64(x):
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK64
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK64
    return x ^ (x >> 31)


def stream_key(seed, name):
    h = 0xCBF29CE484222325
    for byte in name.encode():
        h = ((h ^ byte) * 0x100000001B3) & MASK64
    return mix64(mix64((seed + 0x9E3779B97F4A7C15) & MASK64) ^ h)


def philox(key, counter):
    k = [key & MASK32, key >> 32]
    c = list(counter)
    for _ in range(10):
        hi0, lo0 = divmod(0xD2511F53 * c[0], 1 << 32)
        hi1, lo1 = divmod(0xCD9E8D57 * c[2], 1 << 32)
        c = [hi1 ^ c[1] ^ k[0], lo1, hi0 ^ c[3] ^ k[1], lo0]
        k = [(k[0] + 0x9E3779B9) & MASK32, (k[1] + 0xBB67AE85) & MASK32]
    return c


def uniforms(name, counter, shape):
    """Numbers strictly inside (0, 1): element i reads word i % 4 of block i // 4."""
    key, count = stream_key(SEED, name), int(np.prod(shape))
    words = []
    for block in range((count + 3) // 4):
        words += philox(key, [block, 0, counter & MASK32, counter >> 32])
    units = [((w >> 9) + 0.5) / 8388608.0 for w in words[:count]]
    return torch.tensor(units).reshape(shape)


# ---- parameters -------------------------------------------------------------------------------------

def glorot(generator, shape, fan_in, fan_out):
    limit = math.sqrt(6.0 / (fan_in + fan_out))
    values = (torch.rand(shape, generator=generator) * 2 - 1) * limit
    return values.float().double()  # what a float32 file can hold


def small(generator, shape):
    """Biases start at zero in waker; here they are not zero, so that a test sees them."""
    return (0.1 * torch.randn(shape, generator=generator)).float().double()


def dense_params(p, g, name, i, o, stack=()):
    p[name + "/w"] = glorot(g, stack + (i, o), i, o)
    p[name + "/b"] = small(g, stack + (o,))


def mlp_params(p, g, name, i, o, stack=()):
    for k in range(LAYERS):
        dense_params(p, g, f"{name}/{k}", i if k == 0 else UNITS, UNITS, stack)
    dense_params(p, g, f"{name}/out", UNITS, o, stack)


def make_parameters():
    g = torch.Generator().manual_seed(1)
    model, channels = {}, [3, DEPTH, 2 * DEPTH, 4 * DEPTH, 8 * DEPTH]
    for k in range(4):
        i, o = channels[k], channels[k + 1]
        model[f"encoder/{k}/w"] = glorot(g, (4, 4, i, o), 16 * i, 16 * o)
        model[f"encoder/{k}/b"] = small(g, (o,))
    embed = 4 * 8 * DEPTH
    dense_params(model, g, "rssm/in", FLAT + ACTIONS, HIDDEN)
    dense_params(model, g, "rssm/gru", HIDDEN + DETER, 3 * DETER)
    model["rssm/gru/gain"] = 1 + small(g, (3 * DETER,))
    model["rssm/gru/bias"] = small(g, (3 * DETER,))
    for side, i in (("prior", DETER), ("post", DETER + embed)):
        dense_params(model, g, f"rssm/{side}/hidden", i, HIDDEN)
        dense_params(model, g, f"rssm/{side}/out", HIDDEN, FLAT)
    dense_params(model, g, "decoder/in", FEATURES, 32 * DEPTH)
    channels = [32 * DEPTH, 4 * DEPTH, 2 * DEPTH, DEPTH, 3]
    for k, kernel in enumerate((5, 5, 6, 6)):
        i, o = channels[k], channels[k + 1]
        model[f"decoder/{k}/w"] = glorot(g, (kernel, kernel, o, i), kernel**2 * i, kernel**2 * o)
        model[f"decoder/{k}/b"] = small(g, (o,))
    ensemble, rewards = {}, {}
    mlp_params(ensemble, g, "ensemble", FEATURES + ACTIONS, FEATURES, (MEMBERS,))
    mlp_params(rewards, g, "reward", FEATURES, 1, (TASKS,))
    sets = {"model": model, "ensemble": ensemble, "reward": rewards}
    for who, stack in (("explore", (1,)), ("task", (TASKS,))):
        actor, critic = {}, {}
        mlp_params(actor, g, f"{who}/actor", FEATURES, 2 * ACTIONS, stack)
        mlp_params(critic, g, f"{who}/critic", FEATURES, 1, stack)
        sets[f"{who}/actor"], sets[f"{who}/critic"] = actor, critic
    return sets


# ---- layers -----------------------------------------------------------------------------------------

elu = torch.nn.functional.elu


def dense(p, name, x):
    w, b = p[name + "/w"], p[name + "/b"]
    return x @ w + (b.unsqueeze(-2) if w.dim() == 3 else b)


def mlp(p, name, x):
    """x [S or 1, rows, in] through a stack of S networks: [S, rows, out]."""
    for k in range(LAYERS):
        x = elu(dense(p, f"{name}/{k}", x))
    return dense(p, f"{name}/out", x)


def encode(p, images):
    x = images.permute(0, 3, 1, 2)
    for k in range(4):
        w = p[f"encoder/{k}/w"].permute(3, 2, 0, 1)  # [K,K,C,D] as torch's [D,C,K,K]
        x = elu(torch.nn.functional.conv2d(x, w, p[f"encoder/{k}/b"], stride=2))
    return x.permute(0, 2, 3, 1).reshape(images.shape[0], -1)


def decode(p, features):
    x = dense(p, "decoder/in", features).reshape(-1, 32 * DEPTH, 1, 1)
    for k in range(4):
        w = p[f"decoder/{k}/w"].permute(3, 2, 0, 1)  # [K,K,D,C] as torch's [C,D,K,K]
        x = torch.nn.functional.conv_transpose2d(x, w, p[f"decoder/{k}/b"], stride=2)
        x = elu(x) if k < 3 else x
    return x.permute(0, 2, 3, 1)


def advance(p, stoch, deter, action):
    """The deterministic part of the next state."""
    x = elu(dense(p, "rssm/in", torch.cat([stoch, action], -1)))
    pre = dense(p, "rssm/gru", torch.cat([x, deter], -1))
    mean, var = pre.mean(-1, keepdim=True), pre.var(-1, keepdim=True, unbiased=False)
    parts = (pre - mean) / torch.sqrt(var + 1e-3) * p["rssm/gru/gain"] + p["rssm/gru/bias"]
    reset, cand, update = parts.split(DETER, -1)
    u = torch.sigmoid(update - 1)
    return u * torch.tanh(torch.sigmoid(reset) * cand) + (1 - u) * deter


def logits_of(p, side, x):
    return dense(p, f"rssm/{side}/out", elu(dense(p, f"rssm/{side}/hidden", x)))


def grouped(logits):
    return logits.reshape(logits.shape[:-1] + (STOCH, CLASSES))


closest = [1.0]  # smallest distance of a draw from a class border: how safe the choice is


def sample(logits, name, counter):
    logits = grouped(logits)
    weights = torch.exp(logits - logits.max(-1, keepdim=True).values)
    total = weights.cumsum(-1)
    u = uniforms(name, counter, logits.shape[:-1]).unsqueeze(-1) * total[..., -1:]
    closest[0] = min(closest[0], ((total[..., :-1] - u).abs() / total[..., -1:]).min().item())
    index = (total <= u).sum(-1)
    hot = torch.nn.functional.one_hot(index, CLASSES).to(logits.dtype)
    p = torch.softmax(logits, -1)
    return (hot + p - p.detach()).flatten(-2)


def kl(p, q):
    p, q = torch.log_softmax(grouped(p), -1), torch.log_softmax(grouped(q), -1)
    return (p.exp() * (p - q)).sum((-1, -2)).mean()


def phi(x):
    return torch.exp(-x * x / 2) / math.sqrt(2 * math.pi)


def cdf(x):
    return 0.5 * (1 + torch.erf(x / math.sqrt(2)))


def act(raw, name, counter):
    """Reparameterised sample of the truncated normal, and its entropy."""
    m, s = raw.chunk(2, -1)
    mean, std = torch.tanh(m), 2 * torch.sigmoid(s / 2) + 0.1
    low, high = (-1 - mean) / std, (1 - mean) / std
    u = uniforms(name, counter, mean.shape)
    x = math.sqrt(2) * torch.erfinv(2 * (cdf(low) + u * (cdf(high) - cdf(low))) - 1)
    action = mean + std * x
    clipped = action.clamp(-1 + 1e-6, 1 - 1e-6)
    z = cdf(high) - cdf(low)
    entropy = (torch.log(math.sqrt(2 * math.pi * math.e) * std * z)
               + (low * phi(low) - high * phi(high)) / (2 * z))
    return action + (clipped - action).detach(), entropy.sum(-1)


# ---- losses -----------------------------------------------------------------------------------------

def model_loss(p, data, n):
    """data arrays are time-major [T,B,...]."""
    images = data["image"].double() / 255 - 0.5
    embed = encode(p, images.reshape(-1, 64, 64, 3)).reshape(LENGTH, BATCH, -1)
    stoch, deter = torch.zeros(BATCH, FLAT), torch.zeros(BATCH, DETER)
    stochs, deters, posts = [], [], []
    for t in range(LENGTH):
        keep = (1 - data["first"][t]).unsqueeze(-1)
        deter = advance(p, stoch * keep, deter * keep, data["action"][t] * keep)
        post = logits_of(p, "post", torch.cat([deter, embed[t]], -1))
        stoch = sample(post, f"model/observe/{t}", n)
        stochs.append(stoch), deters.append(deter), posts.append(post)
    stoch, deter, post = torch.stack(stochs), torch.stack(deters), torch.stack(posts)
    prior = logits_of(p, "prior", deter)
    features = torch.cat([stoch, deter], -1)
    image_loss = 0.5 * ((decode(p, features.reshape(-1, FEATURES))
                         - images.reshape(-1, 64, 64, 3)) ** 2).sum((1, 2, 3)).mean()
    kl_post, kl_prior = kl(post, prior.detach()), kl(post.detach(), prior)
    kl_loss = (1 - BALANCE) * kl_post.clamp(min=FREE_NATS) + BALANCE * kl_prior.clamp(min=FREE_NATS)
    return image_loss + KL_SCALE * kl_loss, {"image": image_loss, "kl": kl_post}, stoch, deter


def imagine(model, actor, who, stack, stoch, deter, n):
    """Rolls S policies out from the same starts: features [S,H+1,N,F], actions and entropies [S,H,N,..]."""
    stoch, deter = stoch.expand(stack, -1, -1), deter.expand(stack, -1, -1)
    features, actions, entropies = [torch.cat([stoch, deter], -1)], [], []
    for t in range(HORIZON):
        action, entropy = act(mlp(actor, f"{who}/actor", features[-1].detach()), f"{who}/action/{t}", n)
        deter = advance(model, stoch, deter, action)
        stoch = sample(logits_of(model, "prior", deter), f"{who}/imagine/{t}", n)
        features.append(torch.cat([stoch, deter], -1))
        actions.append(action), entropies.append(entropy)
    return torch.stack(features, 1), torch.stack(actions, 1), torch.stack(entropies, 1)


def lambda_returns(reward, value):
    returns, last = [], value[:, -1]
    for t in reversed(range(HORIZON)):
        last = reward[:, t] + GAMMA * ((1 - LAMBDA) * value[:, t + 1] + LAMBDA * last)
        returns.insert(0, last)
    return torch.stack(returns, 1)


def rows(network, name, x):
    """A network over [S,T,N,F] rows, output of size one dropped."""
    flat = x.reshape(x.shape[0], -1, x.shape[-1])
    return mlp(network, name, flat).reshape(x.shape[:3] + (-1,))


def behaviour_losses(sets, slow, who, stack, reward_of, stoch, deter, n):
    features, actions, entropy = imagine(sets["model"], sets[f"{who}/actor"], who, stack, stoch, deter, n)
    reward = reward_of(features, actions)
    value = rows(slow, f"{who}/critic", features).squeeze(-1)
    returns = lambda_returns(reward, value)
    weight = (GAMMA ** torch.arange(HORIZON)).reshape(1, HORIZON, 1)
    actor_loss = -(weight * (returns + ENTROPY_SCALE * entropy)).mean((1, 2))
    estimate = rows(sets[f"{who}/critic"], f"{who}/critic", features[:, :-1].detach()).squeeze(-1)
    critic_loss = (weight * 0.5 * (estimate - returns.detach()) ** 2).mean((1, 2))
    return actor_loss, critic_loss, reward, returns


def disagreement(ensemble, features, actions):
    x = torch.cat([features[:, :-1], actions], -1)
    prediction = mlp(ensemble, "ensemble", x.reshape(1, -1, FEATURES + ACTIONS))
    spread = prediction.var(0, unbiased=False).sqrt().mean(-1)
    return DISAGREEMENT_SCALE * spread.reshape(x.shape[:-1])


# ---- the update -------------------------------------------------------------------------------------

class Adam:
    """Adam on a named set, clipped by its global norm (per member of the stack, if given), weights decayed before the step."""

    def __init__(self, params, rate, stack=0):
        self.rate, self.stack, self.steps = rate, stack, 0
        self.m = {k: torch.zeros_like(v) for k, v in params.items()}
        self.v = {k: torch.zeros_like(v) for k, v in params.items()}

    def step(self, params, grads):
        self.steps += 1
        norms = []
        for s in range(max(self.stack, 1)):
            part = [g[s] if self.stack else g for g in grads.values()]
            norms.append(torch.sqrt(sum((g * g).sum() for g in part)))
        norm = torch.stack(norms)
        scale = torch.minimum(torch.ones_like(norm), 100.0 / norm)
        for k, g in grads.items():
            g = g * (scale.reshape((-1,) + (1,) * (g.dim() - 1)) if self.stack else scale[0])
            self.m[k] = 0.9 * self.m[k] + 0.1 * g
            self.v[k] = 0.999 * self.v[k] + 0.001 * g * g
            m = self.m[k] / (1 - 0.9 ** self.steps)
            v = self.v[k] / (1 - 0.999 ** self.steps)
            params[k] = params[k] * (1 - 1e-6) - self.rate * m / (torch.sqrt(v) + 1e-5)
        return norm


def gradients(loss, params):
    return dict(zip(params, torch.autograd.grad(loss, list(params.values()))))


def tracked(params):
    return {k: v.detach().requires_grad_() for k, v in params.items()}


def update(sets, slow, optimisers, data, n, record):
    def learn(name, loss):
        grads = gradients(loss, sets[name])
        record(f"grad/{name}", grads)
        record(f"norm/{name}", {"": optimisers[name].step(sets[name], grads)})
        sets[name] = tracked(sets[name])

    loss, parts, stoch, deter = model_loss(sets["model"], data, n)
    record("loss", {"model": loss, "image": parts["image"], "kl": parts["kl"]})
    learn("model", loss)

    stoch, deter = stoch.detach(), deter.detach()
    features = torch.cat([stoch, deter], -1)
    record("state", {"stoch": stoch, "deter": deter})
    reward = rows(sets["reward"], "reward", features.expand(TASKS, -1, -1, -1)).squeeze(-1)
    reward_loss = (0.5 * (reward - data["reward"].permute(2, 0, 1)) ** 2).mean((1, 2))
    record("loss", {"reward": reward_loss})
    learn("reward", reward_loss.sum())

    start = (stoch.reshape(1, -1, FLAT), deter.reshape(1, -1, DETER))
    reward_heads = {k: v.detach() for k, v in sets["reward"].items()}
    sources = {"explore": (1, lambda f, a: disagreement(sets["ensemble"], f, a)),
               "task": (TASKS, lambda f, a: rows(reward_heads, "reward", f[:, 1:]).squeeze(-1))}
    for who, (stack, reward_of) in sources.items():
        actor_loss, critic_loss, reward, returns = behaviour_losses(
            sets, slow[who], who, stack, reward_of, *start, n)
        record("loss", {f"{who}/actor": actor_loss, f"{who}/critic": critic_loss})
        record("imagined", {f"{who}/reward": reward, f"{who}/return": returns})
        if who == "explore":
            record("delta", {"": reward[0].mean(0)})
        learn_actor = gradients(actor_loss.sum(), sets[f"{who}/actor"])
        learn(f"{who}/critic", critic_loss.sum())
        record(f"grad/{who}/actor", learn_actor)
        record(f"norm/{who}/actor", {"": optimisers[f"{who}/actor"].step(sets[f"{who}/actor"], learn_actor)})
        sets[f"{who}/actor"] = tracked(sets[f"{who}/actor"])
        if (n + 1) % SLOW_EVERY == 0:
            slow[who] = {k: v.detach() for k, v in sets[f"{who}/critic"].items()}

    x = torch.cat([features[:-1], data["action"][1:]], -1).reshape(1, -1, FEATURES + ACTIONS)
    target = features[1:].reshape(1, -1, FEATURES)
    ensemble_loss = (0.5 * (mlp(sets["ensemble"], "ensemble", x) - target) ** 2).sum(-1).mean(1)
    record("loss", {"ensemble": ensemble_loss})
    learn("ensemble", ensemble_loss.sum())


def make_batch(generator):
    def rand(*shape):
        return torch.rand(shape, generator=generator).float().double()

    first = torch.zeros(LENGTH, BATCH)
    first[0] = 1
    return {"image": torch.randint(0, 256, (LENGTH, BATCH, 64, 64, 3), generator=generator, dtype=torch.uint8),
            "action": rand(LENGTH, BATCH, ACTIONS) * 2 - 1, "first": first, "reward": rand(LENGTH, BATCH, TASKS)}


def main():
    out = {}

    def keep(name, value):
        value = value.detach().numpy()
        out[name] = value if value.dtype == np.uint8 else np.ascontiguousarray(value.astype(np.float32))

    sets = {name: tracked(p) for name, p in make_parameters().items()}
    for p in sets.values():
        for k, v in p.items():
            keep(f"init/{k}", v)
    slow = {who: {k: v.detach() for k, v in sets[f"{who}/critic"].items()} for who in ("explore", "task")}
    rates = {"model": MODEL_RATE, "ensemble": ENSEMBLE_RATE, "reward": MODEL_RATE}
    stacks = {"ensemble": MEMBERS, "reward": TASKS, "task/actor": TASKS, "task/critic": TASKS}
    optimisers = {name: Adam(p, rates.get(name, POLICY_RATE), stacks.get(name, 0)) for name, p in sets.items()}
    generator = torch.Generator().manual_seed(2)
    data = make_batch(generator)
    for name, value in data.items():
        keep(f"batch/{name}", value)

    for n in range(UPDATES):
        def record(group, values):
            # Gradients and parameters in full for the first update, losses for all.
            if n > 0 and not group.startswith(("loss", "norm", "delta")):
                return
            for k, v in values.items():
                keep(f"{n}/{group}/{k}".rstrip("/"), v)

        update(sets, slow, optimisers, data, n, record)
        if n in (0, UPDATES - 1):
            for p in sets.values():
                for k, v in p.items():
                    keep(f"{n}/param/{k}", v)
    print(f"closest draw to a class border: {closest[0]:.2e} (must stay far above float32 rounding)")
    assert closest[0] > 2e-5
    save_file(out, sys.argv[1], {"about": "written by tools/reference/learner.py"})


main()
