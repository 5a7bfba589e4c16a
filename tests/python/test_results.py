"""Training from Python, results as records, statistics, figures."""

import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest
import waker
from conftest import TINY


def test_training_reports_and_goes_on(tmp_path):
    seen, lines = [], []

    def watch(now):
        seen.append((now.steps, now.total))
        if now.steps > 150:
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        waker.train("toy", tmp_path / "run", **TINY, progress=watch)
    assert seen[-1][0] < 200 and seen[-1][1] == 400
    assert waker.train(logdir=tmp_path / "run", message=lambda warning, line: lines.append(line)) \
        == "finished"
    assert lines


def test_what_evaluations_leave_out_is_said(run, tmp_path):
    shutil.copytree(run, tmp_path / "one")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(waker.evaluations(tmp_path)) == 1
    shutil.copytree(run, tmp_path / "repeated")
    with pytest.warns(UserWarning, match="left out: .*repeated.*: all its settings") as said:
        rows = waker.evaluations(tmp_path)
    assert len(rows) == 1 and len(rows.problems) == 1
    assert said[0].filename == __file__
    for file in (tmp_path / "repeated" / "eval").glob("*.json"):
        file.write_text("{")
    with pytest.warns(UserWarning, match="left out: .*repeated.*json"):
        assert len(waker.evaluations(tmp_path)) == 1


def test_names_that_are_no_utf8(run, tmp_path):
    place = os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9")
    shutil.copytree(run, place)
    (row,) = waker.evaluations(tmp_path)
    assert row["run"] == place
    assert place in waker.command("eval", place, "--policy", "alongside", "--task", "west",
                                  "--cases", "dr", "--envs", 1)
    assert waker.train(logdir=place, message=lambda warning, line: None) == "finished"


def test_an_interrupted_run_is_saved(tmp_path):
    code = ("import sys, waker; sys.path.insert(0, sys.argv[2]); from conftest import TINY\n"
            "try: waker.train('toy', sys.argv[1], **{**TINY, 'steps': 6000},\n"
            "                 progress=lambda now: print(now.steps, flush=True))\n"
            "except KeyboardInterrupt: print('interrupted')")
    child = subprocess.Popen([sys.executable, "-c", code, tmp_path / "run",
                              os.path.dirname(__file__)], stdout=subprocess.PIPE, text=True)
    for line in child.stdout:
        if int(line) > 100:
            break
    child.send_signal(signal.SIGINT)
    assert int(line) < 3000
    said = child.stdout.read()
    assert child.wait() == 0 and said.endswith("interrupted\n")
    assert waker.Run(tmp_path / "run").snapshots() is not None
    assert list((tmp_path / "run/checkpoints").iterdir())


def test_runs_are_records(run):
    assert [found.name for found in waker.runs(run.parent / "*")] == ["tiny"]
    one = waker.runs([run])[0]
    assert one.config["domain"] == "toy" and one.config["rssm.deter"] == 6
    assert one.config["log.tensorboard"] is False and one.config["curriculum.rule"] == "waker-m"
    steps, losses = one.curve("train/model_loss")
    assert steps.dtype == np.uint64 and np.isfinite(losses).all() and (np.diff(steps) > 0).all()
    metrics = one.metrics()
    assert [row["train/model_loss"] for row in metrics if row["train/model_loss"] is not None] == \
        losses.tolist()
    environments = one.curriculum()
    assert abs(environments.column("probability").sum() - 1) < 1e-9
    assert set(environments[0]) >= {"turbulence", "error", "episodes"}
    (score,) = one.evaluations().where(task="west", set="dr")
    assert score["policy"] == "alongside" and score["episodes"] == 25 and score["step"] == 402
    assert waker.evaluations(run.parent) == one.evaluations()
    with pytest.raises(waker.NotFoundError, match="no line"):
        one.curve("train/nothing")
    with pytest.raises(waker.NotFoundError, match="names no run"):
        waker.runs(run.parent / "nothing*")
    with pytest.raises(waker.NotFoundError, match="holds no run"):
        waker.Run(run.parent)
    with pytest.raises(waker.NotFoundError, match="no snapshot"):
        one.snapshot(7)
    with pytest.raises(waker.Error, match="nothing"):
        waker.command("eval", run.parent / "nothing")


def test_records_become_a_frame(run):
    pandas = pytest.importorskip("pandas", reason="SKIPPED: no pandas here")
    frame = waker.evaluations(run).frame()
    assert isinstance(frame, pandas.DataFrame) and frame["episodes"][0] == 25
    assert len(waker.Run(run).metrics().frame()) == len(waker.Run(run).metrics())


def test_statistics_are_those_of_numpy():
    values = np.random.default_rng(1).normal(size=37)
    assert waker.stats.mean(values) == pytest.approx(values.mean(), abs=1e-12)
    assert waker.stats.sd(values) == pytest.approx(values.std(), abs=1e-12)
    assert waker.stats.percentile(values, 30) == pytest.approx(np.percentile(values, 30))
    assert waker.stats.cvar(values, 0.1) == pytest.approx(np.sort(values)[:4].mean())
    assert waker.stats.cvar(values, 0.1, "high") == pytest.approx(np.sort(values)[-4:].mean())
    assert waker.stats.rank_correlation(values, np.exp(values)) == pytest.approx(1)


