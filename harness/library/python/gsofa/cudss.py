"""cuDSS with an order and a separator tree of this package, through nvmath-python.

    with DirectSolver(a, b) as solver:  # nvmath.sparse.advanced
        solver.plan_config.matching_algorithm = MatchingAlg.NONE  # nvmath.bindings.cudss
        gsofa.cudss.set_order(solver, a)
        solver.plan()
        solver.factorize()
        x = solver.solve()
"""
from __future__ import annotations

from typing import Any

import numpy as np

from . import separator_tree
from ._arguments import Device
from .errors import InvalidInput, Unavailable


def _bindings():
    try:
        from nvmath.bindings import cudss
    except ImportError as e:
        raise Unavailable(f"gsofa.cudss needs nvmath-python, of the extra gsofa[cudss]: pip install nvmath-python ({e})") from None
    if not hasattr(cudss.DataParam, "USER_ND_PARTITION_TREE"):
        raise Unavailable("gsofa.cudss needs nvmath-python 1.0: earlier bindings of cuDSS have no partition tree")
    return cudss


def _get(cudss, config, parameter):
    value = np.zeros(1, dtype=cudss.get_config_param_dtype(parameter))
    written = np.zeros(1, dtype=np.uint64)
    cudss.config_get(config, parameter, value.ctypes.data, value.nbytes, written.ctypes.data)
    return int(value[0])


def _set(cudss, config, parameter, number):
    value = np.full(1, number, dtype=cudss.get_config_param_dtype(parameter))
    cudss.config_set(config, parameter, value.ctypes.data, value.nbytes)


def set_order(solver: Any, a: Any, order: Any = "automatic", *, factorizations: int = 1, levels: int = 0,
              device: Device = "automatic", threads: int = 0, stream: Any = None):
    """Orders the matrix `a` of a solver and gives cuDSS the order with its separator tree, before plan(): cuDSS then skips its
    own reordering. Returns the SeparatorTree, of which cuDSS has copies.

    solver: a DirectSolver of nvmath.sparse.advanced for one matrix, or (handle, config, data), the integers of
        nvmath.bindings.cudss. The device of the solver must be the current one.
    a: the matrix of the solver; one triangle of a symmetric matrix or all of it.
    levels: of the tree; 0: those of the solver's plan_config.nd_min_levels (ConfigParam.ND_NLEVELS, 10 by default).
    order, factorizations, device, threads, stream: as of separator_tree().

    The solver keeps the order for reset_operands() with the same pattern. Its matching must be off (MatchingAlg.NONE): the order
    and the tree are those of `a` itself. Raises InvalidInput where it is on and for batches, Unavailable without nvmath-python
    1.0, and as separator_tree(); nvmath.bindings.cudss.cuDSSError where cuDSS refuses an argument.
    """
    cudss = _bindings()
    if isinstance(solver, tuple):
        handle, config, data = solver
    elif getattr(solver, "explicitly_batched_lhs", False) or getattr(solver, "implicitly_batched_lhs", False):
        raise InvalidInput("solver: cuDSS takes no order for a batch of matrices")
    else:
        handle, config, data = solver.handle, solver.config_ptr, solver.data_ptr
    parameters = cudss.ConfigParam
    if _get(cudss, config, parameters.MATCHING_ALG) != cudss.MatchingAlg.NONE:
        raise InvalidInput("solver: the order and the tree are those of the matrix itself; set "
                           "plan_config.matching_algorithm = MatchingAlg.NONE")
    levels = levels or _get(cudss, config, parameters.ND_NLEVELS)
    tree = separator_tree(a, levels, order, factorizations=factorizations, purpose="gpu", device=device, threads=threads,
                          stream=stream)
    _set(cudss, config, parameters.ND_NLEVELS, levels)
    _set(cudss, config, parameters.REORDERING_ALG, cudss.ReorderingAlg.DEFAULT)
    for parameter, value in ((cudss.DataParam.USER_PERM, tree.permutation), (cudss.DataParam.USER_ND_PARTITION_TREE, tree.sizes)):
        value = np.ascontiguousarray(value, dtype=np.int32)
        cudss.data_set(handle, data, parameter, value.ctypes.data, value.nbytes)
    return tree
