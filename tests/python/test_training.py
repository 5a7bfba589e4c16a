"""waker.train as a function of Python: settings, what is wrong with them, progress, and following a
run."""

import importlib.util
import io
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import waker
from conftest import TINY
from waker import _display

NUMBERS = dict(updates=1, updates_per_second=2.0, seconds_left=3.0, model_loss=1.5, mean_error=0.1)
SOURCE = Path(__file__).parent


def test_settings_are_keywords_dicts_or_dotted(tmp_path):
    rest = {key: value for key, value in TINY.items() if key not in ("steps", "seed", "batch")
            and not key.startswith("rssm.")}
    assert waker.train("toy", tmp_path / "run", ["waker-m"], steps=200.0, seed=9, batch=3, progress=False,
                       rssm={"deter": 7, "hidden": 6, "stoch": 3, "classes": 3}, settings=rest) == "finished"
    config = waker.Run(tmp_path / "run").config
    assert (config["steps"], config["seed"], config["batch"], config["rssm.deter"]) == (200, 9, 3, 7)
    assert config["env.count"] == 3 and config["log.tensorboard"] is False


@pytest.mark.parametrize("kind, words, given", [
    (waker.InputError, "steps must be a whole number from 1 on, not -3", {"steps": -3}),
    (TypeError, "steps must be a whole number, not 'many'", {"steps": "many"}),
    (waker.InputError, "seed must be from 0 to 18446744073709551615, not -1", {"seed": -1}),
    (waker.InputError, "batch must be from 1 to 1024, not 0", {"batch": 0}),
    (waker.InputError, "rssm.deter must be a whole number, not 'x'", {"rssm": {"deter": "x"}}),
    (waker.InputError, "batch must be a whole number, not 2.5", {"batch": 2.5}),
    (waker.InputError, "log.timing must be True or False, not 'maybe'", {"settings": {"log.timing": "maybe"}}),
    (waker.InputError, "unknown key 'stepz'; did you mean 'steps'?", {"stepz": 3}),
    (TypeError, "batch must have a value, not None", {"batch": None}),
    (TypeError, "batch is given twice", {"batch": 3, "settings": {"batch": 4}}),
    (TypeError, "settings must be a dict of names and values, not 3", {"settings": 3}),
    (TypeError, "progress must be True, False or a function, not 'bar'", {"progress": "bar"}),
    (TypeError, "message must be a function, not 'loud'", {"message": "loud"}),
    (waker.InputError, "like: '/nowhere' holds no run (no config.yaml); give the logdir of a run",
     {"like": "/nowhere"})])
def test_wrong_values_are_refused_in_words_of_python(tmp_path, kind, words, given):
    with pytest.raises(kind) as refused:
        waker.train("toy", tmp_path / "run", **given)
    assert str(refused.value) == words and not (tmp_path / "run").exists()


def test_what_to_train_and_where_must_be_said(tmp_path):
    with pytest.raises(TypeError, match=r"logdir must be .*train\(logdir='runs/a'\) to resume"):
        waker.train("runs/a")
    with pytest.raises(waker.InputError, match="there is no run in .* to resume; give env"):
        waker.train(logdir=tmp_path / "run")
    with pytest.raises(waker.InputError, match="not be empty"):
        waker.train("toy", "")


def test_names_and_files_may_be_of_any_iterable(tmp_path, run):
    for i, given in enumerate([{"configs": iter(["toy"])}, {"files": iter([run / "config.yaml"])}]):
        settings = TINY if i == 0 else {"steps": TINY["steps"]}
        assert waker.train(logdir=tmp_path / str(i), settings=settings, progress=False, **given) == "finished"
        assert waker.Run(tmp_path / str(i)).config["rssm.deter"] == TINY["rssm.deter"]


def test_warnings_speak_of_arguments(tmp_path):
    lines = []
    waker.train("toy", tmp_path / "run", ["waker-m", "dr"], **TINY, progress=False,
                message=lambda warning, line: warning and lines.append(line))
    assert [line for line in lines if line.startswith("configs: ")] and "--" not in "".join(lines)


def test_a_function_gets_the_progress(tmp_path):
    seen = []
    waker.train("toy", tmp_path / "run", **TINY, progress=seen.append)
    assert isinstance(seen[-1], waker.Progress) and seen[-1].total == 400 and seen[-1].fraction == 1
    assert seen[-1].model_loss > 0 and seen[0].steps < seen[-1].steps


@pytest.mark.parametrize("how, shown", [("True", "waker: 400 of 400 steps, "), ("False", "")])
def test_lines_show_the_progress_where_nobody_watches(tmp_path, how, shown):
    ended = subprocess.run([sys.executable, "-c", "import sys, waker; sys.path.insert(0, sys.argv[1])\n"
                            f"from conftest import TINY; waker.train('toy', 'run', **TINY, progress={how})",
                            SOURCE], cwd=tmp_path, capture_output=True, text=True)
    assert ended.returncode == 0 and ended.stderr.startswith(shown) and bool(ended.stderr) == bool(shown)
    assert ended.stdout == ""


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("name, bar", [("tqdm", _display.Tqdm), ("rich", _display.Rich)])
def test_bars_show_the_progress_to_those_who_watch(monkeypatch, name, bar):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    find = importlib.util.find_spec
    monkeypatch.setattr(_display.importlib.util, "find_spec",
                        lambda wanted: object() if wanted == name else None)
    if find(name) is None:
        pytest.skip(f"SKIPPED: no {name} here")
    shown = _display.display(True)
    assert isinstance(shown, _display.Unless) and isinstance(shown.display, bar)
    for steps in 100, 250, 401:
        shown.show(waker.Progress(steps=steps, total=400, **NUMBERS))
    shown.close()
    assert re.search(r"400/400", terminal.getvalue()) and re.search("loss[= ]1.5", terminal.getvalue())


