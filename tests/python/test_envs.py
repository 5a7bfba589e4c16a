"""The environments as Gymnasium sees them."""

import pickle
import warnings

import gymnasium as gym
import numpy as np
import pytest
import waker
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode
from waker._registration import DOMAINS


def test_every_domain_has_a_name():
    assert sorted(DOMAINS.values()) == sorted(domain.name for domain in waker.domains())


@pytest.mark.parametrize("name", DOMAINS)
def test_gymnasium_finds_nothing_to_complain_about(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env = gym.make(f"waker/{name}-v0", render_mode="rgb_array")
        check_env(env.unwrapped)
        env.close()


def play(env, steps, seed=3):
    """Observations and rewards of random actions."""
    rng = np.random.default_rng(7)
    seen = [env.reset(seed=seed)[0].copy()]
    rewards = []
    for _ in range(steps):
        observation, reward, *_ = env.step(rng.uniform(-1, 1, env.action_space.shape))
        seen.append(observation.copy())
        rewards.append(reward)
    return np.array(seen), np.array(rewards)


def test_the_seed_decides_and_the_task_chooses_the_reward():
    walk, run = (gym.make("waker/TerrainWalker-v0", task=task) for task in ("walk", "run"))
    seen, rewards = play(walk, 20)
    again, same = play(walk, 20)
    other, others = play(run, 20)
    assert (seen == again).all() and (rewards == same).all()
    assert (seen == other).all() and (rewards != others).any()
    assert (play(walk, 20, seed=4)[0] != seen).any()
    with pytest.raises(waker.NotFoundError, match="did you mean 'walk'"):
        gym.make("waker/TerrainWalker-v0", task="wlak")


def test_info_has_every_task():
    env = gym.make("waker/CleanUp-v0", task="push", options={})
    _, info = env.reset(seed=1)
    assert list(info["rewards"]) == list(info["completion"]) == ["sort", "sort-reverse", "push"]
    *_, reward, terminated, truncated, info = env.step(np.ones(2, np.float32))
    assert info["rewards"]["push"] == reward and not info["diverged"]
    assert type(terminated) is bool and type(truncated) is bool


def test_theta_is_given_as_list_or_by_name():
    env = gym.make("waker/TerrainWalker-v0")
    _, info = env.reset(options={"theta": [0.5, 1.0]})
    assert info["theta"].tolist() == [0.5, 1.0]
    _, info = env.reset(options={"theta": {"length": 2.0, "amplitude": 0.25}})
    assert info["theta"].tolist() == [0.25, 2.0]
    fixed = gym.make("waker/TerrainWalker-v0", theta=[1, 0.2])
    assert fixed.reset()[1]["theta"].tolist() == [1.0, 0.2]
    for wrong in ([0.5], [0.5, 99], [[0.5, 1]], {"amplitude": 1}, [float("nan"), 1]):
        with pytest.raises(waker.InputError):
            env.reset(options={"theta": wrong})
    with pytest.raises(TypeError, match="numbers"):
        env.reset(options={"theta": ["a", "b"]})
    with pytest.raises(waker.InputError, match="no option 'tehta'"):
        env.reset(options={"tehta": [0.5, 1.0]})


def test_a_curriculum_chooses_theta():
    curriculum = waker.Curriculum("dr", "toy", seed=5)
    env = gym.make("waker/Toy-v0", curriculum=curriculum)
    chosen = [env.reset()[1]["theta"][0] for _ in range(30)]
    expected = waker.Curriculum("dr", "toy", seed=5)
    assert chosen == [expected.next()[0] for _ in range(30)] and len(set(chosen)) > 3
    assert curriculum.visits().sum() == 30

    class Mine:
        def next(self):
            return [0.5]

    assert gym.make("waker/Toy-v0", curriculum=Mine()).reset()[1]["theta"] == [0.5]
    with pytest.raises(waker.InputError, match="give one of them"):
        gym.make("waker/Toy-v0", curriculum=Mine(), theta=[0.5])


def test_a_curriculum_learns_from_what_is_reported():
    curriculum = waker.Curriculum("waker-m", "toy", dr_probability=0.0, temperature=0.05)
    thetas = curriculum.space.params
    curriculum.report(thetas, np.where(np.arange(len(thetas)) == 2, 5.0, 1.0))
    assert curriculum.distribution().argmax() == 2
    copy = pickle.loads(pickle.dumps(curriculum))
    assert (copy.distribution() == curriculum.distribution()).all()
    assert (copy.next() == curriculum.next()).all()
    with pytest.raises(waker.InputError, match="own grid"):
        curriculum.report([[0.123]], [1.0])
    with pytest.raises(waker.InputError, match="shape"):
        curriculum.report(thetas, [1.0])
    for wrong in (np.nan, np.inf):
        before = curriculum.distribution()
        with pytest.raises(waker.InputError, match=f"errors must be finite numbers, not {wrong}"):
            curriculum.report(thetas[:2], [1.0, wrong])
        assert (curriculum.distribution() == before).all()


@pytest.mark.parametrize("size", [(64, 64), (17, 200), (640, 480)])
def test_pictures_of_any_size(size):
    env = gym.make("waker/CarCleanUp-v0", render_mode="rgb_array", width=size[0], height=size[1])
    observation, _ = env.reset(seed=1)
    picture = env.render()
    assert picture.shape == (size[1], size[0], 3) and picture.dtype == np.uint8
    if size == (64, 64):
        assert (picture == observation).all()


def vector(n=3, name="Toy", **options):
    return gym.make_vec(f"waker/{name}-v0", num_envs=n, **options)


def test_a_vector_is_its_environments():
    envs = vector(threads=2)
    alone = [gym.make("waker/Toy-v0") for _ in range(3)]
    assert isinstance(envs, waker.WakerVectorEnv)
    assert envs.metadata["autoreset_mode"] == AutoresetMode.NEXT_STEP
    images, info = envs.reset(seed=10)
    firsts = [env.reset(seed=10 + i) for i, env in enumerate(alone)]
    rng = np.random.default_rng(1)
    over = False
    for step in range(60):  # episodes of 20 steps: two ends
        for i in range(3):
            assert (images[i] == firsts[i][0]).all()
            assert info["theta"][i] == firsts[i][1]["theta"]
        actions = rng.uniform(-1, 1, (3, 2)).astype(np.float32)
        images, rewards, terminated, truncated, info = envs.step(actions)
        if over:
            firsts = [env.reset() for env in alone]
            assert (rewards == 0).all() and not (terminated | truncated).any()
            over = False
            continue
        stepped = [env.step(actions[i]) for i, env in enumerate(alone)]
        firsts = [(step[0], step[4]) for step in stepped]
        assert rewards.tolist() == [step[1] for step in stepped]
        assert truncated.tolist() == [step[3] for step in stepped]
        for i in range(3):
            assert info["rewards"]["east"][i] == stepped[i][4]["rewards"]["east"]
        assert set(info["rewards"]) == {"west", "east", "_west", "_east"} and info["rewards"]["_east"].all()
        over = truncated.all()
    assert step == 59


def test_observations_are_views_or_copies():
    envs, copies = vector(), vector(copy=True)
    first, _ = envs.reset(seed=1)
    second, *_ = envs.step(np.ones((3, 2)))
    assert np.shares_memory(first, second)
    first, _ = copies.reset(seed=1)
    second, *_ = copies.step(np.ones((3, 2)))
    assert not np.shares_memory(first, second) and (first != second).any()
    # What is still looked at outlives the environment.
    kept, *_ = envs.step(np.ones((3, 2)))
    before = kept.copy()
    envs.close()
    del envs
    assert (kept == before).all()


def test_a_vector_takes_theta_for_all_or_each_and_a_mask():
    envs = vector()
    assert envs.reset(options={"theta": [0.5]})[1]["theta"].tolist() == [[0.5]] * 3
    _, info = envs.reset(options={"theta": [[0.0], [0.5], [1.0]]})
    assert info["theta"].tolist() == [[0.0], [0.5], [1.0]]
    before = envs.step(np.ones((3, 2)))[0].copy()
    images, info = envs.reset(options={"theta": [1.0], "reset_mask": np.array([1, 0, 0], bool)})
    assert info["theta"].tolist() == [[1.0], [0.5], [1.0]]
    assert (images[1:] == before[1:]).all() and (images[0] != before[0]).any()
    with pytest.raises(waker.InputError, match="one for all or 3"):
        envs.reset(options={"theta": [[0.5], [0.5]]})
    with pytest.raises(waker.InputError, match="seed must be one or 3 numbers, not 2"):
        envs.reset(seed=[1, 2])


def test_pictures_of_a_vector():
    envs = vector(render_mode="rgb_array", width=32, height=16)
    envs.reset(seed=1)
    assert [picture.shape for picture in envs.render()] == [(16, 32, 3)] * 3


@pytest.mark.parametrize("name", ["Toy", "TerrainHopper"])
def test_pickled_environments_go_on_bit_for_bit(name):
    env = gym.make(f"waker/{name}-v0", task=None).unwrapped
    play(env, 7)
    copy = pickle.loads(pickle.dumps(env))
    envs = vector(2, name)
    play(envs, 7)
    copies = pickle.loads(pickle.dumps(envs))
    for a, b in ((env, copy), (envs, copies)):
        rng = np.random.default_rng(2)
        for _ in range(15):
            action = rng.uniform(-1, 1, a.action_space.shape)
            one, two = a.step(action), b.step(action)
            assert (one[0] == two[0]).all() and np.array_equal(one[1], two[1])
            if np.any(one[3]) and a is env:
                break
        assert (a.reset()[0] == b.reset()[0]).all()


def test_gymnasiums_own_wrappers_and_vectors_work():
    env = gym.wrappers.GrayscaleObservation(gym.make("waker/Toy-v0"))
    assert env.reset(seed=1)[0].shape == (64, 64)
    envs = gym.wrappers.vector.RecordEpisodeStatistics(vector())
    envs.reset(seed=1)
    for _ in range(21):
        *_, info = envs.step(np.ones((3, 2)))
        if "episode" in info:
            assert (info["episode"]["l"] == 20).all()
            break
    else:
        pytest.fail("no episode ended")
    sync = gym.make_vec("waker/Toy-v0", num_envs=2, vectorization_mode="sync")
    sync.reset(seed=10)
    assert sync.step(np.ones((2, 2)))[0].shape == (2, 64, 64, 3)