def test_aggregates_with_intervals():
    scores = np.random.default_rng(1).uniform(size=(8, 3))
    found = waker.stats.bootstrap(scores, "mean", reps=500)
    assert found.value == pytest.approx(scores.mean()) and found.low < found.value < found.high
    assert waker.stats.aggregate(scores, "mean") == found.value
    assert waker.stats.improvement(scores + 1, scores, reps=100).value == 1
    assert waker.stats.bootstrap(scores, "iqm", reps=500) == \
        waker.stats.bootstrap(scores.tolist(), "iqm", reps=500)
    for _ in range(20):  # lists become arrays that nobody but the call holds
        assert waker.stats.improvement([[0.5], [0.7]], [[0.1], [0.6]], reps=9).value == 0.75
        assert waker.stats.aggregate([[0.25, 0.75], [0.5, 1.0]], "mean") == 0.625
    with pytest.raises(waker.InputError, match="walk"):
        waker.stats.aggregate([[1.0, np.nan]], "mean", tasks=["run", "walk"])
    for wrong in (lambda: waker.stats.mean([[1.0]]), lambda: waker.stats.cvar([], 0.1),
                  lambda: waker.stats.cvar([1.0], 2.0), lambda: waker.stats.aggregate([1.0]),
                  lambda: waker.stats.aggregate(scores, "mode"),
                  lambda: waker.stats.rank_correlation([1, 2], [1]),
                  lambda: waker.stats.mean(["a"]), lambda: waker.stats.aggregate(scores, "mean", ["a"])):
        with pytest.raises((waker.InputError, TypeError)):
            wrong()


@pytest.mark.native
def test_figures_are_drawn(run):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    one = waker.Run(run)
    assert len(waker.plots.curve([one], "train/model_loss").lines) == 1
    assert len(waker.plots.bars(one.evaluations()).patches) == 1
    assert len(waker.plots.curriculum(one, "episodes").patches) == 11
    model = waker.Model(run)
    assert waker.plots.images(model.decode(model.initial(5))).images[0].get_array().shape == \
        (64, 5 * 64, 3)


def test_the_reader_in_the_docs_reads_benchmark_files(run, tmp_path, monkeypatch, capsys):
    """The lines that docs/evaluation.md shows, on the results of a set of our own."""
    page = Path(os.environ["WAKER_SOURCE"], "docs/evaluation.md").read_text()
    shown = page.split("## From Python")[1].split("\n\n")[1]
    assert len(shown.splitlines()) == 5
    copy = shutil.copytree(run, tmp_path / "runs/tiny")
    waker.command("envs", "set", "toy", "--name", "own-v1", "--count", 12, "--out",
                  tmp_path / "own.set")
    waker.command("eval", copy, "--policy", "alongside", "--set", tmp_path / "own.set", "--task",
                  "west", "--quiet")
    monkeypatch.chdir(tmp_path)
    exec(textwrap.dedent(shown).replace("robust-v1", "own-v1"), {})
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [line[1] for line in lines] == ["in", "out"]
    for path, part, mean, worst in lines:
        stored = {p["part"]: p for p in json.loads(Path(path).read_text())["parts"]}[part]
        assert float(mean) == pytest.approx(np.mean(stored["returns"]))
        assert float(worst) == pytest.approx(waker.stats.cvar(stored["returns"], 0.1))
        assert float(worst) <= float(mean)


def test_the_program_of_an_installed_library_is_found(tmp_path, monkeypatch):
    from waker import results

    def program_at(*parts):
        file = tmp_path.joinpath(*parts)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("#!/bin/sh\n")
        file.chmod(0o755)
        return file

    monkeypatch.setenv("WAKER_LIBRARY", str(tmp_path / "lib" / "libwaker.so"))
    monkeypatch.setenv("PATH", str(tmp_path / "elsewhere"))
    with pytest.raises(waker.Error, match="add its folder to PATH"):
        waker.command("--version")
    for parts in [("elsewhere", "waker"), ("bin", "waker"), ("lib", "waker")]:
        file = program_at(*parts)
        assert results.program() == file


def test_the_folder_of_a_model_card_loads_like_a_run(run, tmp_path):
    hub = tmp_path / "hub"
    waker.command("card", run, "--out", hub, "--quiet")
    assert waker.Run(hub).config["domain"] == "toy" and waker.Run(hub).snapshots() == [402]
    assert waker.runs(tmp_path / "*")[0].evaluations().where(task="west").column("episodes").tolist() == [25]
    image = np.zeros((64, 64, 3), np.uint8)
    assert np.array_equal(waker.Policy(hub, "west").act(image)[0], waker.Policy(run, "west").act(image)[0])
    assert waker.Model(hub).initial(1).stoch.shape == (1, 9)
