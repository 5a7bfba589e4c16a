"""One update of world model, ensemble and policies in JAX: what wk_learner_start and wk_learner_start_tasks do.

make_update gives a function of (state, batch, noise) to be put under one jit. All randomness is in `noise`, so that a
test can give it the draws of another program.
"""
import jax
import jax.numpy as jnp
from jax import lax

from networks import (F32, Builder, act, add_bias, aligned, decode, dense, elu, encode, entropy, flat_rows, gru, gumbel_choice,
                      keep_products, kl, mlp, model_params, product, sample, saturation, scalar, wide)

stop = lax.stop_gradient


def make_params(key, s):
    """The trained sets; stacks lead with their members."""
    keys = iter(jax.random.split(key, 8))

    def build(inputs, outputs, stack=None):
        return Builder(next(keys), stack).mlp(s, inputs, outputs)

    params = {'model': model_params(next(keys), s),
              'ensemble': build(s.features + s.actions, s.features, s.ensemble),
              'explore/actor': build(s.features, 2 * s.actions), 'explore/critic': build(s.features, 1)}
    if s.tasks:
        params |= {'reward': build(s.features, 1, s.tasks), 'task/actor': build(s.features, 2 * s.actions, s.tasks),
                   'task/critic': build(s.features, 1, s.tasks)}
    return params


STACKS = ('ensemble', 'reward', 'task/actor', 'task/critic')


def make_state(params):
    """Parameters, Adam's moments, slow critics and the number of updates."""
    zeros = jax.tree.map(jnp.zeros_like, params)
    slow = {name: jax.tree.map(jnp.copy, p) for name, p in params.items() if name.endswith('/critic')}
    return {'params': params, 'm': zeros, 'v': jax.tree.map(jnp.copy, zeros), 'slow': slow,
            'count': jnp.zeros((), jnp.int32)}


def make_noise(key, s):
    """Draws for one update: Gumbel noise for classes, uniform numbers for actions."""
    keys = iter(jax.random.split(key, 5))

    def rollout(stack=()):
        shape = stack + (s.horizon, s.rows)
        return {'action': jax.random.uniform(next(keys), shape + (s.actions,)),
                'imagine': jax.random.gumbel(next(keys), shape + (s.stoch, s.classes))}

    noise = {'observe': jax.random.gumbel(next(keys), (s.length, s.batch, s.stoch, s.classes)), 'explore': rollout()}
    if s.tasks:
        noise['task'] = rollout((s.tasks,))
    return noise


def make_batch(key, s):
    """A batch of noise: the time of an update does not depend on what it sees."""
    keys = jax.random.split(key, 3)
    shape = (s.length, s.batch)
    batch = {'image': jax.random.randint(keys[0], shape + (64, 64, 3), 0, 256, jnp.uint8),
             'action': jax.random.uniform(keys[1], shape + (s.actions,), minval=-1),
             'first': jnp.zeros(shape).at[0].set(1)}
    if s.tasks:
        batch['reward'] = jax.random.uniform(keys[2], shape + (s.tasks,))
    return batch


def adam(params, m, v, gradients, count, rate, stacked):
    """One step, clipped by the norm over all of a network; every member of a stack is a network."""
    def squares(g):
        return jnp.square(g).sum(tuple(range(1 if stacked else 0, g.ndim)))

    norm = jnp.sqrt(sum(squares(g) for g in gradients.values()))
    factor = jnp.minimum(1, 100 / norm)
    rate_m, rate_v = 1 / (1 - 0.9 ** count), 1 / (1 - 0.999 ** count)

    def step(p, m, v, g):
        g = g * factor.reshape(factor.shape + (1,) * (g.ndim - factor.ndim))
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * jnp.square(g)
        return p * (1 - 1e-6) - rate * (m * rate_m) / (jnp.sqrt(v * rate_v) + 1e-5), m, v

    stepped = {k: step(params[k], m[k], v[k], g) for k, g in gradients.items()}
    return *({k: triple[i] for k, triple in stepped.items()} for i in range(3)), norm


