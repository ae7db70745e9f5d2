#!/usr/bin/env python3
"""Hostile use of the Python package, compared with dense elimination in NumPy; soak.py runs it as its part `python`.

  python_part.py --seed=S [--first=K] [--seconds=T | --cases=N] [--current=FILE] [--planted]

The interpreter must have the package gsofa. Case k of a seed is always the same: it draws a kind of KINDS, a matrix and options.
Prints a line "failed: case k: ..." for each failure and at last the number of executions; exit status 1 after a failure. FILE
holds the number of the case in progress, for whoever finds that the interpreter died. --planted: results that are wrong.
"""
import argparse
import copy
import faulthandler
import gc
import os
import pathlib
import pickle
import signal
import sys
import threading
import time

import numpy as np
import scipy.sparse as sp

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "library" / "python" / "tests"))
import oracle  # noqa: E402

import gsofa  # noqa: E402

FORMATS = ("csr", "csc", "coo", "lil", "dok", "dia", "bsr", "pair")
ORDERINGS = [o for o in ("natural", "amd", "colamd", "cpu_nested_dissection", "tournament", "metis", "automatic")
             if o != "metis" or gsofa.has_metis()]
LIMIT = 120  # seconds after which a case that needs a few milliseconds counts as hanging
planted = False


class Failed(Exception):
    """Something did not hold."""


class Cancelled(Exception):
    """Raised by a progress callable."""


def require(holds, message):
    if not holds:
        raise Failed(message)


# --- matrices --------------------------------------------------------------------------------------


def dense(rng, most=20):
    """A square pattern, often with a full diagonal."""
    n = int(rng.integers(1, most + 1))
    a = rng.random((n, n)) < rng.choice((0, 0.05, 0.15, 0.4, 1))
    return a | np.eye(n, dtype=bool) if rng.random() < 0.7 else a


