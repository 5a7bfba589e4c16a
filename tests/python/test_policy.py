"""Policies and world models of saved runs."""

import csv
import importlib.util
import json
import os
import pickle
import sys
from pathlib import Path

import numpy as np
import pytest
import waker

SOURCE = Path(os.environ.get("WAKER_SOURCE", Path(__file__).parents[2]))
MASK = 2**64 - 1


def mix(x):
    """splitmix64's finaliser, as src/base/random.c."""
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB & MASK
    return x ^ (x >> 31)


def rng_key(seed, name):
    h = 0xCBF29CE484222325
    for byte in name.encode():
        h = (h ^ byte) * 0x100000001B3 & MASK
    return mix(mix((seed + 0x9E3779B97F4A7C15) & MASK) ^ h)


def test_actions_are_those_of_an_evaluation(run):
    rows = list(csv.DictReader(open(next(run.glob("eval/*.csv")))))
    result = json.load(open(next(run.glob("eval/*.json"))))
    expected = result["tasks"][0]["cases"][0]["returns"]
    policy = waker.Policy(run, task="west", num_envs=25, threads=1)
    envs = waker.WakerVectorEnv(policy.domain, 25, task="west", options=policy.options)
    key = rng_key(3, "evaluation/dr")
    envs.reset(seed=[key] * 25)
    envs._episodes = list(range(25))  # an evaluation numbers its episodes
    images, _ = envs.reset(options={"theta": [[float(row["turbulence"])] for row in rows]})
    state, returns = policy.reset(key), np.zeros(25)
    for _ in range(policy.domain.episode_steps):
        actions, state = policy.act(images, state)
        images, rewards, *_ = envs.step(actions)
        returns += rewards
    assert returns.tolist() == expected
    assert waker.Run(run).evaluations()[0]["mean"] == waker.stats.mean(returns)


def grey(level, *leading):
    return np.full((*leading, 64, 64, 3), level, np.uint8)


def test_states_are_values(run):
    policy = waker.Policy(run, "west", step=402)
    assert policy.step == 402 and policy.domain.name == "toy"
    _, begun = policy.act(grey(90))
    one, after = policy.act(grey(170), begun)
    policy.act(grey(10), after)
    again, _ = policy.act(grey(170), begun)  # back in time
    copied, _ = policy.act(grey(170), pickle.loads(pickle.dumps(begun)))
    assert one.shape == (2,) and one.dtype == np.float32
    assert (one == again).all() and (one == copied).all()
    elsewhere, _ = waker.Policy(run, "west").act(grey(170), begun)
    assert (one == elsewhere).all()


def test_a_card_is_loaded_as_a_run(run, tmp_path):
    said = waker.command("card", run, "--out", tmp_path / "card", "--policy", "alongside")
    assert "1 task, 1 result, " in said
    card, original = waker.Policy(tmp_path / "card", task="west"), waker.Policy(run, task="west")
    assert (card.act(grey(90))[0] == original.act(grey(90))[0]).all()
    env = waker.WakerEnv(card.domain, task="west", options=card.options)
    action, state = card.act(env.reset(seed=1)[0], None)
    env.step(action)


def test_first_forgets(run):
    policy = waker.Policy(run, "west", num_envs=2)

    def second(level, first):
        state = policy.reset(7)
        _, state = policy.act(grey(level, 2), state)
        return policy.act(grey(170, 2), state, first=first)[0]

    dark, light = second(10, [True, False]), second(240, [True, False])
    assert (dark[0] == light[0]).all()


def test_draws_come_from_the_seed(run):
    mode = waker.Policy(run, "west").act(grey(90))[0]
    one = waker.Policy(run, "west", sample=True, seed=1).act(grey(90))[0]
    same = waker.Policy(run, "west", sample=True, seed=1).act(grey(90))[0]
    other = waker.Policy(run, "west", sample=True, seed=2).act(grey(90))[0]
    assert (one == same).all() and (one != other).any() and (one != mode).any()
    assert waker.Policy(run, "explore").act(grey(90))[0].shape == (2,)


