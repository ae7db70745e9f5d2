#!/usr/bin/env python3
"""Calls an installed program or library that orders graphs: programs.py NAME MATRIX PERMUTATION, NAME a key of ORDERS.

Reads a Matrix Market pattern, hands over A + A^T (COLAMD: A) and writes the old numbers by new position. Prints the seconds of
the order alone. Exit status 127 if the program or library is not installed; SciPy is needed.
"""
import ctypes
import re
import subprocess
import sys
import time

try:
    import numpy
    import scipy.io
    from scipy.sparse import csgraph
except ImportError:
    sys.exit(127)


def write(graph, scotch):
    """As METIS and KaHIP read a graph, with neighbours from 1; as Scotch does, with the number of neighbours and neighbours from 0."""
    with open("graph", "w") as out:
        print(f"0\n{graph.shape[0]} {graph.nnz}\n0 000" if scotch else f"{graph.shape[0]} {graph.nnz // 2}", file=out)
        for begin, end in zip(graph.indptr, graph.indptr[1:]):
            print(*([end - begin] if scotch else []), *(graph.indices[begin:end] + (not scotch)), file=out)


def order_by(words, seconds, file):
    """An order by a program that prints the seconds and writes the order to a file."""
    def order(a):
        write(symmetric(a), words[0] == "gord")
        done = subprocess.run(words, capture_output=True, text=True, errors="replace", check=False)
        said = done.stdout + done.stderr
        if done.returncode or not (found := re.search(seconds, said)):
            sys.exit(f"{words[0]} ends with status {done.returncode}: {said.strip()[-200:]}")
        new = numpy.loadtxt(file, dtype=int, ndmin=2, skiprows=int(file == "order"))[:, -1]  # positions of the vertices
        return numpy.argsort(new), float(found[1])
    return order


def timed(function, *arguments):
    begin = time.perf_counter()
    found = function(*arguments)
    return found, time.perf_counter() - begin


def ints(array):
    return (ctypes.c_int * len(array)).from_buffer_copy(array.astype("int32").tobytes())


def amd(library, *more):
    def order(a):
        graph, found = symmetric(a), (ctypes.c_int * a.shape[0])()
        status, taken = timed(getattr(ctypes.CDLL(f"lib{library}.so.2"), f"{library}_order"), a.shape[0], ints(graph.indptr), ints(graph.indices), found, None, None, *more)
        return list(found) if status >= 0 else sys.exit(f"{library} returns {status}"), taken
    return order


def colamd(a):
    library, a = ctypes.CDLL("libcolamd.so.2"), a.tocsc()
    library.colamd_recommended.restype = ctypes.c_size_t
    room = library.colamd_recommended(a.nnz, *a.shape)
    work, found = (ctypes.c_int * room)(*a.indices.tolist()), ints(a.indptr)
    done, taken = timed(library.colamd, *a.shape, room, work, found, None, (ctypes.c_int * 20)())
    return found[:-1] if done else sys.exit("colamd fails"), taken


def pymetis(a):
    import pymetis
    graph = symmetric(a)
    (found, _), taken = timed(lambda: pymetis.nested_dissection(xadj=graph.indptr, adjncy=graph.indices))
    return found, taken


KAHIP = r"compute node ordering ([\d.e+-]+)"
ORDERS = {"ndmetis": order_by(["ndmetis", "graph"], r"Ordering:\s+([\d.]+)", "graph.iperm"),
          "gord": order_by(["gord", "graph", "order", "-", "-vt"], r"Order\s+([\d.e+-]+)", "order"),
          "node_ordering": order_by(["node_ordering", "graph", "--output_filename=order", "--preconfiguration=fast"], KAHIP, "order"),
          "fast_node_ordering": order_by(["fast_node_ordering", "graph", "--output_filename=order"], KAHIP, "order"),
          "amd": amd("amd"), "camd": amd("camd", None), "colamd": colamd, "rcm": lambda a: timed(csgraph.reverse_cuthill_mckee, symmetric(a), True), "pymetis": pymetis}


def symmetric(a):
    """A + A^T without its diagonal."""
    return (scipy.sparse.tril(a + a.T, -1) + scipy.sparse.triu(a + a.T, 1)).tocsr()


def main(name, matrix, permutation):
    try:
        found, taken = ORDERS[name](abs(scipy.io.mmread(matrix).tocsr()))
    except (ImportError, OSError) as e:
        print(f"{name}: {e}", file=sys.stderr)
        sys.exit(127)
    print(f"time_s: {taken}")
    with open(permutation, "w") as out:
        out.writelines(f"{k}\n" for k in found)


if __name__ == "__main__":
    main(*sys.argv[1:])
