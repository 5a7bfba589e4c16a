"""Other people's learners on our environments, as they are. Without PyTorch those that need it are
skipped, with a line that says so."""

import os
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
import waker

SOURCE = Path(os.environ.get("WAKER_SOURCE", Path(__file__).parents[2]))


def test_a_loop_over_a_vector_learns():
    """REINFORCE with a linear policy: more reward after than before."""
    envs = gym.wrappers.vector.RecordEpisodeStatistics(
        gym.make_vec("waker/Toy-v0", num_envs=16, task="west", theta=[0.0]))
    rng = np.random.default_rng(0)
    mean, returns = np.zeros(2), []
    for _ in range(6):
        observations, _ = envs.reset(seed=int(rng.integers(1000)))
        noise, total = np.zeros((16, 2)), np.zeros(16)
        for _ in range(20):
            drawn = rng.normal(size=(16, 2)) * 0.5
            observations, rewards, terminated, truncated, info = envs.step(mean + drawn)
            noise, total = noise + drawn, total + rewards
        assert truncated.all() and np.allclose(info["episode"]["r"], total, atol=1e-3)
        returns.append(total.mean())
        mean = np.clip(mean + 0.3 * ((total - total.mean())[:, None] * noise).mean(0), -1, 1)
    assert np.mean(returns[-2:]) > np.mean(returns[:2]) + 0.5


# What each needs besides the environments; those of images alone do without a Dict.
ARGUMENTS = {
    "ArrayConversion": {"env_xp": np, "target_xp": np}, "ClipReward": {"max_reward": 0.5},
    "DtypeObservation": {"dtype": np.float32}, "RescaleAction": {"min_action": -2, "max_action": 2},
    "RescaleObservation": {"min_obs": np.float32(0), "max_obs": np.float32(1)},
    "ReshapeObservation": {"shape": (64 * 64, 3)}, "ResizeObservation": {"shape": (32, 32)},
    "TransformAction": {"func": lambda action: action}, "TransformReward": {"func": lambda reward: reward},
    "TransformObservation": {"func": lambda observation: observation}}


@pytest.mark.parametrize("name", sorted(name for name in gym.wrappers.vector.__all__
                                        if not name.startswith(("Vectorize", "Human"))))
def test_gymnasiums_wrappers_of_vectors(tmp_path, name):
    given = ARGUMENTS.get(name, {})
    envs = gym.make_vec("waker/Toy-v0", num_envs=3, render_mode="rgb_array", width=32, height=32)
    if name == "FilterObservation":
        pytest.skip("the toy shows images alone")
    if name == "RecordVideo":
        given = {"video_folder": str(tmp_path)}
    try:
        wrapped = getattr(gym.wrappers.vector, name)(envs, **given)
    except (ImportError, gym.error.DependencyNotInstalled) as missing:
        pytest.skip(f"SKIPPED: {missing}")
    wrapped.reset(seed=1)
    over = 0
    for _ in range(22):  # through the end of an episode
        observations, rewards, terminated, truncated, info = wrapped.step(wrapped.action_space.sample())
        over += int(np.sum(np.asarray(truncated)))
    assert over == 3


def test_stable_baselines3():
    sb3 = pytest.importorskip("stable_baselines3",
                              reason="SKIPPED: no Stable-Baselines3 here; docs/python.md#tests")
    env = gym.make("waker/CleanUp-v0", task="push")
    model = sb3.PPO("CnnPolicy", env, n_steps=32, batch_size=16, n_epochs=1, device="cpu", seed=1)
    model.learn(64)
    action, _ = model.predict(env.reset(seed=1)[0], deterministic=True)
    assert action.shape == (2,)
    from stable_baselines3.common.env_checker import check_env

    check_env(env, warn=True)