def test_what_a_policy_refuses(run, tmp_path):
    with pytest.raises(waker.NotFoundError, match="did you mean 'west'"):
        waker.Policy(run, "wets")
    with pytest.raises(waker.NotFoundError, match="holds no run"):
        waker.Policy(tmp_path, "west")
    with pytest.raises(waker.NotFoundError, match="402"):
        waker.Policy(run, "west", step=7)
    policy = waker.Policy(run, "west")
    for wrong in (grey(1).astype(np.float32), grey(1) / 255, "x", None):
        with pytest.raises((TypeError, waker.InputError)):
            policy.act(wrong)
    for wrong in (grey(1, 1), grey(1)[:32], grey(1).transpose(2, 0, 1)):
        with pytest.raises(waker.InputError, match="shape"):
            policy.act(wrong)
    with pytest.raises(TypeError, match="state"):
        policy.act(grey(1), state=np.zeros(3))
    _, two = waker.Policy(run, "west", num_envs=2).act(grey(1, 2))
    with pytest.raises(waker.InputError, match="another policy"):
        policy.act(grey(1), two)
    with pytest.raises(TypeError, match="open its run again"):
        pickle.dumps(policy)
    strided = np.zeros((64, 128, 3), np.uint8)[:, ::2]
    once, again = (policy.act(image, policy.reset(1))[0] for image in (strided, strided.copy()))
    assert (once == again).all()
    policy.close()
    with pytest.raises(waker.ClosedError):
        policy.act(grey(1))


def episode(count=3, steps=8):
    """Images, the actions that led to them, and where episodes begin: [T,N,...]."""
    envs = waker.WakerVectorEnv("toy", count, copy=True)
    images, actions = [envs.reset(seed=1)[0]], [np.zeros((count, 2), np.float32)]
    rng = np.random.default_rng(3)
    for _ in range(steps - 1):
        actions.append(rng.uniform(-1, 1, (count, 2)).astype(np.float32))
        images.append(envs.step(actions[-1])[0])
    return np.array(images), np.array(actions)


def test_a_model_observes_imagines_and_decodes(run):
    model = waker.Model(run)
    images, actions = episode()
    seen = model.observe(images, actions)
    assert seen.stoch.shape == (8, 3, 9) and seen.deter.shape == (8, 3, 6)
    assert (seen.stoch.reshape(8, 3, 3, 3).sum(-1) == 1).all()
    assert seen.features.shape == (8, 3, model.features)
    # In two parts it is the same.
    first = model.observe(images[:3], actions[:3])
    rest = model.observe(images[3:], actions[3:], state=first.at(-1))
    assert (rest.deter == seen.deter[3:]).all() and (rest.stoch == seen.stoch[3:]).all()
    # Where an episode begins the past does not matter.
    begin = np.zeros((5, 3), bool)
    begin[0] = True
    fresh = model.observe(images[3:], actions[3:], first=begin, state=first.at(-1))
    assert (fresh.deter == model.observe(images[3:], actions[3:]).deter).all()
    imagined = model.imagine(first.at(-1), actions[3:])
    assert imagined.deter.shape == (5, 3, 6)
    # The recurrent part comes before the image does.
    assert (imagined.deter[0] == seen.deter[3]).all()
    drawn = model.decode(seen)
    assert drawn.shape == (8, 3, 64, 64, 3)
    assert np.allclose(drawn[2], model.decode(seen.at(2)), atol=1e-6)  # rows change the rounding
    assert np.isfinite(drawn).all() and abs(drawn.mean() - images.mean() / 255) < 0.3
    sampled = [waker.Model(run, sample=True, seed=seed).observe(images, actions).stoch
               for seed in (1, 1, 2)]
    assert (sampled[0] == sampled[1]).all() and (sampled[0] != sampled[2]).any()
    for wrong in (lambda: model.observe(images[:2], actions), lambda: model.imagine(None, actions[0]),
                  lambda: model.observe(images.astype(float), actions),
                  lambda: model.decode(model.initial(0))):
        with pytest.raises((waker.InputError, TypeError)):
            wrong()


def test_numbers_that_are_not_finite_are_refused(run):
    model = waker.Model(run)
    images, actions = episode()
    actions[4, 1, 0] = np.nan
    with pytest.raises(waker.InputError, match="number 0 of action 1 is not finite"):
        model.observe(images, actions)
    with pytest.raises(waker.InputError, match="number 0 of action 1 is not finite"):
        model.imagine(model.initial(3), actions)


def example(name):
    sys.path.insert(0, str(SOURCE / "examples/python"))
    spec = importlib.util.spec_from_file_location(name, SOURCE / "examples/python" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("reader", ["numpy_reader", "torch_reader"])
def test_other_readers_of_the_weights_see_the_same_features(run, reader):
    if reader == "torch_reader":
        pytest.importorskip("torch", reason="SKIPPED: no PyTorch here; run tests/python/run with one")
    images, actions = episode()
    expected = waker.Model(run).observe(images, actions)
    features = example(reader).features(waker.Run(run).snapshot(), images, actions)
    assert np.abs(np.asarray(features) - expected.features).max() < 1e-5
