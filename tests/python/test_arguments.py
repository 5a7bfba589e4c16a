"""Every public function with every kind of wrong argument: an exception of a documented kind, never a
crash. Each group of functions is called in a process of its own, whose end says whether it crashed."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import waker

CALLS = """
import importlib.util, inspect, os, sys, types, warnings
warnings.simplefilter("ignore")
import numpy as np
import waker
tests, run, group = sys.argv[1:]
sys.path.insert(0, tests)
from conftest import TINY

WRONG = [None, True, -1, 0, 1, 2**31 - 1, 2**31, 2**32 + 1, 2**63, 2**64 + 402, 2.5, float("nan"), 1e300, 10**400,
         1j, "", "text", "a\\0b", "\\ud800", b"bytes", [], [1, 2], ["a"], [None], (), {}, {"a": None}, set(),
         object(), int, lambda: None, np.zeros(0), np.full((2, 2), np.nan), np.array(None), np.float32(1),
         [[1], [2, 3]]]
images, flat = np.zeros((2, 1, 64, 64, 3), np.uint8), np.zeros((2, 1, 2), np.float32)
toy = lambda: waker.Domain("toy")
of_run = {"run": run, "step": None, "device": "cpu", "threads": 1, "sample": False, "seed": 0}
world = {"domain": "toy", "task": "west", "options": {}, "theta": None, "curriculum": None,
         "render_mode": "rgb_array", "width": 8, "height": 8}
scores, names = np.arange(6.0).reshape(3, 2), ["a", "b"]
rest = {key: value for key, value in TINY.items() if key not in ("steps", "seed")}
interval = {"reps": 10, "size": 0.9, "seed": 0}

def played(env):
    env.reset(seed=1)
    env.step(np.zeros(env.action_space.shape))
    env.render()
    return env

def vector():
    return played(waker.WakerVectorEnv("toy", 2, threads=1, render_mode="rgb_array"))

def curriculum():
    return waker.Curriculum("waker-m", "toy")

def method(make, name):
    return lambda **arguments: getattr(make(), name)(**arguments)

def rows():
    return waker.evaluations(run)

def is_good(episode):
    return np.zeros(len(episode))

