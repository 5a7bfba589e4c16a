"""The notebook of examples/python: its cells run in order, without Jupyter."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

SOURCE = Path(os.environ.get("WAKER_SOURCE", Path(__file__).parents[2]))


@pytest.mark.native
def test_the_notebook_runs(tmp_path, monkeypatch, capsys):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    notebook = json.loads((SOURCE / "examples/python/toy.ipynb").read_text())
    monkeypatch.chdir(SOURCE / "examples/python")
    names = {}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == []
            text = "".join(cell["source"])
            exec(compile(text.replace('Path("runs-notebook"), 3000, 4', f"Path({str(tmp_path)!r}), 400, 2"),
                         "toy.ipynb", "exec"), names)
    assert (names["STEPS"], names["EPISODES"]) == (400, 2)
    said = capsys.readouterr().out
    assert "completed on average: " in said and np.mean(names["done"]) > 0.2 and "waker-m finished" in said
    assert names["drawn"].shape == (80, 1, 64, 64, 3) and names["scores"].problems == ()
