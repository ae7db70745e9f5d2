"""Figure 5 of the paper: memory of the auxiliary structures over the memory of the matrix (row pointers and column indices of 32 bits),
before and after the space optimizations, 1,024 sources at a time: sizes that follow from n and nnz(A), not measurements."""

import sys

import records_ratios as ratios
import style
import style_kinds as kinds

ANSWER = ("Here auxiliary structures take {before: six arrays of |V| #C entries (computed from n)} times the memory of a real matrix, and "
          "{after: as allocated (planned from n)} times after optimization")


def over_matrix(part, key):
    """A size that a run planned or allocated over that of its matrix."""
    def of(run):
        matrix = run["matrix"]
        csr = 4 * (matrix["n"] + 1 + matrix.get("nnz_prepared", matrix["nnz"]))
        return run["mem"][part][key] / csr if key in run["mem"].get(part, {}) else None
    return ratios.case("gpu_maxid", of, concurrent_sources=1024, memory_budget_mb=0)


def parts(table):
    for title, part, key, low, high in (("before: six arrays of |V| #C entries (computed from n)", "predicted", "paper_6VC", 36, 3121),
                                        ("after: as allocated (planned from n)", "device", "arena", 9, 801)):
        yield table.quantity(lambda a: a, over_matrix(part, key)), title, "auxiliary over matrix", ((low, f"{low}"), (high, f"{high:,}"))


def draw(args):
    kinds.figure(args, "fig05_memory", parts, answer=ANSWER, line=None)


if __name__ == "__main__":
    sys.exit(style.main(draw, __doc__))
