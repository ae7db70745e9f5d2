"""cudss_solve.py [SIDE]: solves A x = b on a CUDA device by cuDSS in the order of this library with its separator tree.

Needs CuPy and nvmath-python 1.0 with cuDSS. A: a 7-point stencil with convection on SIDE^3 points (default 60). Prints the
residual; exit status 0 if it is small.
"""
import sys

import cupy as cp
import cupyx.scipy.sparse as sp
import gsofa.cudss
from nvmath.bindings.cudss import MatchingAlg
from nvmath.sparse.advanced import DirectSolver


def stencil(side):
    line, eye = sp.diags([-1.2, 2.5, -0.8], [-1, 0, 1], (side, side)), sp.identity(side)
    return sp.csr_matrix(sp.kron(line, sp.kron(eye, eye)) + sp.kron(eye, sp.kron(line, eye)) + sp.kron(eye, sp.kron(eye, line)))


a = stencil(int(sys.argv[1]) if len(sys.argv) > 1 else 60)
b = 1.0 + cp.arange(a.shape[0]) % 7
with DirectSolver(a, b) as solver:
    solver.plan_config.matching_algorithm = MatchingAlg.NONE  # the default of cuDSS 0.8, not of 1.0
    tree = gsofa.cudss.set_order(solver, a)
    solver.plan()
    solver.factorize()
    x = solver.solve()
residual = float(abs(b - a @ x).max() / b.max())
print(f"n {a.shape[0]}, order {tree.order}, residual {residual:.1e}")
sys.exit(residual > 1e-10)
