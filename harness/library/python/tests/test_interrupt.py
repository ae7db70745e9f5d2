"""Signals and exceptions of `progress` end analyses that would take long."""
import gzip
import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest
import scipy.sparse as sp

import gsofa
from gsofa._pattern import pattern_of

STAGES = ("check", "match", "order", "permute", "analyze", "output")


def long_matrix(n=9000, degree=3):
    """A matrix of few entries whose factors in the natural order are nearly full: counting them takes seconds."""
    rng = np.random.default_rng(1)
    cols = rng.integers(0, n, (n, degree))
    rows = np.repeat(np.arange(n), degree)
    return sp.csr_array((np.ones(n * degree), (rows, cols.ravel())), shape=(n, n)) + sp.eye(n, format="csr")


@pytest.fixture(scope="module")
def a():
    return long_matrix()


class Stop(Exception):
    pass


# What may take long, by what computes it first.
LONG = {
    "analyze": lambda a, **how: gsofa.analyze(a, "natural", threads=1, **how),
    "order": lambda a, **how: gsofa.order(a, "cpu_nested_dissection", threads=1, **how),
    "estimate": lambda a, **how: gsofa.estimate(a, "cpu_nested_dissection", threads=1, **how),
    "symbfact": lambda a, **how: gsofa.symbfact(a, **how),
}
LATER = {
    "L": lambda s: s.L,
    "U": lambda s: s.U,
    "parent": lambda s: s.parent,
    "flops": lambda s: s.flops,
    "masks": lambda s: s.masks,
    "density": lambda s: s.density(50),
    "supernodal": lambda s: s.supernodal(),
    "to_superlu": lambda s: s.to_superlu(),
    "spy": lambda s: s.spy(),
    "tree": lambda s: s.tree(),
    "profiles": lambda s: s.profiles(),
    "html": lambda s: s._repr_html_(),
}


def fresh(a):
    """An analysis of which nothing else has been computed."""
    return gsofa.analyze(a, "natural", threads=1)


@pytest.mark.parametrize("name", (*LONG, *LATER))
def test_progress_is_called_and_what_it_raises_is_raised(name):
    small = long_matrix(200)
    seen = []

    def note(stage, share):
        assert threading.get_ident() == seen_by and stage in STAGES and (share is None or 0 <= share <= 1)
        seen.append(stage)
        return False  # of no account

    def stop(*_):
        raise Stop(name)
    seen_by = threading.get_ident()
    for progress in (note, stop):
        s = fresh(small)
        s.progress = progress

        def call():
            return LONG[name](small, progress=progress) if name in LONG else LATER[name](s)
        if progress is note:
            call()
            assert seen[0] == "check"
        else:
            with pytest.raises(Stop, match=name):
                call()
            s.progress = None
            assert s.L.nnz == s.nnz_l  # as if nothing had happened


def test_progress_must_be_callable():
    for call in (gsofa.analyze, gsofa.estimate, gsofa.order, gsofa.symbfact,
                 lambda a, **how: gsofa.separator_tree(a, 2, **how)):
        with pytest.raises(gsofa.InvalidInput, match="progress"):
            call(sp.eye(3), progress=3)


class Sender:
    """Sends a signal to this process as soon as the one before has been handled; the handler raises Stop at the third. Work
    that looks at signals only when it ends sees no more than one or two of them."""

    def __init__(self):
        self.handled, self.done = 0, threading.Event()
        self.taken = threading.Semaphore(1)
        self.thread = threading.Thread(target=self.send)

    def handle(self, *_):
        self.handled += 1
        self.taken.release()
        if self.handled == 3:
            self.done.set()
            raise Stop

    def send(self):
        while self.taken.acquire() and not self.done.is_set():
            os.kill(os.getpid(), signal.SIGUSR1)

    def __enter__(self):
        self.before = signal.signal(signal.SIGUSR1, self.handle)
        return self

    def __exit__(self, *_):
        self.done.set()
        self.taken.release()
        if self.thread.ident:
            self.thread.join()
        signal.signal(signal.SIGUSR1, self.before)


@pytest.fixture(scope="module")
def slow():
    """A matrix whose symbolic factorization takes seconds."""
    return long_matrix(20000, 4)


@pytest.mark.parametrize("name", ("analyze", "symbfact", "L", "parent", "masks", "density", "supernodal"))
def test_signals_are_answered_while_the_library_works(slow, name):
    s = gsofa.analyze(long_matrix(20), "natural")
    s._pattern, s._found = pattern_of(slow), {**s._found, "row_order": (p := np.arange(20000, dtype=np.int32)),
                                                             "col_order": p}
    with Sender() as sender, pytest.raises(Stop):
        sender.thread.start()
        LONG[name](slow) if name in LONG else LATER[name](s)
    assert sender.handled == 3


