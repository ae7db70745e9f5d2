"""The program where memory or threads run out. $GSOFA names it, $GSOFA_FAILING_MALLOC a library
whose malloc fails on demand (harness/failing_malloc).

CUDA's runtime crashes where one of its first allocations fails, or one while kernels are registered:
a build that links it tries the program of the emulator, from allocation $GSOFA_FIRST_FAILURE on."""

import collections
import json
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
FAILING_MALLOC = os.environ["GSOFA_FAILING_MALLOC"]
FIRST = int(os.environ.get("GSOFA_FIRST_FAILURE", "1"))

OK, UNAVAILABLE, RUN_FAILED = 0, 3, 4

SMALL = "%%MatrixMarket matrix coordinate pattern general\n3 3 6\n1 1\n1 3\n2 1\n2 2\n3 2\n3 3\n"
NO_MEMORY = "gsofa: error: out of host memory"
PROGRESS = re.compile(r"\[\d+/\d+.*\] small \w+: (pass|oom)")


class OutOfMemoryTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.small = self.folder / "small.mtx"
        self.small.write_text(SMALL)

    def call(self, *args, failing="0"):
        return subprocess.run([GSOFA, *args], capture_output=True, text=True, timeout=300,
                              env=os.environ | {"LD_PRELOAD": FAILING_MALLOC,
                                                "GSOFA_FAIL_ALLOCATION": failing})

    def sweep(self, *args, first=FIRST, after=lambda done: None):
        """Lets allocations fail, one by one and all from one on, until those are too many for the
        program to get there."""
        if Path("/dev/nvidiactl").exists():
            self.skipTest("allocations of the CUDA driver would be among those that fail")
        done = self.call(*args)
        self.assertEqual(done.returncode, OK, done.stderr)
        after(done)
        ended = {OK: 0, RUN_FAILED: 0}
        k = first
        while True:
            for failing in (f"{k}", f"{k}+"):
                done = self.call(*args, failing=failing)
                with self.subTest(args=args[0], failing=failing, stderr=done.stderr[-300:]):
                    self.assertIn(done.returncode, ended)
                    lines = done.stderr.splitlines()
                    if done.returncode == RUN_FAILED:
                        told = lines.count(NO_MEMORY) + sum(": oom" in line or "lacks memory" in line for line in lines)
                        self.assertGreaterEqual(told, 1)
                        self.assertLessEqual(lines.count(NO_MEMORY), 1)
                    after(done)
                ended[done.returncode] = ended.get(done.returncode, 0) + 1
            if done.returncode == OK:
                break
            k += 1 + k // 4
        self.assertGreater(ended[RUN_FAILED], 20)

    def test_list(self):
        self.sweep("list")

    def test_run(self):
        out = self.folder / "records.jsonl"

        def whole_records(done):
            for line in out.read_text().splitlines() if out.exists() else ():
                json.loads(line)
            if done.returncode == OK:
                self.assertEqual(len(PROGRESS.findall(done.stderr)), 2)

        self.sweep("run", "--matrix", str(self.small), "--variant", "cpu_bitmap_panels",
                   "--variant", "cpu_maxid", "--threads", "2", "--out", str(out),
                   first=50, after=whole_records)

    def test_prepare(self):
        binary = self.folder / "small.bin"
        args = ("prepare", "--matrix", str(self.small), "--out", str(binary))
        self.assertEqual(self.call(*args).returncode, OK)
        whole = binary.stat().st_size
        binary.unlink()

        def whole_or_none(done):
            left = sorted(p.name for p in self.folder.iterdir() if p != self.small)
            self.assertEqual(left, ["small.bin"] if done.returncode == OK else [])
            if binary.exists():
                self.assertEqual(binary.stat().st_size, whole)
                binary.unlink()

        self.sweep(*args, first=50, after=whole_or_none)

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
