"""The program where address space or threads run out. $GSOFA names it. Single allocations fail in ../soak/soak_test.py."""

import collections
import lzma
import os
import re
import resource
import subprocess
import sys
import tarfile
import tempfile
import unittest
from pathlib import Path

GSOFA = os.environ.get("GSOFA", "gsofa")

OK, UNAVAILABLE, RUN_FAILED = 0, 3, 4

SMALL = "%%MatrixMarket matrix coordinate pattern general\n3 3 6\n1 1\n1 3\n2 1\n2 2\n3 2\n3 3\n"
PROGRESS = re.compile(r"\[\d+/\d+.*\] small \w+: (pass|oom)")


class OutOfMemoryTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.small = self.folder / "small.mtx"
        self.small.write_text(SMALL)

    def test_files_read_in_little_address_space(self):
        """Also where libarchive, which ends the process, would find too little."""
        entries = "".join(f"{1 + i % 60000} {1 + i * 7 % 60000}\n" for i in range(200000))
        text = f"%%MatrixMarket matrix coordinate pattern general\n60000 60000 200000\n{entries}".encode()
        (self.folder / "a.mtx").write_bytes(text)
        (self.folder / "a.mtx.xz").write_bytes(lzma.compress(text, preset=0))
        for mode in ("w", "w:xz"):
            with tarfile.open(self.folder / f"a{mode[2:]}.tar", mode) as out:
                out.add(self.folder / "a.mtx", "a.mtx")
        for name in ("a.mtx", "a.mtx.xz", "a.tar", "axz.tar"):
            args = [GSOFA, "info", "--no-fill", "--matrix", str(self.folder / name)]
            if subprocess.run(args, capture_output=True, timeout=300).returncode == UNAVAILABLE:
                continue  # without libarchive
            ended = collections.Counter()
            for space in range(20 << 20, 400 << 20, 3 << 19):
                done = subprocess.run(args, capture_output=True, text=True, timeout=300, preexec_fn=lambda s=space:
                                      resource.setrlimit(resource.RLIMIT_AS, (s, s)))
                if "error while loading" in done.stderr:
                    continue
                with self.subTest(name=name, space=space, stderr=done.stderr[-300:]):
                    self.assertIn(done.returncode, (OK, RUN_FAILED))
                    if done.returncode == RUN_FAILED:
                        self.assertRegex(done.stderr, r"\Agsofa: error: .*out of (host )?memory.*\n\Z")
                ended[done.returncode] += 1
                if ended[OK] > 3:
                    break
            else:
                self.fail(f"{name}: {ended}")

    def test_no_more_threads_than_work(self):
        def little_space():
            # Less than the stacks of 4096 threads.
            resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))

        variants = ("cpu_bitmap_panels", "cpu_fill2_parallel", "cpu_maxid", "mpi_maxid_cpu")
        done = subprocess.run([GSOFA, "run", "--matrix", str(self.small), "--threads", "4096",
                               *(f"--variant={v}" for v in variants)],
                              capture_output=True, text=True, timeout=300,
                              preexec_fn=little_space)
        self.assertEqual(done.returncode, OK, done.stderr)
        self.assertEqual(len(PROGRESS.findall(done.stderr)), len(variants))


if __name__ == "__main__":
    sys.exit(unittest.main())
