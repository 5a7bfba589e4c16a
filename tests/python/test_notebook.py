"""The notebook of examples/python: its cells run in order, without Jupyter."""

import json
import os
from pathlib import Path

import pytest

SOURCE = Path(os.environ.get("WAKER_SOURCE", Path(__file__).parents[2]))


@pytest.mark.native
def test_the_notebook_runs(tmp_path, monkeypatch, capsys):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    monkeypatch.chdir(tmp_path)
    notebook = json.loads((SOURCE / "examples/python/toy.ipynb").read_text())
    names = {}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == []
            text = "".join(cell["source"])
            exec(compile(text.replace("STEPS = Path(\"runs-notebook\"), 3000",
                                      "STEPS = Path(\"runs-notebook\"), 400"), "toy.ipynb", "exec"), names)
    assert names["STEPS"] == 400
    said = capsys.readouterr().out
    assert "waker-m finished" in said and "return" in said
    assert names["drawn"].shape == (21, 1, 64, 64, 3)
