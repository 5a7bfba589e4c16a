"""Domains of plug-ins with vectors, images besides, and discrete actions: environments, policies,
world models."""

import csv
import json
import os
import pickle
import re
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
import waker
from conftest import TINY
from gymnasium import spaces
from gymnasium.utils.env_checker import check_env
from test_policy import rng_key

SOURCE = Path(os.environ.get("WAKER_SOURCE", Path(__file__).parents[2]))
ACTIONS, NUMBERS, STEPS, COUNT = 5, 6, 6, 3

pytestmark = pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler")


@pytest.fixture(scope="module", params=["vector", "both"])
def grid(request, tmp_path_factory):
    """File of the example's domain, which is observed by a vector, or by an image besides."""
    file = tmp_path_factory.mktemp("plugin") / f"{request.param}.so"
    # Without the sanitizer that may be preloaded here: it reports leaks of the compiler.
    plain = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    subprocess.run(["cc", "-std=c17", "-O1", "-shared", "-fPIC", f"-I{SOURCE}/include",
                    f"-DGRID_PICTURE={int(request.param == 'both')}", "-o", file,
                    SOURCE / "examples/plugin/grid.c"], check=True, env=plain)
    return file


@pytest.fixture(scope="module")
def grid_run(grid, tmp_path_factory):
    directory = tmp_path_factory.mktemp("runs") / grid.stem
    assert waker.train(grid, directory, ["toy"], **{**TINY, "steps": 150}) == "finished"
    return directory


def test_a_pickled_environment_of_a_plug_in_continues_in_another_process(grid, tmp_path):
    domain = waker.Domain.load(os.path.relpath(grid))
    curriculum = waker.Curriculum("waker-m", domain)
    env = waker.WakerEnv(domain, curriculum=curriculum)
    env.reset(seed=3)
    env.step(1)
    (tmp_path / "env.pickle").write_bytes(pickle.dumps(env))
    script = ("import pickle, sys\n"
              "env = pickle.load(open('env.pickle', 'rb'))\n"
              "print([env.step(a)[1] for a in (0, 3, 2)], env.reset()[1]['theta'].tolist())\n")
    other = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, text=True,
                           capture_output=True)
    assert other.returncode == 0, other.stderr
    here = [env.step(action)[1] for action in (0, 3, 2)], env.reset()[1]["theta"].tolist()
    assert other.stdout == f"{here[0]} {here[1]}\n"
    twin = pickle.loads(pickle.dumps(domain))
    assert twin.name == domain.name and twin.task_names == domain.task_names


def copied(observation):
    return {name: part.copy() for name, part in observation.items()} \
        if isinstance(observation, dict) else observation.copy()


def row(observation, i):
    return {name: part[i] for name, part in observation.items()} \
        if isinstance(observation, dict) else observation[i]


def stacked(observations):
    return {name: np.array([one[name] for one in observations]) for name in observations[0]} \
        if isinstance(observations[0], dict) else np.array(observations)


def equal(one, other):
    if isinstance(one, dict):
        return set(one) == set(other) and all(equal(one[name], other[name]) for name in one)
    return one.dtype == other.dtype and np.array_equal(one, other)


def test_spaces_are_those_of_the_domain(grid):
    env = waker.WakerEnv(waker.Domain.load(grid), render_mode="rgb_array")
    assert env.action_space == spaces.Discrete(ACTIONS)
    vector = spaces.Box(-np.inf, np.inf, (NUMBERS,), np.float32)
    image = spaces.Box(0, 255, (64, 64, 3), np.uint8)
    assert env.observation_space == (vector if grid.stem == "vector" else
                                     spaces.Dict(image=image, vector=vector))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*infinity.*")  # vectors have no bounds
        check_env(env, skip_render_check=True)  # it needs a registered name
    assert env.render().shape == (256, 256, 3)


def test_actions_are_numbers(grid):
    env = waker.WakerEnv(waker.Domain.load(grid))
    seen = []
    one_hot = np.eye(ACTIONS, dtype=np.float32)
    for actions in ([1, 2, 3, 4, 0], [np.int64(1), np.uint8(2), np.array(3), 4, 0],
                    one_hot[[1, 2, 3, 4, 0]]):
        env.reset(seed=3, options={"theta": [3, 0]})
        seen.append([env.step(action)[0] for action in actions])
    for other in seen[1:]:
        assert all(map(equal, seen[0], other))
    for wrong in (-1, ACTIONS, [0], np.zeros(ACTIONS + 1)):
        with pytest.raises((TypeError, waker.InputError), match="action"):
            env.step(wrong)
    for wrong in (0.5, 1.0, "1", None, True):
        with pytest.raises(TypeError, match="whole numbers"):
            env.step(wrong)
    with pytest.raises(waker.InputError, match="takes one of 5 actions"):
        env.step(np.full(ACTIONS, 0.2, np.float32))


