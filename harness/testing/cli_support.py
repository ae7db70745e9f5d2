"""What the tests of the built programs share. $GSOFA and $GSOFA_COUNTING name the programs."""

import fcntl
import json
import os
import pty
import resource
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest
from pathlib import Path

GSOFA = os.environ.get("GSOFA", "gsofa")
ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "experiments"))
import json_lines  # noqa: E402

GSOFA_COUNTING = os.environ.get("GSOFA_COUNTING", "gsofa_counting")

OK, FAILED, BAD_INPUT, UNAVAILABLE, RUN_FAILED = 0, 1, 2, 3, 4

# Rows {0,2}, {0,1}, {1,2}: eliminating 0 fills (1,2).
SMALL = "%%MatrixMarket matrix coordinate pattern general\n3 3 6\n1 1\n1 3\n2 1\n2 2\n3 2\n3 3\n"
NO_DIAGONAL = "%%MatrixMarket matrix coordinate pattern general\n3 3 4\n1 2\n2 3\n3 1\n1 1\n"
SINGULAR = "%%MatrixMarket matrix coordinate pattern general\n3 3 3\n1 1\n2 1\n3 1\n"
RECTANGULAR = "%%MatrixMarket matrix coordinate pattern general\n2 3 2\n1 1\n2 2\n"
TRUNCATED = "%%MatrixMarket matrix coordinate pattern general\n3 3 6\n1 1\n1 3\n"
OUT_OF_RANGE = "%%MatrixMarket matrix coordinate pattern general\n3 3 1\n4 1\n"


def call(*args, program=GSOFA, cwd=None):
    return subprocess.run([program, *args], capture_output=True, text=True, errors="replace",
                          timeout=300, cwd=cwd)


def on_terminal(*args, columns=80, interrupt_at=None, environment=None):
    """What a program shows on a terminal, and its status; Ctrl-C once the text `interrupt_at` is there."""
    try:
        main, side = pty.openpty()
    except OSError as e:
        raise unittest.SkipTest(f"no pseudo-terminal ({e.strerror})") from e
    fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    running = subprocess.Popen([GSOFA, *args], stdin=side, stdout=side, stderr=side, start_new_session=True,
                               env=os.environ | {"TERM": "xterm"} | (environment or {}))
    os.close(side)
    shown = b""
    deadline = time.monotonic() + 120
    try:
        while time.monotonic() < deadline:
            if not select.select([main], [], [], 0.1)[0]:
                continue
            try:
                part = os.read(main, 1 << 16)
            except OSError:  # no process has the other side any more
                break
            if not part:
                break
            shown += part
            if interrupt_at and interrupt_at in shown:
                interrupt_at = None
                os.killpg(running.pid, signal.SIGINT)
        return shown.decode().replace("\r\n", "\n"), running.wait(timeout=10)
    finally:
        os.close(main)
        if running.poll() is None:
            running.kill()
            running.wait()


def file_size_limit(size):
    """To be run in a child: files of its program cannot grow past `size` bytes, as on a full disk."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def records_of(text):
    """The records that a program printed or a file has, each with the fields of its run."""
    return list(json_lines.lines_of(text, "records"))


def worked_example():
    """The file that holds the pattern of reference/worked_example."""
    root = os.environ.get("GSOFA_ROOT") or Path(__file__).resolve().parents[2]
    return Path(root) / "experiments" / "matrices" / "worked_example.mtx"


class CliTest(unittest.TestCase):
    def need_matching(self):
        """Skips a test that needs a build with SuiteSparse BTF."""
        info = json.loads(call("info", "--json", "--no-fill", "--matrix", self.small).stdout)
        if "left_out" in info:
            self.skipTest(info["left_out"])

    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.addCleanup(self._folder.cleanup)
        self.folder = Path(self._folder.name)
        self.small = self.write("small.mtx", SMALL)

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return str(path)

    def records(self, *args, code=OK, program=GSOFA):
        done = call("run", "--json", *args, program=program)
        self.assertEqual(done.returncode, code, done.stderr)
        return records_of(done.stdout)

    def assert_refused(self, code, *args, mention=()):
        done = call(*args)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertEqual(done.stdout, "")
        lines = done.stderr.splitlines()
        self.assertEqual(len(lines), 1, done.stderr)
        self.assertTrue(lines[0].startswith("gsofa: error: "), lines[0])
        for text in mention:
            self.assertIn(text, lines[0])
