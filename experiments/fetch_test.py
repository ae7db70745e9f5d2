#!/usr/bin/env python3
"""Tests of fetch.py on archives made here, by file:// addresses and servers on this machine; no network."""
import gzip
import hashlib
import http.server
import io
import itertools
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import threading
import tomllib
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
SHA256 = hashlib.sha256(SMALL.encode()).hexdigest()
LOCKED = f'[[matrix]]\nname = "small"\nurl = "x"\nsha256 = "{SHA256}"\nbytes = 1\n'


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

    def lock_file(self):
        return self.root / "table.lock.toml"

    def locked(self):
        """The digests of the lock file by name."""
        if not self.lock_file().exists():
            return {}
        return {m["name"]: m["sha256"]
                for m in tomllib.loads(self.lock_file().read_text()).get("matrix", [])}

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
        packed = gzip.compress(SMALL.encode(), 1)
        (self.cache / "small.mtx.gz").write_bytes(packed)
        for _ in range(2):  # the first time its digest is recorded, the second time compared
            done = self.run_fetch(self.table("file:///nonexistent.tar.gz"))
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("already there", done.stdout)
            self.assertEqual((self.cache / "small.mtx.gz").read_bytes(), packed)
            self.assertEqual(self.locked(), {"small": SHA256})

    def test_cached_file_that_is_another_is_moved_away(self):
        self.cache.mkdir()
        other = SMALL.replace("2.5", "3.5")
        for lock, data, reason in [
                (False, b"not gzip", "damaged"), (False, gzip.compress(SMALL.encode())[:40], "damaged"),
                (False, gzip.compress(b"hello\n"), "not a Matrix Market"),
                (True, gzip.compress(other.encode()), f"expected {SHA256} by "),
                (True, gzip.compress(b"\0" * (3 << 20)), "bytes uncompressed")]:
            with self.subTest(reason):
                if lock:
                    self.lock_file().write_text(LOCKED)
                (self.cache / "small.mtx.gz").write_bytes(data)
                done = self.run_fetch(self.table("file:///nonexistent.tar.gz"))
                self.assertEqual(done.returncode, 1)
                self.assertIn(reason, done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
                self.assertEqual([p.name for p in self.cache.iterdir()], ["small.mtx.gz.refused"])
                self.assertEqual((self.cache / "small.mtx.gz.refused").read_bytes(), data)
                self.assertEqual(self.locked(), {"small": SHA256} if lock else {})

    def test_first_fetch_is_recorded_and_later_ones_compared(self):
        url = self.archive([("Small/Small.mtx", SMALL)]).as_uri()
        self.lock_file().write_text(LOCKED.replace("small", "another").replace(SHA256, "ab" * 32))
        before = self.locked()
        done = self.run_fetch(self.table(url))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.locked(), before | {"small": SHA256})
        self.assertEqual(sorted(p.name for p in self.root.iterdir()),
                         ["cache", "small.tar.gz", "table.lock.toml", "table.toml"])
        lock = self.lock_file().read_bytes()
        self.assertEqual(self.run_fetch(self.table(url), "--force").returncode, 0)
        (self.cache / "small.mtx.gz").unlink()
        self.archive([("Small/Small.mtx", SMALL.replace("2.5", "3.5"))])
        self.refused(self.table(url), f"expected {SHA256} by {self.lock_file()}")
        self.assertEqual(self.lock_file().read_bytes(), lock)

    def test_table_goes_before_the_lock(self):
        url = self.archive([("Small/Small.mtx", SMALL)]).as_uri()
        done = self.run_fetch(self.table(url, extra=f'sha256 = "{SHA256}"'))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.locked(), {})

    def test_bad_lock_and_bad_table(self):
        url = self.archive([("Small/Small.mtx", SMALL)]).as_uri()
        for text in ("[[matrix", '[[matrix]]\nname = "small"\n', LOCKED.replace(SHA256, SHA256.upper()),
                     LOCKED.replace("bytes = 1", 'bytes = "1"'), "matrix = 3\n"):
            self.lock_file().write_text(text)
            self.refused(self.table(url), "table.lock.toml: ")
            self.assertEqual(self.lock_file().read_text(), text)
        self.lock_file().unlink()
        self.refused(self.table(url, nnz='"3"'), "table.toml: [[matrix]] 1 has no 'nnz' of type int")
        self.refused(self.table(url, extra="sha256 = 1"), "sha256 is not a string")
        self.lock_file().mkdir()  # cannot be read
        self.refused(self.table(url), "table.lock.toml: ")

    def test_bombs(self):
        zeros = "%" + "0" * 78 + "\n"
        bombs = {
            "Small/Small.mtx:": [("Small/Small.mtx", SMALL.replace("% a comment\n", zeros * 20000))],
            "bytes uncompressed": [("Small/zeros", "\0" * (6 << 20)), ("Small/Small.mtx", SMALL)],
            "the line is too long": [("Small/Small.mtx", "%" * (1 << 17))],
        }
        for reason, members in bombs.items():
            with self.subTest(reason):
                self.refused(self.table(self.archive(members).as_uri()), reason)
        with self.subTest("header"):
            file = self.root / "small.tar.gz"
            with tarfile.open(file, "w:gz", format=tarfile.PAX_FORMAT) as tar:
                info = tarfile.TarInfo("Small/Small.mtx")
                info.pax_headers = {"comment": "0" * (2 << 20)}
                tar.addfile(info)
            self.refused(self.table(file.as_uri()), "a header of ")
        with self.subTest("archive"):
            file.write_bytes(b"\0" * (3 << 20))
            self.refused(self.table(file.as_uri()), "more than the ")
        self.assertEqual(self.locked(), {})

    def serve(self, answer):
        """The address of a server on this machine that answers every GET by answer(handler)."""
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                answer(self)

            def log_message(self, *_):
                pass
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return f"http://127.0.0.1:{server.server_port}/small.tar.gz"

    def test_servers(self):
        good = self.archive([("Small/Small.mtx", SMALL)]).read_bytes()

        def send(length, blocks, status=200, reason=None):
            def answer(handler):
                handler.send_response(status, reason)
                if length is not None:
                    handler.send_header("Content-Length", str(length))
                handler.end_headers()
                try:
                    for block in blocks:
                        handler.wfile.write(block)
                except OSError:
                    pass  # the client has gone
            return self.table(self.serve(answer))
        self.refused(send(len(good), [good[:-9]]), f"{len(good) - 9} of {len(good)} bytes arrived")
        self.refused(send(1 << 40, []), "1099511627776 bytes, more than the ")
        self.refused(send(None, itertools.repeat(b"0" * 65536)), "more than the ")
        self.refused(send("many", [good]), "small: ")
        self.refused(send(0, [], 404, "Gone \x1b[31mred"), "HTTP status 404 Gone \\x1b[31mred")
        self.assertEqual(self.locked(), {})
        done = self.run_fetch(send(len(good), [good]))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.locked(), {"small": SHA256})

    def test_interrupted_download_leaves_nothing(self):
        begun, ended = threading.Event(), threading.Event()

        def answer(handler):
            handler.send_response(200)
            handler.send_header("Content-Length", "1000")
            handler.end_headers()
            handler.wfile.write(b"half")
            handler.wfile.flush()
            begun.set()
            ended.wait(60)
        table = self.table(self.serve(answer))
        with subprocess.Popen([sys.executable, str(FETCH), "--table", str(table), "--dir",
                               str(self.cache)], stderr=subprocess.DEVNULL) as child:
            self.assertTrue(begun.wait(60))
            child.terminate()
            self.assertNotEqual(child.wait(60), 0)
        ended.set()
        self.assertEqual(list(self.cache.iterdir()), [])
        self.assertEqual(self.locked(), {})

    def test_fetches_at_one_time_all_record(self):
        url = self.archive([("Small/Small.mtx", SMALL)]).as_uri()
        one = self.table(url).read_text()
        names = [f"small{k}" for k in range(6)]
        table = self.root / "table.toml"
        table.write_text("".join(one.replace('"small"', f'"{n}"') for n in names))
        children = [subprocess.Popen([sys.executable, str(FETCH), "--table", str(table), "--dir",
                                      str(self.cache), "--only", n], stdout=subprocess.DEVNULL)
                    for n in names]
        self.assertEqual([c.wait(60) for c in children], [0] * 6)
        self.assertEqual(self.locked(), {n: SHA256 for n in names})

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