def test_many_environments_are_those_one_by_one(grid):
    domain = waker.Domain.load(grid)
    envs = waker.WakerVectorEnv(domain, COUNT, threads=2)
    assert envs.action_space == spaces.MultiDiscrete([ACTIONS] * COUNT)
    rng = np.random.default_rng(1)
    actions = rng.integers(ACTIONS, size=(domain.episode_steps + 3, COUNT))
    many = [copied(envs.reset(seed=5)[0])] + [copied(envs.step(row)[0]) for row in actions]
    assert all(envs.observation_space.contains(one) for one in many)
    for i in range(COUNT):
        env = waker.WakerEnv(domain)
        observation, _ = env.reset(seed=5 + i)
        assert equal(row(many[0], i), observation)
        over = False
        for t, action in enumerate(actions[:, i]):
            if over:
                observation, over = env.reset()[0], False
            else:
                observation, _, terminated, truncated, _ = env.step(int(action))
                over = terminated or truncated
            assert equal(row(many[t + 1], i), observation)
    with pytest.raises(waker.InputError, match="shape"):
        envs.step(0)
    envs.close()


def test_a_policy_acts_on_what_the_environment_shows(grid, grid_run):
    policy = waker.Policy(grid_run, task="south-west", plugin=grid)
    env = waker.WakerEnv(policy.domain, task="south-west", options=policy.options)
    described = waker.Policy(grid_run, task="south-west")  # without the plug-in's code
    (observation, _), state, other = env.reset(seed=1), policy.reset(4), described.reset(4)
    for _ in range(STEPS):
        action, state = policy.act(observation, state)
        same, other = described.act(observation, other)
        assert env.action_space.contains(action) and action == same
        observation = env.step(action)[0]


def test_actions_are_those_of_an_evaluation(grid, grid_run, tmp_path):
    task = "south-west"
    waker.command("eval", grid_run, "--plugin", grid, "--policy", "alongside", "--task", task,
                  "--cases", "dr", "--envs", 25, "--seed", 3, "--quiet", "--out", tmp_path / "played")
    with open(next(tmp_path.glob("played/eval/*.csv"))) as file:
        rows = list(csv.DictReader(file))
    result = json.loads(next(tmp_path.glob("played/eval/*.json")).read_text())
    policy = waker.Policy(grid_run, task=task, plugin=grid, num_envs=25, threads=1)
    envs = waker.WakerVectorEnv(policy.domain, 25, task=task, options=policy.options)
    key = rng_key(3, "evaluation/dr")
    envs.reset(seed=[key] * 25)
    envs._episodes = list(range(25))  # an evaluation numbers its episodes
    observations, _ = envs.reset(
        options={"theta": [[float(row["gap"]), float(row["wind"])] for row in rows]})
    state, returns = policy.reset(key), np.zeros(25)
    for _ in range(policy.domain.episode_steps):
        actions, state = policy.act(observations, state)
        assert envs.action_space.contains(actions)
        observations, rewards, *_ = envs.step(actions)
        returns += rewards
    assert returns.tolist() == result["tasks"][0]["cases"][0]["returns"]


def test_observations_of_other_domains_are_refused(grid, grid_run):
    policy = waker.Policy(grid_run, task="south-west")
    image, vector = np.zeros((64, 64, 3), np.uint8), np.zeros(NUMBERS, np.float32)
    both = {"image": image, "vector": vector}
    good, wrong = (both, vector) if grid.stem == "both" else (vector, both)
    policy.act(good)
    for observation in (wrong, image, {"image": image}, np.zeros(NUMBERS + 1), None, "x"):
        with pytest.raises((TypeError, waker.InputError), match="observation"):
            policy.act(observation)
    broken = np.full(NUMBERS, np.nan)
    with pytest.raises(waker.InputError, match="not finite"):
        policy.act({**both, "vector": broken} if grid.stem == "both" else broken)