# What is called, and arguments that it takes; each is replaced by wrong ones in turn.
CALLS = {
    "domain": {
        "Domain": (waker.Domain, {"name": "toy"}),
        "Domain.load": (waker.Domain.load, {"path": "nowhere.so"}),
        "Domain.task": (method(toy, "task"), {"name": "west"}),
        "Domain.choices": (method(lambda: waker.Domain("clean-up"), "choices"), {"options": {}}),
        "Domain.choices/choice": (lambda choice: waker.Domain("clean-up").choices({"samples": choice}),
                                  {"choice": "fixed"}),
        "Domain.choices/name": (lambda name: waker.Domain("clean-up").choices({name: "fixed"}),
                                {"name": "samples"}),
        "Domain.theta": (method(toy, "theta"), {"values": [0.5]}),
        "Domain.theta/one": (lambda value: toy().theta([value]), {"value": 0.5}),
        "Domain.actions": (method(toy, "actions"), {"values": [0, 0], "leading": (), "what": "action"}),
        "domains": (waker.domains, {}),
        "Space": (waker.Space, {"domain": "toy", "continuous": False}),
        "Space.sample": (method(lambda: waker.Space("toy"), "sample"), {"seed": 1, "episode": 1}),
    },
    "curriculum": {
        "Curriculum.next": (method(curriculum, "next"), {"episode": 1, "prefill": False}),
        "Curriculum.report": (method(curriculum, "report"), {"thetas": [[0.5]], "errors": [1.0]}),
        "Curriculum.advance": (method(curriculum, "advance"), {"steps": 1}),
        "Curriculum.distribution": (method(curriculum, "distribution"), {}),
        "Curriculum.visits": (method(curriculum, "visits"), {}),
        "Curriculum.close": (method(curriculum, "close"), {}),
        "Curriculum": (lambda **given: waker.Curriculum(**given).next(),
                       {"rule": "dr", "domain": "toy",
                        **{name: 1 for name, _ in waker._library.CurriculumConfig._fields_}}),
    },
    "env": {
        "WakerEnv": (lambda **given: played(waker.WakerEnv(**given)), world),
        "WakerEnv/choice": (lambda choice: waker.WakerEnv("clean-up", options={"samples": choice}),
                            {"choice": "fixed"}),
        "WakerEnv.reset": (method(lambda: waker.WakerEnv("toy"), "reset"), {"seed": 1, "options": {}}),
        "WakerEnv.reset/theta": (lambda theta: waker.WakerEnv("toy").reset(options={"theta": theta}),
                                 {"theta": [0.5]}),
        "WakerEnv.step": (method(lambda: played(waker.WakerEnv("toy")), "step"), {"action": [0, 0]}),
        "WakerEnv.render": (method(lambda: played(waker.WakerEnv("toy")), "render"), {}),
        "WakerEnv.close": (method(lambda: played(waker.WakerEnv("toy")), "close"), {}),
    },
    "vector": {
        "WakerVectorEnv": (lambda **given: played(waker.WakerVectorEnv(**given)),
                           {"num_envs": 2, **world, "threads": 1, "copy": True}),
        "WakerVectorEnv.reset": (method(vector, "reset"), {"seed": 1, "options": {}}),
        "WakerVectorEnv.reset/seed": (lambda seed: vector().reset(seed=[1, seed]), {"seed": 1}),
        "WakerVectorEnv.reset/theta": (lambda theta: vector().reset(options={"theta": theta}), {"theta": [0.5]}),
        "WakerVectorEnv.reset/theta of one": (lambda theta: vector().reset(options={"theta": [[0.5], theta]}),
                                              {"theta": [0.5]}),
        "WakerVectorEnv.reset/reset_mask": (lambda mask: vector().reset(options={"reset_mask": mask}),
                                            {"mask": [True, False]}),
        "WakerVectorEnv.step": (method(vector, "step"), {"actions": np.zeros((2, 2))}),
        "WakerVectorEnv.render": (method(vector, "render"), {}),
        "WakerVectorEnv.close_extras": (method(vector, "close_extras"), {}),
    },
    "policy": {
        "Policy": (waker.Policy, {**of_run, "task": "west", "num_envs": 1, "weights": None, "plugin": None}),
        "Policy.reset": (method(lambda: policy, "reset"), {"seed": 1}),
        "Policy.act": (method(lambda: policy, "act"), {"observation": images[:1, 0], "state": None, "first": None}),
        "Policy.act/first": (lambda first: policy.act(images[:1, 0], policy.reset(), first), {"first": [True]}),
        "Policy.close": (lambda: None, {}),
    },
    "model": {
        "Model": (waker.Model, of_run),
        "Model.initial": (method(lambda: model, "initial"), {"count": 2}),
        "Model.observe": (method(lambda: model, "observe"),
                          {"images": images, "actions": flat, "first": None, "state": None}),
        "Model.imagine": (method(lambda: model, "imagine"), {"state": None, "actions": flat}),
        "Model.imagine/stoch": (lambda stoch: model.imagine((stoch, model.initial(1).deter), flat),
                                {"stoch": np.zeros((1, 9), np.float32)}),
        "Model.decode": (method(lambda: model, "decode"), {"latents": None}),
        "Model.decode/deter": (lambda deter: model.decode((model.initial(1).stoch, deter)), {"deter": None}),
        "Model.close": (lambda: None, {}),
    },
    "results": {
        "Run": (waker.Run, {"path": run}),
        "Run.curve": (method(lambda: waker.Run(run), "curve"), {"metric": "train/model_loss"}),
        "Run.follow": (lambda pause: list(waker.Run(run).follow(pause)), {"pause": 0.1}),
        "Run.metrics": (method(lambda: waker.Run(run), "metrics"), {}),
        "Run.curriculum": (method(lambda: waker.Run(run), "curriculum"), {}),
        "Run.evaluations": (method(lambda: waker.Run(run), "evaluations"), {}),
        "Run.snapshots": (method(lambda: waker.Run(run), "snapshots"), {}),
        "Run.snapshot": (method(lambda: waker.Run(run), "snapshot"), {"step": None}),
        "runs": (waker.runs, {"pattern": run}),
        "runs/one": (lambda path: waker.runs([path]), {"path": run}),
        "evaluations": (waker.evaluations, {"path": run}),
        "evaluations.column": (lambda name: rows().column(name), {"name": "mean"}),
        "evaluations.where": (lambda value: rows().where(task=value), {"value": "west"}),
        "command": (lambda argument: waker.command("ckpt", argument), {"argument": run}),
    },
    "training": {
        "train": (waker.train, {"env": "toy", "logdir": run, "configs": [], "steps": TINY["steps"], "seed": TINY["seed"],
                                "settings": rest, "files": [], "like": None, "progress": False,
                                "message": lambda *line: None}),
        "train/own": (lambda env: waker.train(env, "own", "toy", **TINY), {"env": dict}),
        "train/logdir of own": (lambda logdir: waker.train(lambda: None, logdir, "toy", **TINY), {"logdir": "own"}),
        "train/setting": (lambda value: waker.train("toy", "own", **{**TINY, "batch": value}), {"value": -1}),
        "train/group": (lambda value: waker.train("toy", "own", **TINY, rssm={"deter": value}), {"value": -1}),
        "train/key": (lambda key: waker.train("toy", "own", settings={**TINY, key: 1}), {"key": "x"}),
        "train/block": (lambda block: waker.train("toy", "own", [block], **TINY), {"block": "x"}),
        "relabel": (waker.relabel, {"run": run, "reward": is_good, "name": "good", "reads": ["position"],
                                    "restart": True, "threads": 1, "plugin": None}),
        "relabel/read": (lambda read: waker.relabel(run, is_good, name="better", reads=[read]),
                         {"read": "position"}),
        "reward": (lambda name, reads: waker.reward(name, reads)(is_good), {"name": "good", "reads": []}),
        "reward/function": (lambda function: waker.reward("good", [])(function), {"function": is_good}),
    },
    "stats": {
        "stats.mean": (waker.stats.mean, {"values": [1.0, 2.0]}),
        "stats.sd": (waker.stats.sd, {"values": [1.0, 2.0]}),
        "stats.percentile": (waker.stats.percentile, {"values": [1.0, 2.0], "percent": 50}),
        "stats.cvar": (waker.stats.cvar, {"values": [1.0, 2.0], "fraction": 0.5, "worst": "low"}),
        "stats.rank_correlation": (waker.stats.rank_correlation, {"x": [1.0, 2.0], "y": [1.0, 2.0]}),
        "stats.aggregate": (waker.stats.aggregate, {"scores": scores, "how": "iqm", "tasks": names}),
        "stats.bootstrap": (waker.stats.bootstrap, {"scores": scores, "how": "iqm", "tasks": names, **interval}),
        "stats.improvement": (waker.stats.improvement, {"x": scores, "y": scores, **interval}),
    },
    "plots": {} if not importlib.util.find_spec("matplotlib") else {
        "plots.curve": (waker.plots.curve, {"runs": waker.runs([run]), "metric": "train/model_loss", "axes": None,
                                            "label": None}),
        "plots.bars": (waker.plots.bars, {"evaluations": rows(), "by": "curriculum", "score": "mean", "axes": None,
                                          "reps": 10}),
        "plots.curriculum": (waker.plots.curriculum, {"run": waker.Run(run), "value": "error", "axes": None}),
        "plots.images": (waker.plots.images, {"pictures": images[0], "axes": None}),
    },
}
# So many resamples and steps are possible, and take days.
SKIPPED = {("stats.bootstrap", "reps"): [2**31 - 1], ("stats.improvement", "reps"): [2**31 - 1],
           ("plots.bars", "reps"): [2**31 - 1], ("train", "steps"): [2**31 - 1, 2**31, 2**32 + 1]}