def test_signals_are_answered_while_a_file_is_read(tmp_path):
    (tmp_path / "a").write_bytes(gzip.compress(b"%%MatrixMarket matrix coordinate pattern general\n") +
                                 200 * gzip.compress(b"%\n" * (1 << 24), 1))
    with Sender() as sender, pytest.raises(Stop):
        sender.thread.start()
        gsofa.read(tmp_path / "a")
    assert sender.handled == 3


def test_a_thread_is_cancelled_by_its_progress_while_another_goes_on(slow):
    """Signals are the main thread's alone."""
    raised, going = [], threading.Event()
    looks = [0]

    def progress(*_):
        going.set()
        looks[0] += 1
        if cancel.is_set():
            raise Stop

    def work():
        try:
            gsofa.analyze(slow, "natural", device="cpu", threads=1, progress=progress)
        except Stop as e:
            raised.append(e)
    cancel = threading.Event()
    t = threading.Thread(target=work)
    t.start()
    going.wait()
    other = gsofa.analyze(long_matrix(300), "amd")
    cancel.set()
    t.join()
    assert len(raised) == 1 and looks[0] >= 2 and other.L.nnz == other.nnz_l


def run(code, **how):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, **how)


PRELUDE = """
import atexit, os, signal, sys, threading, time
import numpy as np, scipy.sparse as sp
rng = np.random.default_rng(1)
def matrix(n):
    entries = np.ones(4 * n), (np.repeat(np.arange(n), 4), rng.integers(0, n, 4 * n))
    return sp.csr_array(entries, shape=(n, n)) + sp.eye(n, format="csr")
a = matrix(14000)
"""


def test_control_c_ends_a_program():
    done = run(PRELUDE + """
import gsofa
threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
while True:
    gsofa.analyze(a, "natural", threads=1).L
""")
    assert done.returncode == -2 and done.stderr.rstrip().endswith("KeyboardInterrupt"), done.stderr


def test_a_daemon_thread_may_analyse_while_the_interpreter_ends():
    """A function that atexit calls after those of the module may still analyse."""
    code = PRELUDE + """
atexit.register(lambda: print(gsofa.analyze(sp.eye(4)).nnz, flush=True))
import gsofa
going = threading.Event()
for _ in range(3):
    threading.Thread(target=lambda: [gsofa.analyze(a, "natural", threads=1, progress=lambda *_: going.set()) for _ in range(9)],
                     daemon=True).start()
going.wait()
time.sleep(0.05)
"""
    for _ in range(3):
        done = run(code)
        assert (done.returncode, done.stdout, done.stderr) == (0, "4\n", "")


def test_one_thread_does_not_wait_for_what_another_computes():
    one, other = (gsofa.analyze(long_matrix(300), "natural") for _ in range(2))
    seen = []

    def progress(*_):
        t = threading.Thread(target=lambda: seen.append(other.L.nnz), daemon=True)
        t.start()
        t.join(60)
        one.progress = None
    one.progress = progress
    assert one.L.nnz == other.nnz_l and seen and set(seen) == {other.nnz_l}


def test_a_child_of_a_fork_analyses():
    """Forked while another thread analyses."""
    done = run(PRELUDE + """
import gsofa
going, end = threading.Event(), threading.Event()
def progress(*_):
    going.set()
    if end.is_set():
        raise InterruptedError
def work():
    try:
        gsofa.analyze(a, "natural", threads=1, progress=progress)
    except InterruptedError:
        pass
t = threading.Thread(target=work)
t.start()
going.wait()
child = os.fork()
if child == 0:
    assert gsofa.analyze(sp.eye(5)).nnz == 5
    sys.exit(0)
status = os.waitpid(child, 0)[1]
end.set()
t.join()
sys.exit(os.waitstatus_to_exitcode(status))
""")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("what", ("gsofa.analyze(a, 'natural', progress=progress)", "s.parent"))
def test_progress_may_fork(what):
    """The analysis goes on in the parent alone. The order doubles until the analysis lasts long enough to call progress."""
    done = run(PRELUDE + f"""
import gsofa
children = []
def progress(stage, share):
    if stage == "analyze" and not children:
        children.append(os.fork())
n = 1000
while not children:
    a = matrix(n := 2 * n)
    s = gsofa.analyze(a, "natural")
    s.progress = progress
    try:
        {what}
    except gsofa.Unavailable:
        assert children == [0] and gsofa.analyze(sp.eye(5)).L.nnz == 0
        os._exit(7)
assert os.waitpid(children[0], 0)[1] == 7 << 8 and s.height > 0
""")
    assert done.returncode == 0, done.stderr