class Training:
    """The state of an update under way: sets are replaced as they are trained."""

    def __init__(self, state, s):
        self.s, self.count, self.slow = s, state['count'] + 1, state['slow']
        self.params, self.m, self.v = (dict(state[part]) for part in ('params', 'm', 'v'))
        self.losses, self.norms, self.entropies = {}, {}, {}

    def step(self, name, gradients):
        explore = self.s.exploration_rate or self.s.policy_rate
        rates = {'model': self.s.model_rate, 'reward': self.s.model_rate, 'ensemble': self.s.ensemble_rate,
                 'explore/actor': explore, 'explore/critic': explore}
        self.params[name], self.m[name], self.v[name], self.norms[name] = adam(
            self.params[name], self.m[name], self.v[name], gradients, self.count,
            rates.get(name, self.s.policy_rate), name in STACKS)

    def step_policy(self, who, losses, entropy, d_actor, d_critic):
        self.entropies[who] = entropy
        self.losses |= {f'{who}/{part}': loss for part, loss in losses.items()}
        self.step(f'{who}/actor', d_actor)
        self.step(f'{who}/critic', d_critic)

    def state(self):
        """What the next update begins with; slow critics follow every slow_period updates."""
        copy = self.count % self.s.slow_period == 0
        slow = {name: jax.tree.map(lambda new, old: jnp.where(copy, new, old), self.params[name], old)
                for name, old in self.slow.items()}
        return {'params': self.params, 'm': self.m, 'v': self.v, 'slow': slow, 'count': self.count}


def lambda_returns(reward, value, s):
    """G_t = r_t + discount ((1 - mixing) v_{t+1} + mixing G_{t+1}), all [H,N]; unrolled, it is one kernel."""
    def step(after, now):
        r, v = now
        after = r + s.discount * ((1 - s.mixing) * v + s.mixing * after)
        return after, after

    return lax.scan(step, value[-1], (reward, value[1:]), reverse=True, unroll=True)[1]


@jax.custom_vjp
def deviation(prediction):
    """Standard deviation over the members of [M,..]."""
    return deviation_forward(prediction)[0]


# Both ways are one pass over the members: the sums are written out, the gradient is an expression of each element.
def deviation_forward(prediction):
    members = [x.astype(F32) for x in prediction]
    mean = sum(members) / len(members)
    spread = jnp.sqrt(sum(jnp.square(x - mean) for x in members) / len(members))
    return spread, (prediction, mean, spread)


def deviation_backward(kept, d):
    prediction, mean, spread = kept
    factor = d / (len(prediction) * jnp.maximum(spread, 1e-6))
    return ((factor * (prediction.astype(F32) - mean)).astype(prediction.dtype),)


deviation.defvjp(deviation_forward, deviation_backward)


