"""Exact symbolic LU factorization of sparse matrices.

>>> import gsofa, scipy.sparse as sp
>>> s = gsofa.analyze(sp.csr_array([[2, 0, 1], [1, 2, 0], [0, 1, 2]]), order="natural")
>>> s.nnz_l, s.nnz_u, s.fill
(2, 5, 1)
>>> s.U.toarray().astype(int)
array([[1, 0, 1],
       [0, 1, 1],
       [0, 0, 1]])
"""
from ._analyzer import Analyzer, OrderUpdate
from ._core import has_metis, version
from ._functions import (Estimate, Matching, SeparatorTree, SymbfactResult, VariantInfo, analyze, estimate, match, order,
                         separator_tree, symbfact, variants)
from ._read import read
from ._symbolic import Masks, Supernodal, Symbolic
from .errors import GsofaError, InternalError, InvalidInput, OutOfMemory, Unavailable

__version__ = version()
__all__ = ["Analyzer", "Estimate", "GsofaError", "InternalError", "InvalidInput", "Masks", "Matching", "OrderUpdate", "OutOfMemory", "SeparatorTree",
           "Supernodal", "SymbfactResult", "Symbolic", "Unavailable", "VariantInfo", "analyze", "estimate", "has_metis", "match", "order", "read",
           "separator_tree", "symbfact", "variants", "version"]