def sparse(rng, pattern):
    """A matrix with these stored entries, some of them zero, in any format; the pattern of its stored entries."""
    rows, cols = np.nonzero(pattern)
    if rng.random() < 0.3 and rows.size:  # one entry many times, in any order
        again = np.full(int(rng.choice((1, 2, 255, 256, 512))), rng.integers(rows.size))
        which = rng.permutation(np.r_[np.arange(rows.size), again])
        rows, cols = rows[which], cols[which]
    values = rng.choice((0, 1, -1), rows.size).astype(rng.choice((np.int8, np.float32, np.float64, bool)))
    a = sp.coo_matrix((values, (rows, cols)), shape=pattern.shape)
    kind = rng.choice(FORMATS)
    if kind in ("csr", "csc", "pair"):
        # By hand: a conversion adds repeated entries.
        major, minor = (cols, rows) if kind == "csc" else (rows, cols)
        by = np.argsort(major, kind="stable")
        index = rng.choice((np.int32, np.int64))
        ptr = np.r_[0, np.cumsum(np.bincount(major, minlength=len(pattern)))].astype(index)
        if kind == "pair":
            return (ptr, minor[by].astype(rng.choice((np.int16, np.int32, np.uint64)))), pattern
        a = getattr(sp, f"{kind}_{rng.choice(('matrix', 'array'))}")((values[by], minor[by].astype(index), ptr), shape=a.shape)
        return a, pattern
    if kind == "dia":
        offsets = np.unique(cols - rows)
        a = sp.dia_matrix((np.zeros((offsets.size, len(pattern))), offsets), shape=a.shape)
        return a, np.isin(np.subtract.outer(np.arange(len(pattern)), np.arange(len(pattern))), -offsets)
    if kind == "bsr":
        size = int(rng.choice([k for k in (1, 2, 3) if len(pattern) % k == 0]))
        blocks = pattern.reshape(len(pattern) // size, size, -1, size).any(axis=(1, 3))
        rows, cols = np.nonzero(blocks)
        ptr = np.r_[0, np.cumsum(blocks.sum(axis=1))]
        a = sp.bsr_matrix((np.zeros((rows.size, size, size)), cols, ptr), shape=a.shape)
        return a, np.kron(blocks, np.ones((size, size), dtype=bool))
    if kind in ("lil", "dok"):
        a = sp.csr_matrix(pattern, dtype=float)
        a.data[:] = values[0] if values.size else 0
    return a.asformat(kind), pattern


def arrays_of(a):
    """The arrays of a matrix that its holder may write."""
    names = ("indptr", "indices", "row", "col", "data", "offsets")
    found = a if isinstance(a, tuple) else [getattr(a, name) for name in names if isinstance(getattr(a, name, None), np.ndarray)]
    return [x for x in found if x.dtype != object]


def spoil(rng, a):
    """Writes anything anywhere."""
    for array in arrays_of(a):
        with np.errstate(all="ignore"):
            if array.size and array.dtype.kind in "iu":
                worst = np.iinfo(array.dtype)
                array[rng.random(array.shape) < rng.choice((0.1, 1))] = rng.choice((worst.min, worst.max, 0, 1, 10**4 % worst.max))
            else:
                array[...] = 0


# --- what must hold ----------------------------------------------------------------------------------


def analyze(rng, a, **how):
    return gsofa.analyze(a, str(rng.choice(ORDERINGS)), match=False, threads=int(rng.integers(0, 3)), **how)


def compare(s, pattern):
    """An analysis with dense elimination of the pattern of stored entries."""
    n = len(pattern)
    require(sorted(s.perm_r) == sorted(s.perm_c) == list(range(n)), "the order is no permutation")
    p = pattern[np.ix_(s.perm_r, s.perm_c)]
    low, up = oracle.factors(p)
    if planted:
        up[0, -1] = not up[0, -1]
    require((s.A.toarray() == p).all(), "the permuted pattern differs")
    require((s.L.toarray() == low).all() and (s.U.toarray() == up).all(), "the factors differ")
    require((s.lnz, s.unz) == (low.sum(), up.sum()), "the totals differ")
    require((s.row_counts == (low | up).sum(axis=1)).all() and (s.l_col_counts == low.sum(axis=0)).all(), "the counts differ")
    require(s.flops == oracle.flops(low, up) and s.supernodes.tolist() == oracle.supernodes(low, up), "operations or supernodes")
    require((s.parent == oracle.elimination_tree(p)).all(), "the tree differs")
    require((s.density(n) == (low | up)).all(), "the density differs")
    require(s.matches(sp.csr_matrix(pattern)), "the matrix that was analysed does not match")


def check_formats(rng):
    a, pattern = sparse(rng, dense(rng))
    compare(analyze(rng, a), pattern)
    r = gsofa.symbfact(a).R
    require((r.toarray() == oracle.factors(np.triu(pattern) | np.triu(pattern).T)[1]).all(), "symbfact differs")


def check_mutation(rng):
    """The matrix is spoilt or dropped after the analysis, and copies of the result are used."""
    a, pattern = sparse(rng, dense(rng))
    s = analyze(rng, a)
    if rng.random() < 0.3:
        s.parent, s.L  # noqa: B018
    spoil(rng, a)
    if rng.random() < 0.3:
        del a
        gc.collect()
    again = (lambda x: x, copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x)))[rng.integers(4)](s)
    for array in (again.perm_c, again.L.data, again.U.indices, again.parent):
        try:
            array[...] = 0
            raise Failed("an array of a result was written")
        except ValueError:
            pass
    compare(again, pattern)


def check_errors(rng):
    """Arrays are spoilt before the call: an error, or a result."""
    a, _ = sparse(rng, dense(rng))
    spoil(rng, a)
    for call in (lambda: analyze(rng, a).L, lambda: gsofa.symbfact(a), lambda: gsofa.analyze(sp.eye(3)).matches(a),
                 lambda: gsofa.analyze_batch([sp.eye(3), a], match=False), lambda: gsofa.estimate(a, match=False),
                 lambda: gsofa.separator_tree(a, 3, str(rng.choice(ORDERINGS)))):
        try:
            call()
        except (gsofa.GsofaError, OverflowError):
            pass


def larger(rng):
    """A matrix whose analysis takes some milliseconds."""
    n = int(rng.integers(500, 2500))
    a = sp.coo_matrix((np.ones(3 * n), (rng.integers(0, n, 3 * n), rng.integers(0, n, 3 * n))), shape=(n, n))
    return sp.csr_matrix(a + sp.eye(n))