def test_the_example_for_vectors_of_stable_baselines3(monkeypatch):
    sb3 = pytest.importorskip("stable_baselines3",
                              reason="SKIPPED: no Stable-Baselines3 here; docs/python.md#tests")
    from stable_baselines3.common.vec_env import VecFrameStack, VecMonitor, VecTransposeImage

    monkeypatch.syspath_prepend(SOURCE / "examples/python")
    from sb3_vector import WakerVecEnv

    many, alone = WakerVecEnv(gym.make_vec("waker/Toy-v0", num_envs=3)), gym.make_vec("waker/Toy-v0", num_envs=3)
    many.seed(5)
    assert (many.reset() == alone.reset(seed=5)[0]).all()
    for _ in range(20):  # an episode
        actions = np.random.default_rng(1).uniform(-1, 1, (3, 2)).astype(np.float32)
        observations, rewards, over, infos = many.step(actions)
        last, same, _, truncated, _ = alone.step(actions)
        assert (rewards == same).all() and (over == truncated).all()
    assert all((info["terminal_observation"] == image).all() and info["TimeLimit.truncated"]
               for info, image in zip(infos, last))
    first, *_ = alone.step(actions)  # which begins the next episode
    assert (observations == first).all()
    wrapped = VecFrameStack(VecTransposeImage(VecMonitor(many)), 2)
    sb3.PPO("CnnPolicy", wrapped, n_steps=32, batch_size=16, n_epochs=1,
            device="cpu", seed=1).learn(96)


def make_env(env_id, seed):
    def thunk():
        env = gym.make(env_id)
        env = gym.wrappers.RecordEpisodeStatistics(env)
        env = gym.wrappers.ClipAction(env)
        env.action_space.seed(seed)
        return env

    return thunk


@pytest.mark.parametrize("vector", ["ours", "gymnasium's"])
def test_a_loop_as_cleanrl_writes_it(vector):
    torch = pytest.importorskip("torch", reason="SKIPPED: no PyTorch here; docs/python.md#tests")
    nn = torch.nn
    torch.manual_seed(1)
    envs = gym.make_vec("waker/Toy-v0", num_envs=4) if vector == "ours" else \
        gym.vector.SyncVectorEnv([make_env("waker/Toy-v0", i) for i in range(4)])
    assert isinstance(envs.single_action_space, gym.spaces.Box)
    network = nn.Sequential(nn.Conv2d(3, 4, 8, stride=8), nn.ReLU(), nn.Flatten(), nn.Linear(256, 16))
    actor_mean, critic = nn.Linear(16, 2), nn.Linear(16, 1)
    actor_logstd = nn.Parameter(torch.zeros(1, 2))
    parameters = [*network.parameters(), *actor_mean.parameters(), *critic.parameters(), actor_logstd]
    optimizer = torch.optim.Adam(parameters, lr=3e-4, eps=1e-5)

    def get_action_and_value(x, action=None):
        hidden = network(x.permute(0, 3, 1, 2) / 255.0)
        probs = torch.distributions.Normal(actor_mean(hidden), actor_logstd.exp())
        action = probs.sample() if action is None else action
        return action, probs.log_prob(action).sum(1), critic(hidden).flatten()

    steps = 24
    obs = torch.zeros((steps, 4) + envs.single_observation_space.shape)
    actions = torch.zeros((steps, 4) + envs.single_action_space.shape)
    logprobs, rewards, dones = (torch.zeros((steps, 4)) for _ in range(3))
    next_obs, _ = envs.reset(seed=1)
    next_obs, next_done = torch.Tensor(next_obs), torch.zeros(4)
    for step in range(steps):
        obs[step], dones[step] = next_obs, next_done
        with torch.no_grad():
            action, logprobs[step], _ = get_action_and_value(next_obs)
        actions[step] = action
        next_obs, reward, terminations, truncations, infos = envs.step(action.cpu().numpy())
        rewards[step] = torch.tensor(reward).view(-1)
        next_obs = torch.Tensor(next_obs)
        next_done = torch.Tensor(np.logical_or(terminations, truncations))
    assert dones.sum() == 4  # episodes of 20 steps
    _, newlogprob, value = get_action_and_value(obs.flatten(0, 1), actions.flatten(0, 1))
    assert torch.allclose(newlogprob, logprobs.flatten(), atol=1e-4)
    loss = -(rewards.flatten() * newlogprob).mean() + (value - rewards.flatten()).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    assert torch.isfinite(loss)