# What functions return; users make none.
RETURNED = {"Episode", "Latents", "PolicyState", "Progress", "Records"}

def names_of_public():
    for name in sorted(set(waker.__all__) - RETURNED):
        thing = getattr(waker, name)
        if isinstance(thing, types.ModuleType):
            for part, function in vars(thing).items():
                if not part.startswith("_") and inspect.isfunction(function) and \\
                        function.__module__ == thing.__name__:
                    yield f"{name}.{part}", function
        elif not (isinstance(thing, type) and issubclass(thing, Exception)):
            yield name, thing
            for part, function in vars(thing).items() if isinstance(thing, type) else ():
                function = getattr(function, "__func__", function)
                if not part.startswith("_") and inspect.isfunction(function):
                    yield f"{name}.{part}", function

if group == "all":
    known = {name: set(arguments) for part in CALLS.values() for name, (_, arguments) in part.items()}
    for name, function in names_of_public():
        if name.startswith("plots.") and not CALLS["plots"]:
            continue
        parameters = {parameter.name for parameter in inspect.signature(function).parameters.values()
                      if parameter.kind not in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL)}
        missing = parameters - {"self", "cls"} - known.get(name, set())
        assert name in known and not missing, f"{name}: no test of {missing or 'it'}"
    sys.exit()
if group == "policy":
    policy = waker.Policy(run, "west", num_envs=1)
if group == "model":
    model = waker.Model(run)
failed = False
for name, (call, good) in CALLS[group].items():
    try:
        call(**good)
    except (TypeError, waker.Error):
        pass # some have no good ones here
    for parameter in good:
        for wrong in WRONG:
            if type(wrong) is int and wrong in SKIPPED.get((name, parameter), []):
                continue
            print(f"{name}({parameter}={wrong!r:.60})", flush=True) # the last line is what crashed
            try:
                call(**{**good, parameter: wrong})
            except (TypeError, ValueError, waker.Error, MemoryError):
                pass
            except Exception as error:
                failed = True
                print(f"{name}({parameter}={wrong!r:.60}): {type(error).__name__}: {error}", file=sys.stderr)
