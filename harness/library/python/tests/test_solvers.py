"""The examples of README.md that give other solvers an order of this package."""
import pathlib
import re

import numpy as np
import pytest
import scipy.sparse as sp

import gsofa

README = (pathlib.Path(__file__).resolve().parent.parent / "README.md").read_text()


@pytest.mark.parametrize("package, call", (("scipy", "splu("), ("sksparse.cholmod", "cholesky(")))
def test_examples_solve_with_less_fill(package, call):
    pytest.importorskip(package)
    (example,) = [x for x in re.findall(r"```python\n(.*?)```", README, re.DOTALL) if call in x]
    k = 14
    one = sp.diags([-1.0, 2.1, -1.0], [-1, 0, 1], shape=(k, k))
    a = sp.csc_matrix(sp.kronsum(sp.kronsum(one, one), one))
    b = np.random.default_rng(1).random(k**3)
    given = {"gsofa": gsofa, "np": np, "A": a, "b": b}
    exec(example, given)
    assert np.abs(a @ given["x"] - b).max() < 1e-10
    if call == "splu(":
        lu = given["lu"]
        assert (lu.perm_r == lu.perm_c).all()  # no pivot left the diagonal
        assert lu.L.nnz + lu.U.nnz < 0.7 * sum(f.nnz for f in (given["splu"](a).L, given["splu"](a).U))
    else:
        assert given["factor"].L().nnz < given["cholesky"](a, ordering_method="amd").L().nnz