def totals(a):
    s = gsofa.analyze(a, "natural", match=False)
    return s.nnz, s.L.nnz, s.flops, s.height


def check_interrupt(rng):
    """SIGINT at any moment; afterwards everything works as before."""
    a = larger(rng)
    expected = totals(a)
    timer = threading.Timer(float(rng.uniform(0, 0.05)), os.kill, (os.getpid(), signal.SIGINT))
    try:
        timer.start()
        while True:
            require(totals(a) == expected, "a second analysis differs")
    except KeyboardInterrupt:
        pass
    timer.join()
    require(totals(a) == expected, "after an interruption the analysis differs")


def check_threads(rng):
    """Several threads analyse at once, some of them until their progress raises; the main thread collects garbage."""
    seeds, faults = rng.integers(0, 2**32, 4), []

    def work(k):
        own = np.random.default_rng(seeds[k])
        try:
            a, pattern = sparse(own, dense(own))
            compare(analyze(own, a), pattern)
            calls = []

            def progress(*_):
                calls.append(1)
                if k % 2:
                    raise Cancelled
            try:
                gsofa.analyze(larger(own), "natural", match=False, progress=progress)
                require(k % 2 == 0, "what progress raised was lost")
            except Cancelled:
                require(k % 2 == 1, "another thread's exception")
            require(calls, "progress was not called")
        except Exception as e:  # noqa: BLE001
            faults.append(f"{type(e).__name__}: {e}")
    threads = [threading.Thread(target=work, args=(k,)) for k in range(len(seeds))]
    for t in threads:
        t.start()
    gc.collect()
    for t in threads:
        t.join()
    require(not faults, "; ".join(faults))


def check_fork(rng):
    """A child is forked while a thread analyses; both go on."""
    a, (b, pattern) = larger(rng), sparse(rng, dense(rng))
    before = analyze(rng, b)
    found = []
    t = threading.Thread(target=lambda: found.append(totals(a)))
    t.start()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            compare(before, pattern)
            compare(gsofa.analyze(b, "natural", match=False), pattern)
            status = 0
        finally:
            os._exit(status)
    end = time.monotonic() + LIMIT / 2
    ended, status = os.waitpid(child, os.WNOHANG)
    while ended == 0 and time.monotonic() < end:
        time.sleep(0.002)
        ended, status = os.waitpid(child, os.WNOHANG)
    if ended == 0:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    t.join()
    require(ended, "the child of a fork hangs")
    require(status == 0, f"the child of a fork ended with {os.waitstatus_to_exitcode(status)}")
    require(found == [totals(a)], "the parent of a fork has another result")


KINDS = [(check_formats, 6), (check_mutation, 6), (check_errors, 4), (check_interrupt, 1), (check_threads, 2), (check_fork, 1)]


def run_case(seed, number):
    """None, or why the case failed."""
    rng = np.random.default_rng([seed, number])
    weights = np.array([w for _, w in KINDS])
    check = KINDS[rng.choice(len(KINDS), p=weights / weights.sum())][0]
    try:
        check(rng)
    except Exception as e:  # noqa: BLE001
        return f"{check.__name__}: {type(e).__name__}: {' '.join(str(e).split())}"
    return None


def main():
    global planted
    p = argparse.ArgumentParser()
    p.add_argument("--seed", type=int, required=True)
    p.add_argument("--first", type=int, default=0)
    p.add_argument("--seconds", type=float, default=1e9)
    p.add_argument("--cases", type=int, default=10**9)
    p.add_argument("--current", type=pathlib.Path)
    p.add_argument("--planted", action="store_true")
    args = p.parse_args()
    planted = args.planted
    faulthandler.enable()
    number, failures = args.first, 0
    end = time.monotonic() + args.seconds
    while number < args.first + args.cases and (number == args.first or time.monotonic() < end):
        if args.current:
            args.current.write_text(str(number))
        faulthandler.dump_traceback_later(LIMIT, exit=True)
        fault = run_case(args.seed, number)
        faulthandler.cancel_dump_traceback_later()
        if fault:
            print(f"failed: case {number}: {fault}", flush=True)
            failures += 1
        number += 1
    print(f"{number - args.first} executions", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