sys.exit(failed)
"""


def call_in_child(tmp_path, run, group):
    copy = tmp_path / "run"
    shutil.copytree(run, copy)
    # Memory for as many as were asked for is not there; the address sanitizer would end the process.
    asan = os.environ.get("ASAN_OPTIONS", "") + ":allocator_may_return_null=1"
    ended = subprocess.run([sys.executable, "-c", CALLS, Path(__file__).parent, copy, group], cwd=tmp_path,
                           capture_output=True, text=True, errors="replace",
                           env={**os.environ, "MPLBACKEND": "Agg", "ASAN_OPTIONS": asan})
    assert ended.returncode == 0, \
        f"ended with {ended.returncode} at {ended.stdout.splitlines()[-1:]}: {ended.stderr}"


@pytest.mark.parametrize("group", ["domain", "curriculum", "env", "vector", "policy", "model", "results", "training",
                                   "stats", "plots"])
def test_wrong_arguments_are_refused(tmp_path, run, group):
    call_in_child(tmp_path, run, group)


def test_every_public_function_is_tried(tmp_path, run):
    call_in_child(tmp_path, run, "all")


@pytest.mark.parametrize("name, call", [
    ("domain", lambda value: waker.WakerEnv(value)),
    ("domain", lambda value: waker.Domain(value)),
    ("path", lambda value: waker.Domain.load(value)),
    ("task", lambda value: waker.Domain("toy").task(value)),
    (r"options\['samples'\]", lambda value: waker.WakerEnv("clean-up", options={"samples": value})),
    ("rule", lambda value: waker.Curriculum(value, "toy")),
    ("domain", lambda value: waker.Curriculum("dr", value)),
    ("temperature", lambda value: waker.Curriculum("dr", "toy", temperature=value or object())),
    ("run", lambda value: waker.Policy(value, "west")),
    ("task", lambda value: waker.Policy("run", value)),
    ("run", lambda value: waker.Model(value)),
    ("path", lambda value: waker.evaluations(value)),
    ("pattern", lambda value: waker.runs(value)),
    ("logdir", lambda value: waker.train("toy", value or object())),
    ("configs", lambda value: waker.train("toy", "run", value)),
    ("configs", lambda value: waker.train("toy", "run", [value])),
    ("run", lambda value: waker.relabel(value, "reward.so")),
    ("name", lambda value: waker.reward(value, [])),
    ("reads", lambda value: waker.reward("name", value)),
    ("percent", lambda value: waker.stats.percentile([1.0], value)),
    ("reps", lambda value: waker.stats.bootstrap([[1.0]], reps=value))])
def test_nothing_in_place_of_something_is_named(name, call):
    for wrong in None, object():
        with pytest.raises(TypeError, match=f"^{name} must be .*, not "):
            call(wrong)


@pytest.mark.parametrize("name, largest, call", [
    ("seed", 2**64 - 1, lambda value: waker.WakerEnv("toy").reset(seed=value)),
    ("seed", 2**64 - 1, lambda value: waker.Curriculum("dr", "toy", seed=value)),
    ("seed", 2**64 - 1, lambda value: waker.stats.bootstrap([[1.0]], seed=value, reps=2)),
    ("episode", 2**64 - 1, lambda value: waker.Curriculum("dr", "toy").next(episode=value)),
    ("episode", 2**64 - 1, lambda value: waker.Space("toy").sample(1, value)),
    ("steps", 2**64 - 1, lambda value: waker.Curriculum("dr", "toy").advance(value)),
    ("num_envs", 2, lambda value: waker.WakerVectorEnv("toy", value, threads=1)),
    ("threads", 2, lambda value: waker.WakerVectorEnv("toy", 1, threads=value)),
    ("width", 2**31 - 1, lambda value: waker.WakerEnv("toy", width=value)),
    ("num_envs", None, lambda value: waker.Policy("run", "west", num_envs=value)),
    ("reps", 2, lambda value: waker.stats.bootstrap([[1.0]], reps=value))])
def test_numbers_that_do_not_fit_are_refused(name, largest, call):
    if largest is not None:
        call(largest)
    for wrong in 2**64 + 402, 2**64 if largest == 2**64 - 1 else 2**32 + 1, -2**31 - 1:
        with pytest.raises(waker.InputError, match=f"^{name} must be .*, not {wrong}$"):
            call(wrong)
