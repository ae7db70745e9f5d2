"""The notebooks are stored with what their cells print and draw; notebooks/execute.py makes that."""
import ast
import json
import pathlib

import pytest

NOTEBOOKS = sorted((pathlib.Path(__file__).resolve().parent.parent / "notebooks").glob("*.ipynb"))


def shows(source):
    """Whether a cell ends with an expression, or prints."""
    tree = ast.parse(source)
    return isinstance(tree.body[-1], ast.Expr) or any(isinstance(x, ast.Name) and x.id == "print" for x in ast.walk(tree))


@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda f: f.stem)
def test_notebooks_are_stored_with_their_outputs(file):
    assert file.stat().st_size < 300_000
    cells = [c for c in json.loads(file.read_text())["cells"] if c["cell_type"] == "code"]
    assert [c["execution_count"] for c in cells] == list(range(1, len(cells) + 1))
    for c in cells:
        source = "".join(c["source"])
        assert bool(c["outputs"]) == shows(source), source
        assert all(o["output_type"] != "error" for o in c["outputs"]), source


def test_there_are_notebooks():
    assert len(NOTEBOOKS) == 2