def test_lines_are_shown_now_and_then(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(_display.importlib.util, "find_spec", lambda wanted: None)
    monkeypatch.setattr(_display, "SECONDS_BETWEEN_LINES", 0.05)
    shown = _display.display(True)
    for steps in range(10):
        shown.show(waker.Progress(steps=steps, total=8, **NUMBERS))
        time.sleep(0.02)
    monkeypatch.setattr(_display, "SECONDS_BETWEEN_LINES", 0)
    for _ in range(2):  # a run that is done says so again
        shown.show(waker.Progress(steps=8, total=8, **NUMBERS))
    shown.close()
    lines = terminal.getvalue().splitlines()
    assert 2 <= len(lines) < 8 and len(set(lines)) == len(lines)
    assert lines[-1] == "waker: 8 of 8 steps, 2 updates/s, 3 s left, model loss 1.5"


def test_what_cannot_be_shown_ends_nothing(monkeypatch):
    closed = Terminal()
    closed.close()
    monkeypatch.setattr(_display, "SECONDS_BETWEEN_LINES", 0)
    shown = _display.Unless(_display.Lines())
    monkeypatch.setattr(sys, "stderr", closed)
    for steps in 1, 2:
        shown.show(waker.Progress(steps=steps, total=8, **NUMBERS))
    shown.close()
    for nowhere in None, closed:
        monkeypatch.setattr(sys, "stderr", nowhere)
        assert isinstance(_display.display(True), _display.Nothing)


def test_a_run_is_followed_until_it_ends(tmp_path):
    directory, rows = tmp_path / "run", []
    with pytest.raises(ZeroDivisionError):
        waker.train("toy", directory, **TINY, progress=lambda now: now.steps > 100 and 1 / 0)
    run = waker.Run(directory)
    assert not run.is_training

    seen = []

    def watch(now):
        seen.append(run.is_training)
        if len(seen) == 1:
            following.start()

    following = threading.Thread(target=lambda: [rows.append(row) for row in run.follow(0.01)])
    waker.train(logdir=directory, progress=watch)
    following.join(60)
    lines = [json.loads(line) for line in (directory / "metrics.jsonl").read_text().splitlines()]
    assert all(seen) and rows == lines and len(rows) > 5 and not run.is_training
    assert list(run.follow()) == lines
    with pytest.raises(waker.InputError, match="pause must be above 0"):
        run.follow(0)


def test_lines_that_are_half_written_or_written_again_are_no_problem(run, tmp_path):
    (tmp_path / "config.yaml").write_text((run / "config.yaml").read_text())
    file, one = tmp_path / "metrics.jsonl", waker.Run(tmp_path)
    assert list(one.follow()) == []
    with pytest.raises(waker.NotFoundError, match="has no metrics.jsonl"):
        one.metrics()
    file.write_text('{"step": 1}\n{"step": 2}\n{"st')
    rows, place = one._metrics_from(0)
    assert [row["step"] for row in rows] == [1, 2]
    file.write_text('{"step": 1}\n')  # a run that is resumed goes back to its checkpoint
    assert one._metrics_from(place) == ([], place)
    file.write_text('{"step": 1}\n{"step": 2}\n{"step": 3}\n')
    assert one._metrics_from(place)[0] == [{"step": 3}]


class Tracker:
    """Stands for a run of Weights & Biases and for the module of MLflow."""

    def __init__(self):
        self.rows, self.settings = [], None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def init(self, project, name, config):
        self.settings = (name, config)
        return self

    def start_run(self, run_name):
        return self

    def log_params(self, config):
        self.settings = config

    def log(self, row, step):
        self.rows.append((step, row))

    def log_metrics(self, row, step):
        assert all(re.fullmatch(r"[\w\-. /:]+", name) for name in row)  # other names MLflow refuses
        self.rows.append((step, row))


def test_the_followers_in_the_docs_pass_every_line_on(run, tmp_path, monkeypatch):
    page = Path(os.environ.get("WAKER_SOURCE", SOURCE.parents[1]), "docs/python.md").read_text()
    shown = page.split("### Weights & Biases, MLflow")[1].split("\n### ")[0].split("\n## ")[0]
    lines = [line[4:] for line in shown.splitlines() if line.startswith("    ")]
    monkeypatch.chdir(tmp_path)
    shutil.copytree(run, "runs/b")
    wandb, mlflow = Tracker(), Tracker()
    exec("\n".join(lines), {"waker": waker, "wandb": wandb, "mlflow": mlflow})
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert [row for _, row in wandb.rows] == rows and wandb.settings == ("b", waker.Run(run).config)
    assert len(mlflow.rows) == len(rows) and mlflow.settings["domain"] == "toy"
    assert mlflow.rows[-1][1]["train/model_loss"] == rows[-1]["train/model_loss"]
    assert all(isinstance(x, (int, float)) for _, row in wandb.rows + mlflow.rows for x in row.values())
