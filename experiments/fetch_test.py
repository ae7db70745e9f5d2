#!/usr/bin/env python3
"""Tests of fetch.py on archives made here, reached by file:// addresses; no network."""
import gzip
import io
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import unittest

FETCH = pathlib.Path(__file__).resolve().parent / "fetch.py"
# 3 x 3, lower triangle of a symmetric matrix: 5 positions, 2 of them explicit zeros
SMALL = """%%MatrixMarket matrix coordinate real symmetric
% a comment
3 3 4
1 1 2.5
2 1 0
2 2 1e3
3 3 -1
"""


class Fetch(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.root = pathlib.Path(scratch.name)
        self.cache = self.root / "cache"

    def archive(self, members):
        file = self.root / "small.tar.gz"
        with tarfile.open(file, "w:gz") as tar:
            for name, text in members:
                info = tarfile.TarInfo(name)
                info.size = len(text)
                tar.addfile(info, io.BytesIO(text.encode()))
        return file

    def table(self, url, order=3, nnz=3, extra=""):
        file = self.root / "table.toml"
        file.write_text(f'[[matrix]]\nname = "small"\nabbr = "SM"\noriginal = "Small"\n'
                        f'order = {order}\nnnz = {nnz}\nurl = "{url}"\n{extra}\n')
        return file

    def run_fetch(self, table, *options):
        return subprocess.run(
            [sys.executable, str(FETCH), "--table", str(table), "--dir", str(self.cache), *options],
            capture_output=True, text=True, timeout=120, check=False)

    def refused(self, table, reason, *options):
        """One line that has `reason`, a nonzero exit, an empty cache."""
        done = self.run_fetch(table, *options)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(reason, done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        left = list(self.cache.iterdir()) if self.cache.exists() else []
        self.assertEqual(left, [])

    def test_good_archive(self):
        url = self.archive([("Small/README.txt", "x"), ("Small/Small.mtx", SMALL)]).as_uri()
        for nnz in (3, 5):  # with or without the explicit zeros
            done = self.run_fetch(self.table(url, nnz=nnz), "--force")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual([p.name for p in self.cache.iterdir()], ["small.mtx.gz"])
            with gzip.open(self.cache / "small.mtx.gz", "rt") as f:
                self.assertEqual(f.read(), SMALL)

    def test_cached_file_is_kept(self):
        self.cache.mkdir()
        (self.cache / "small.mtx.gz").write_bytes(b"kept")
        done = self.run_fetch(self.table("file:///nonexistent.tar.gz"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("already there", done.stdout)
        self.assertEqual((self.cache / "small.mtx.gz").read_bytes(), b"kept")

    def test_failed_download_leaves_the_old_file(self):
        self.cache.mkdir()
        (self.cache / "small.mtx.gz").write_bytes(b"kept")
        url = self.archive([("Small/Small.mtx", SMALL)]).as_uri()
        done = self.run_fetch(self.table(url, nnz=4), "--force")
        self.assertEqual(done.returncode, 1)
        self.assertEqual([p.name for p in self.cache.iterdir()], ["small.mtx.gz"])
        self.assertEqual((self.cache / "small.mtx.gz").read_bytes(), b"kept")

    def test_wrong_counts(self):
        url = self.archive([("Small/Small.mtx", SMALL)]).as_uri()
        self.refused(self.table(url, order=4), "expected order 4")
        self.refused(self.table(url, nnz=4), "expected 4 nonzeros")
        self.refused(self.table(url, extra='sha256 = "00"'), "expected 00")

    def test_wrong_contents(self):
        for text, reason in [
                (SMALL.replace("3 3 4", "3 3 5"), "4 entries where 5 are declared"),
                (SMALL.replace("3 3 -1", "4 3 -1"), "Small/Small.mtx:7: index out of range"),
                (SMALL.replace("3 3 -1", "3 x -1"), "Small/Small.mtx:7: not an entry"),
                (SMALL.replace("coordinate", "array"), "not a Matrix Market coordinate file"),
                ("<html>", "not a Matrix Market coordinate file"),
                ("", "0 entries")]:
            with self.subTest(reason):
                url = self.archive([("Small/Small.mtx", text)]).as_uri()
                self.refused(self.table(url), reason)

    def test_archive_without_the_matrix(self):
        url = self.archive([("../Small.mtx", SMALL), ("Small/Small_b.mtx", SMALL)]).as_uri()
        self.refused(self.table(url), "the archive has no Small/Small.mtx")
        self.assertFalse((self.root / "Small.mtx").exists())

    def test_link_in_place_of_the_matrix(self):
        file = self.root / "small.tar.gz"
        with tarfile.open(file, "w:gz") as tar:
            info = tarfile.TarInfo("Small/Small.mtx")
            info.type, info.linkname = tarfile.SYMTYPE, "/etc/hostname"
            tar.addfile(info)
        self.refused(self.table(file.as_uri()), "the archive has no Small/Small.mtx")

    def test_damaged_archive(self):
        file = self.archive([("Small/Small.mtx", SMALL * 1000)])
        whole = file.read_bytes()
        for data in (whole[:len(whole) // 2], b"not an archive", b""):
            with self.subTest(len(data)):
                file.write_bytes(data)
                self.refused(self.table(file.as_uri()), "small: ")

    def test_unreachable(self):
        # Port 9 of this machine: nothing listens there.
        self.refused(self.table("http://127.0.0.1:9/small.tar.gz"), "cannot be reached")
        self.refused(self.table("http://name.invalid/small.tar.gz"), "is this machine online?")
        self.refused(self.table("file:///nonexistent.tar.gz"), "no such file")

    def test_unknown_name(self):
        self.refused(self.table("file:///x"), "no matrix is named 'nix'", "--only", "nix")

    def test_list(self):
        done = self.run_fetch(self.table("file:///x"), "--list")
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stdout, r"^SM  small +3 +3  absent\n$")


if __name__ == "__main__":
    unittest.main()