def play(grid):
    """Observations, and the actions that led to them: [T,N,...]."""
    envs = waker.WakerVectorEnv(waker.Domain.load(grid), COUNT, copy=True)
    actions = np.random.default_rng(2).integers(ACTIONS, size=(STEPS, COUNT))
    seen = [envs.reset(seed=1)[0]] + [envs.step(now)[0] for now in actions[1:]]
    return stacked(seen), actions


def test_a_model_observes_and_decodes_what_the_domain_has(grid, grid_run):
    model = waker.Model(grid_run)
    observations, actions = play(grid)
    seen = model.observe(observations, actions)
    assert seen.deter.shape == (STEPS, COUNT, 6) and np.isfinite(seen.deter).all()
    one_hot = np.eye(ACTIONS, dtype=np.float32)[actions]
    assert (model.observe(observations, one_hot).deter == seen.deter).all()
    # In two parts it is the same, and the recurrent part comes before the observation does.
    begun = model.observe(row(observations, slice(2)), actions[:2])
    rest = model.observe(row(observations, slice(2, None)), actions[2:], state=begun.at(-1))
    assert (rest.deter == seen.deter[2:]).all() and (rest.stoch == seen.stoch[2:]).all()
    imagined = model.imagine(begun.at(-1), actions[2:])
    assert (imagined.deter[0] == seen.deter[2]).all()
    decoded = model.decode(imagined)
    vectors = decoded["vector"] if grid.stem == "both" else decoded
    assert vectors.shape == (STEPS - 2, COUNT, NUMBERS) and np.isfinite(vectors).all()
    if grid.stem == "both":
        assert set(decoded) == {"image", "vector"}
        assert decoded["image"].shape == (STEPS - 2, COUNT, 64, 64, 3)
        assert 0 < decoded["image"].mean() < 1
    with pytest.raises((TypeError, waker.InputError)):
        model.observe(np.zeros((STEPS, COUNT, 64, 64, 3), np.uint8), actions)
    with pytest.raises(waker.InputError, match=r"\(T, N\) or \(T, N, 5\)"):
        model.imagine(begun.at(-1), actions[0])


def run_the_snippet_of_the_card(run, card, placeholder, plugin):
    """Makes a card, and runs what it says about loading a policy; gives its variables."""
    waker.command("card", run, "--out", card, "--policy", "alongside", "--no-video")
    text = (card / "README.md").read_text()
    (snippet,) = re.findall(r"```python\n(.*?)```", text, re.S)
    assert f'plugin="{placeholder}"' in snippet and f"in place of `{placeholder}`" in text
    names = {}
    exec(snippet.replace(placeholder, str(plugin)), names)
    names["env"].step(names["action"])
    return text


def test_the_card_of_a_plugins_run_shows_how_to_load_it(grid, grid_run, tmp_path, monkeypatch):
    waker.command("eval", grid_run, "--plugin", grid, "--policy", "alongside", "--envs", 2,
                  "--cases", "dr", "--quiet")
    (tmp_path / "card").mkdir()
    monkeypatch.chdir(tmp_path / "card")
    text = run_the_snippet_of_the_card(grid_run, tmp_path / "card", "FILE.so", grid)
    assert re.search(r"`waker eval \. .* --plugin FILE\.so .*`", text)


def cart_pole():
    return gym.make("CartPole-v1", max_episode_steps=30)


def test_a_run_in_an_environment_of_python_is_loaded(tmp_path, monkeypatch):
    waker.train(cart_pole, tmp_path / "run", ["toy"], **{**TINY, "steps": 150})
    env = cart_pole()
    policy, model = waker.Policy(tmp_path / "run", task="reward"), waker.Model(tmp_path / "run")
    observation, _ = env.reset(seed=1)
    seen, actions, state = [observation], [0], None
    for _ in range(3):
        action, state = policy.act(observation, state)
        observation = env.step(action)[0]
        seen.append(observation)
        actions.append(action)
    latents = model.observe(np.array(seen)[:, None], np.array(actions)[:, None])
    assert model.decode(latents).shape == (4, 1, 4)
    name = f"{__file__}:cart_pole"
    waker.command("eval", tmp_path / "run", "--python", name, "--policy", "alongside", "--envs", 2,
                  "--cases", "dr", "--quiet")
    (tmp_path / "card").mkdir()
    monkeypatch.chdir(tmp_path / "card")
    text = run_the_snippet_of_the_card(tmp_path / "run", tmp_path / "card", "FILE.py:FUNCTION", name)
    assert re.search(r"`waker eval \. .* --python FILE\.py:FUNCTION .*`", text)
