"""Rewards after the fact: functions in Python that become tasks of runs."""

import hashlib
import json
import math
import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import waker
from conftest import TINY


# Random actions alone move something: a small arena full of blocks, or any robot.
COLLECTED = {"toy": {"steps": 400}, "terrain-walker": {"steps": 150, "prefill": 150},
             "clean-up": {"steps": 900, "prefill": 900, "curriculum.theta": "2,1,1; 4,2,2"}}


def collect(run, domain):
    waker.train(domain, run, **{**TINY, **COLLECTED[domain]})
    return run


def rewards_of(run, name):
    """The numbers of a task that was added."""
    data = Path(run, "rewards", f"{name}.safetensors").read_bytes()
    size, = struct.unpack("<Q", data[:8])
    begin, end = json.loads(data[8:8 + size])["rewards"]["data_offsets"]
    return np.frombuffer(data[8 + size + begin:8 + size + end], "<f4")


def files_of(run):
    return {path: hashlib.sha256(path.read_bytes()).hexdigest()
            for path in Path(run).rglob("*") if path.is_file() and path.name != "lock"}


def summed(episode, rewards):
    """What agent steps earn: sums in order and in double precision, rounded to float."""
    sums = np.zeros(int(episode.step[-1]) + 1 if len(episode) else 0)
    np.add.at(sums, episode.step, rewards)
    return sums.astype(np.float32)


def check_anew(run, task, reads, function):
    """Defines a task anew: at every step of every episode it must be the stored number."""
    different = []

    def again(episode):
        rewards = function(episode)
        assert np.array_equal(summed(episode, rewards), episode.rewards[task])
        different.extend(set(episode.rewards[task]))
        return rewards

    done = waker.relabel(run, again, name="again", reads=reads, threads=2)
    assert done["simulated"] == done["episodes"] > 0 and len(set(different)) > 1
    stored = rewards_of(run, "again")
    assert len(stored) == done["rows"] == done["steps"] + done["episodes"]


def west(episode):
    return np.maximum(0, 1 - np.hypot(episode["position"][:, 0] + 0.7, episode["position"][:, 1]))


def stand(episode):
    missing = (1.2 - (episode["xpos/torso"][:, 2] - episode["xpos/right_foot"][:, 2])) / 0.6
    standing = np.array([1 if m <= 0 else math.pow(0.1, m * m) for m in missing])
    return (3 * standing + (1 + episode["xmat/torso"][:, 8]) / 2) / 4


def sort(episode):
    after = episode["distance"][:, 0]
    before = np.concatenate([[episode.start["distance"][0]], after[:-1]])
    return 100 * (before - after) + 0.5 * episode["completion"][:, 0]


@pytest.mark.parametrize("domain, task, reads, function", [
    ("toy", "west", ["position"], west),
    ("terrain-walker", "stand", ["xpos/torso", "xpos/right_foot", "xmat/torso"], stand),
    ("clean-up", "sort", ["distance", "completion"], sort)])
def test_tasks_defined_anew_are_the_stored_ones(tmp_path, domain, task, reads, function):
    check_anew(collect(tmp_path / "run", domain), task, reads, function)


@pytest.fixture
def own(run, tmp_path):
    """A copy of the small run."""
    return shutil.copytree(run, tmp_path / "own")


@waker.reward("north", reads=["position"])
def north(episode):
    return np.maximum(0, 1 - np.hypot(episode["position"][:, 0], episode["position"][:, 1] - 0.8))


def test_a_reward_nobody_had_becomes_a_task(own):
    before = files_of(own)
    done = waker.relabel(own, north)
    assert done["name"] == "north" and done["mean_return"] > 0 and done["threads"] >= 1
    after = files_of(own)
    assert {path.name for path in after.keys() - before.keys()} == {"north.safetensors"}
    assert all(after[path] == hashed for path, hashed in before.items())
    assert waker.relabel(own, north)["simulated"] == 0  # nothing was left to do
    waker.command("adapt", own, "--task", "north", "--updates", 3)
    policy = waker.Policy(own, task="north")
    observation, _ = waker.WakerEnv(policy.domain, task="west").reset(seed=1)
    assert policy.act(observation, None)[0].shape == (2,)
    with pytest.raises(waker.Error, match="not a plug-in"):
        waker.command("eval", own, "--task", "north", "--envs", 1)


def test_an_episode_says_all_about_itself(own):
    seen = []

    def look(episode):
        seen.append(episode)
        return np.arange(len(episode))

    done = waker.relabel(own, look, name="look", reads=["position", "velocity"], threads=2)
    assert [e.number for e in seen] == sorted(e.number for e in seen)
    assert len(seen) == done["episodes"] and sum(len(e) for e in seen) == done["steps"]  # repeat: 1
    episode = seen[0]
    assert episode["position"].shape == (len(episode), 2) and episode.start["position"].shape == (2,)
    assert episode.actions.shape == (len(episode), 2) and abs(episode.actions).max() <= 1
    assert list(episode.theta) == ["turbulence"] and set(episode.rewards) >= {"west", "east"}
    assert not np.array_equal(episode["position"][0], episode.start["position"])
    with pytest.raises(waker.NotFoundError, match="does not say that it reads 'altitude'"):
        episode["altitude"]
    rows = rewards_of(own, "look")
    assert rows[0] == 0 and np.array_equal(rows[1:len(episode) + 1], np.arange(len(episode)))