class Update:
    """The losses of an update for one choice of sizes and precision."""

    def __init__(self, settings, low, choose, unroll):
        self.s, self.low, self.choose, self.unroll = settings, low, choose, unroll
        self.recurrence = jax.custom_vjp(lambda *a: self.follow(*a)[0])
        self.recurrence.defvjp(self.recurrence_forward, self.recurrence_backward)

    def features(self, stoch, deter):
        return jnp.concatenate([stoch, deter.astype(self.low)], -1)

    def draw(self, logits, noise):
        return sample(logits, noise, self.s.classes, self.choose, self.low)

    def follow(self, weights, norm, added, keep, noise):
        """All steps of the posterior's recurrence, and the inputs of its products."""
        s, low = self.s, self.low
        weights = {k: w.astype(low) for k, w in weights.items()}
        keep = keep[..., None]

        def step(latent, now):
            add, keep, noise = now
            stoch, deter = (x * keep.astype(x.dtype) for x in latent)
            x = elu(product(stoch, weights['in'], low, low) + add['in'])
            both = jnp.concatenate([x, deter.astype(low)], -1)
            deter = gru(product(both, weights['gru'], low, F32) + add['gru'], *norm, deter)
            hidden = elu(product(deter, weights['hidden'], low, low) + add['hidden'])
            logits = product(hidden, weights['out'], low, F32) + add['out']
            stoch = self.draw(logits, noise)
            return (stoch, deter), (stoch, deter, logits, x, hidden)

        start = jnp.zeros((s.batch, s.flat), low), jnp.zeros((s.batch, s.deter))
        stoch, deter, logits, x, hidden = lax.scan(keep_products(step), start, (added, keep, noise),
                                                   unroll=self.unroll)[1]
        before = [jnp.concatenate([a[None], b[:-1]]).astype(low) * keep.astype(low)
                  for a, b in zip(start, (stoch, deter))]
        operands = {'in': before[0], 'gru': jnp.concatenate([x, before[1]], -1), 'hidden': deter.astype(low),
                    'out': hidden}
        return (stoch, deter, logits), operands

    # Weights' gradients over all steps at once, from the gradients of what is added to each product: inside the scan
    # there would be one product over `batch` rows for each, and a sum as large as the weights, at every step.

    def recurrence_forward(self, weights, norm, added, keep, noise):
        result, back, operands = jax.vjp(lambda n, a: self.follow(weights, n, a, keep, noise), norm, added,
                                         has_aux=True)
        return result, (back, operands)

    def recurrence_backward(self, kept, d):
        back, operands = kept
        d_norm, d_added = back(d)
        d_weights = {k: wide(flat_rows(x).T, flat_rows(d_added[k].astype(self.low))) for k, x in operands.items()}
        return d_weights, d_norm, d_added, None, None

    def observe(self, p, embed, action, keep, noise):
        """Posterior states and logits of B sequences of T steps. What images and actions add is one product each."""
        s, low = self.s, self.low
        steps = (s.length, s.batch)
        into, hidden = p['rssm/in/w'], p['rssm/post/hidden/w']
        added = {
            'in': add_bias(product(action * keep[..., None], into[s.flat:], low, low), p['rssm/in/b']),
            'gru': jnp.broadcast_to(p['rssm/gru/b'], steps + (3 * s.deter,)),
            'hidden': add_bias(product(embed, hidden[s.deter:], low, low), p['rssm/post/hidden/b']),
            'out': jnp.broadcast_to(p['rssm/post/out/b'], steps + (s.flat,))}
        weights = {'in': into[:s.flat], 'gru': p['rssm/gru/w'], 'hidden': hidden[:s.deter], 'out': p['rssm/post/out/w']}
        return self.recurrence(weights, (p['rssm/gru/gain'], p['rssm/gru/bias']), added, keep, noise)

    def advance(self, p, stoch, deter, action):
        """The next deterministic state."""
        low = self.low
        x = elu(dense(p, 'rssm/in', jnp.concatenate([stoch, action.astype(low)], -1), low))
        gates = dense(p, 'rssm/gru', jnp.concatenate([x, deter.astype(low)], -1), low, F32)
        return gru(gates, p['rssm/gru/gain'], p['rssm/gru/bias'], deter)

    def prior(self, p, deter):
        return dense(p, 'rssm/prior/out', elu(dense(p, 'rssm/prior/hidden', deter, self.low)), self.low, F32)

    def model_loss(self, p, batch, noise):
        s = self.s
        images = batch['image'].reshape(-1, 64, 64, 3).astype(F32) / 255 - 0.5
        embed = encode(p, images, self.low).reshape(s.length, s.batch, -1)
        stoch, deter, post = self.observe(p, embed, batch['action'], 1 - batch['first'], noise)
        prior = self.prior(p, deter)
        to_post, to_prior = kl(post, stop(prior), s.classes), kl(stop(post), prior, s.classes)
        kl_loss = ((1 - s.kl_balance) * jnp.maximum(to_post, s.free_nats)
                   + s.kl_balance * jnp.maximum(to_prior, s.free_nats))
        pictures = decode(p, flat_rows(self.features(stoch, deter)), self.low)
        image = 0.5 * jnp.square(pictures - images).sum((1, 2, 3)).mean()
        return image + s.kl_scale * kl_loss, (image, to_post, stop(stoch), stop(deter))

    def imagine(self, p, actor, pushes, start, noise):
        """A rollout from states [N,..]: features [H+1,N,F] and actions [H,N,A].

        `pushes` [H,N,2A] are zeros added to what the actor says; their gradient is that of its results.
        """
        low, s = self.low, self.s

        def step(latent, now):
            push, noise = now
            stoch, deter = latent
            action = act(mlp(actor, stop(self.features(stoch, deter)), low).astype(F32) + push, noise['action'],
                         s.sample_gradient)
            deter = self.advance(p, stoch, deter, action)
            stoch = self.draw(self.prior(p, deter), noise['imagine'])
            return (stoch, deter), (self.features(stoch, deter), action)

        features, actions = lax.scan(keep_products(step), start, (pushes, noise), unroll=self.unroll)[1]
        return jnp.concatenate([self.features(*start)[None], features]), actions

    def behave(self, actor, critic, slow, model, reward_of, start, noise, saturation_scale=0):
        """Losses of an actor and a critic in imagination, the actor's entropy, their gradients, and the rewards [H,N]."""
        s, low = self.s, self.low
        weight = (s.discount ** jnp.arange(s.horizon))[:, None]

        def return_loss(pushes):
            features, actions = self.imagine(model, actor, pushes, start, noise)
            reward = reward_of(features, actions)
            returns = lambda_returns(reward, scalar(slow, features, low), s)
            return -(weight * returns).mean(), (features, reward, returns)

        zeros = jnp.zeros((s.horizon, s.rows, 2 * s.actions))
        (loss, seen), pushed = jax.value_and_grad(return_loss, has_aux=True)(zeros)
        features, reward, returns = stop(seen)
        features = features[:-1]

        def actor_objective(actor):
            # Over all steps at once: the gradient of the returns arrives at the actor's results.
            choice = mlp(actor, features, low).astype(F32)
            spread = entropy(choice)
            other = saturation_scale * saturation(choice).mean() - s.entropy_scale * (weight * spread).mean()
            return (choice * pushed).sum() + other, (other, spread.mean())

        def critic_loss(critic):
            return 0.5 * (weight * jnp.square(scalar(critic, features, low) - returns)).mean()

        d_actor, (other, spread) = jax.grad(actor_objective, has_aux=True)(actor)
        of_critic, d_critic = jax.value_and_grad(critic_loss)(critic)
        return {'actor': loss + other, 'critic': of_critic}, spread, d_actor, d_critic, reward

    def predict(self, ensemble, x):
        """What every member says of rows x: [M,N,F]."""
        return jax.vmap(mlp, (0, None, None))(ensemble | {'0/w': aligned(ensemble['0/w'])}, flat_rows(x), self.low)

    def disagreement(self, ensemble, features, actions):
        x = jnp.concatenate([features[:-1], actions.astype(self.low)], -1)
        prediction = self.predict(ensemble, x)
        return self.s.disagreement_scale * deviation(prediction).mean(-1).reshape(actions.shape[:2])

    def ensemble_loss(self, ensemble, stoch, deter, action):
        s = self.s
        x = jnp.concatenate([self.features(stoch, deter)[:-1], action[1:].astype(self.low)], -1)
        target = jnp.concatenate([stoch.astype(F32), deter], -1)[1:].reshape(-1, s.features)
        loss = 0.5 * jnp.square(self.predict(ensemble, x).astype(F32) - target).sum(-1).mean(-1)
        return loss.sum(), loss

    def reward_loss(self, heads, features, reward):
        guess = jax.vmap(scalar, (0, None, None))(heads, features, self.low)
        loss = 0.5 * jnp.square(guess - reward.reshape(self.s.rows, -1).T).mean(-1)
        return loss.sum(), loss

    def train_model(self, t, batch, noise):
        """Trains the world model; gives the posterior states from before the step."""
        (t.losses['model'], (t.losses['image'], t.losses['kl'], stoch, deter)), gradients = jax.value_and_grad(
            self.model_loss, has_aux=True)(t.params['model'], batch, noise)
        t.step('model', gradients)
        return stoch, deter

    def train_exploration(self, t, model, start, noise):
        """Trains the exploration policy on the disagreement of the ensemble as it is; gives delta of every start."""
        ensemble = jax.tree.map(lambda p: p.astype(self.low), t.params['ensemble'])
        *trained, reward = self.behave(
            t.params['explore/actor'], t.params['explore/critic'], t.slow['explore/critic'], model,
            lambda f, a: self.disagreement(ensemble, f, a), start, noise, self.s.saturation_scale)
        t.step_policy('explore', *trained)
        return reward.mean(0)

    def train_ensemble(self, t, stoch, deter, action):
        gradients, t.losses['ensemble'] = jax.grad(self.ensemble_loss, has_aux=True)(
            t.params['ensemble'], stoch, deter, action)
        t.step('ensemble', gradients)

    def train_tasks(self, t, model, start, reward, noise):
        """Trains reward heads, then the policies on what they say."""
        gradients, t.losses['reward'] = jax.grad(self.reward_loss, has_aux=True)(
            t.params['reward'], self.features(*start), reward)
        t.step('reward', gradients)

        def of_task(actor, critic, slow, head, noise):
            return self.behave(actor, critic, slow, model, lambda f, a: scalar(head, f[1:], self.low), start, noise)[:4]

        t.step_policy('task', *jax.vmap(of_task)(
            t.params['task/actor'], t.params['task/critic'], t.slow['task/critic'], t.params['reward'], noise))

    def __call__(self, state, batch, noise):
        """The state after an update, and its figures: losses and norms by set, entropies of policies, delta [T*B] of every start."""
        t = Training(state, self.s)
        stoch, deter = self.train_model(t, batch, noise['observe'])
        start = flat_rows(stoch), flat_rows(deter)
        model = {k: p if p.ndim == 1 else aligned(p.astype(self.low))
                 for k, p in t.params['model'].items() if k.startswith('rssm/')}
        delta = self.train_exploration(t, model, start, noise['explore'])
        self.train_ensemble(t, stoch, deter, batch['action'])
        if self.s.tasks:
            self.train_tasks(t, model, start, batch['reward'], noise['task'])
        return t.state(), {'loss': t.losses, 'norm': t.norms, 'entropy': t.entropies, 'delta': delta}


def make_update(settings, precision, choose=gumbel_choice, unroll=1):
    """A function (state, batch, noise) -> (state, figures)."""
    return Update(settings, {'bf16': jnp.bfloat16, 'f32': F32}[precision], choose, unroll)