@pytest.mark.parametrize("returned, message", [
    (lambda n: np.zeros(n + 1), r"returned the shape .* one number for each"),
    (lambda n: np.zeros((n, 1)), "returned the shape"),
    (lambda n: 1.0, r"returned the shape \(\)"),
    (lambda n: None, "returned object"),
    (lambda n: np.zeros(n, complex), "returned complex128"),
    (lambda n: ["1"] * n, "real numbers are needed"),
    (lambda n: [math.nan] * n, "is nan at control step 0 of episode"),
    (lambda n: [0] * (n - 1) + [math.inf], "is inf at control step"),
    (lambda n: [1e300] * n, "not a finite number at step 1")])
def test_wrong_numbers_change_nothing(own, returned, message):
    before = files_of(own)
    with pytest.raises(waker.InputError, match=message):
        waker.relabel(own, lambda e: returned(len(e)), name="wrong", reads=["position"])
    assert files_of(own) == before


def test_what_is_asked_for_wrongly_is_refused(own, tmp_path):
    before = files_of(own)

    def boom(episode):
        raise ZeroDivisionError("boom")

    def interrupted(episode):
        raise KeyboardInterrupt

    for problem, message, function, options in [
            (waker.NotFoundError, "no 'altitude'", west, {"name": "x", "reads": ["altitude"]}),
            (waker.InputError, "name of a task", west, {"name": "west", "reads": ["position"]}),
            (waker.InputError, "no name that a task can have", west, {"name": "A/b", "reads": []}),
            *((waker.InputError, f"'{word}', which stands for", west, {"name": word, "reads": []})
              for word in ["all", "none", "explore", "random"]),
            (TypeError, "give the name of the task", west, {}),
            (TypeError, "list of names", west, {"name": "x", "reads": "position"}),
            (TypeError, "function of an episode", 3, {"name": "x", "reads": []}),
            (waker.InputError, "reads 65 names", west, {"name": "x", "reads": ["position"] * 65}),
            (ZeroDivisionError, "boom", boom, {"name": "x", "reads": []}),
            (KeyboardInterrupt, "^$", interrupted, {"name": "x", "reads": []}),
            (waker.Error, "nowhere.so", "/nowhere.so", {})]:
        with pytest.raises(problem, match=message):
            waker.relabel(own, function, **options)
    with pytest.raises(waker.NotFoundError, match="holds no run"):
        waker.relabel(tmp_path / "none", north)
    assert files_of(own) == before


def test_other_code_of_the_same_name_is_noticed(own):
    def constant(value):
        return lambda episode: np.full(len(episode), value)

    waker.relabel(own, constant(1.0), name="same", reads=[])
    assert waker.relabel(own, constant(1.0), name="same", reads=[])["simulated"] == 0
    with pytest.raises(waker.InputError, match="computed by other code"):
        waker.relabel(own, constant(2.0), name="same", reads=[])
    assert rewards_of(own, "same")[1] == 1
    waker.relabel(own, constant(2.0), name="same", reads=[], restart=True)
    assert rewards_of(own, "same")[1] == 2


def command(*arguments, **options):
    return subprocess.run([sys.executable, "-m", "waker", "relabel", *map(str, arguments)],
                          capture_output=True, text=True, **options)


def test_the_command_takes_a_function(own, tmp_path):
    place = Path(os.environ["WAKER_SOURCE"], "examples/python/rewards.py")
    ended = command(own, "--python", f"{place}:north", "--json")
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout)["task"] == "north" and len(rewards_of(own, "north")) > 400
    shutil.copy(place, tmp_path / "mine.py")
    ended = command(own, "--python", "mine:north", "--restart", cwd=tmp_path)
    assert ended.returncode == 0 and "task 'north'" in ended.stdout, ended.stderr
    for wrong, message in [(f"{place}:south", "no 'south'"), ("nowhere:x", "nowhere"),
                           ("x", "MODULE:FUNCTION"), (f"{place}:walk_at", "no 'xpos/torso'")]:
        ended = command(own, "--python", wrong)
        assert ended.returncode == 2 and message in ended.stderr and "Traceback" not in ended.stderr
    shutil.copytree(own, tmp_path / "closed", ignore=shutil.ignore_patterns("rewards"))
    (tmp_path / "closed/rewards").touch()  # where a folder has to be
    ended = command(tmp_path / "closed", "--python", f"{place}:north", "--quiet")
    assert ended.returncode == 1 and "rewards'" in ended.stderr, ended.stderr


@pytest.mark.parametrize("domain, name", [("terrain-walker", "walk_at"), ("clean-up", "push_green")])
def test_the_examples_are_those_in_c(tmp_path, domain, name):
    """The rewards of examples/python are those of examples/reward."""
    if "WAKER_TEST_BUILD" not in os.environ:
        pytest.skip("SKIPPED: needs a build with the examples' plug-ins (tests/python/run)")
    source, build = os.environ["WAKER_SOURCE"], os.environ["WAKER_TEST_BUILD"]
    plugin = Path(build, "tests/plugins", f"{name}.so")
    if not plugin.exists():
        pytest.skip(f"{plugin} is not built")
    run = collect(tmp_path / "run", domain)
    task = waker.relabel(run, plugin)["name"]
    theirs = rewards_of(run, task)
    ended = command(run, "--python", f"{source}/examples/python/rewards.py:{name}", "--restart")
    assert ended.returncode == 0, ended.stderr
    ours = rewards_of(run, task)
    assert np.array_equal(ours, theirs) and len(set(ours)) > 1
