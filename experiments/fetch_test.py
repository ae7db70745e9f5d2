#!/usr/bin/env python3
"""Tests of fetch.py on archives made here, by file:// addresses and servers on this machine; no network. GSOFA: the program."""
import fcntl
import gzip
import hashlib
import http.server
import io
import itertools
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import tomllib
import unittest

FETCH = pathlib.Path(__file__).resolve().parent / "fetch.py"
sys.path.append(str(FETCH.parent.parent / "plots"))
import json_lines  # noqa: E402
import records  # noqa: E402
SOURCE = "Averous/epb2"  # in two suites, without a sha256
EPB2 = "%%MatrixMarket matrix coordinate real general\n% a comment\n25228 25228 1\n1 1 2.5\n"
SHA256 = hashlib.sha256(EPB2.encode()).hexdigest()
LOCKED = f'[[matrix]]\nname = "{SOURCE}"\nsha256 = "{SHA256}"\n'


class Fetch(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.root = pathlib.Path(scratch.name)
        self.cache = self.root / "cache"
        self.file = self.cache / f"{SOURCE}.mtx.gz"
        self.part = self.file.with_name(".epb2.mtx.gz.part")
        self.lock = self.root / "lock.toml"

    def archive(self, members=(("epb2/epb2.mtx", EPB2),), source=SOURCE):
        """Puts an archive where a mirror has it; returns its file."""
        file = self.root / "mirror" / f"{source}.tar.gz"
        file.parent.mkdir(parents=True, exist_ok=True)
        with tarfile.open(file, "w:gz") as tar:
            for name, text in members:
                info = tarfile.TarInfo(name)
                info.size = len(text)
                tar.addfile(info, io.BytesIO(text.encode()))
        return file

    def locked(self):
        """The digests of the lock file by group/name."""
        if not self.lock.exists():
            return {}
        return {m["name"]: m["sha256"] for m in tomllib.loads(self.lock.read_text()).get("matrix", [])}

    def left(self):
        return sorted(p.name for p in self.cache.rglob("*") if p.is_file())

    def command(self, *words, mirrors=None):
        urls = mirrors or [(self.root / "mirror").as_uri()]
        return [sys.executable, str(FETCH), "--lock", str(self.lock), *(w for url in urls for w in ("--mirror", url)), *words]

    def fetch(self, *words, mirrors=None):
        return subprocess.run(self.command(*words or [SOURCE], mirrors=mirrors), capture_output=True, text=True, timeout=120,
                              check=False, env=os.environ | {"GSOFA_MATRICES": str(self.cache)})

    def fetched(self, *words, mirrors=None):
        done = self.fetch(*words, mirrors=mirrors)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def refused(self, reason, *words, mirrors=None, left=()):
        """One line that has `reason`, one that names what is missing, exit status 1, these files in the cache."""
        done = self.fetch(*words, mirrors=mirrors)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertRegex(done.stderr, rf"\A.*{re.escape(reason)}.*\nfetch: missing: .*\n\Z")
        self.assertEqual(self.left(), sorted(left))

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
        return f"http://127.0.0.1:{server.server_port}/MM"

    def sender(self, length, blocks, status=200, reason=None, seen=None):
        def answer(handler):
            if seen is not None:
                seen.append((handler.path, handler.headers["Range"]))
            handler.send_response(status, reason)
            if length is not None:
                handler.send_header("Content-Length", str(length))
            handler.end_headers()
            try:
                for block in blocks:
                    handler.wfile.write(block)
            except OSError:
                pass  # the client has gone
        return self.serve(answer)

    def test_a_matrix_is_fetched_once(self):
        self.archive([("epb2/README", "x"), ("epb2/epb2.mtx", EPB2)])
        self.assertIn(f"fetched, sha256 {SHA256}", self.fetched("EPB2"))
        self.assertEqual(gzip.decompress(self.file.read_bytes()).decode(), EPB2)
        self.assertEqual(self.left(), ["epb2.mtx.gz"])
        self.assertIn("already here", self.fetched(mirrors=["file:///nonexistent"]))

    def test_the_program_finds_a_fetched_matrix_by_group_and_name(self):
        small = "%%MatrixMarket matrix coordinate pattern general\n2 2 3\n1 1\n2 1\n2 2\n"
        self.archive([("tiny/tiny.mtx", small)], "Any/tiny")

        def info():
            return subprocess.run([os.environ["GSOFA"], "info", "--json", "--matrix", "Any/tiny"], capture_output=True, text=True,
                                  check=False, env=os.environ | {"GSOFA_MATRICES": str(self.cache)})
        absent = info()
        self.assertEqual((absent.returncode, absent.stderr.count("\n")), (2, 1))
        self.assertIn("./testbed fetch Any/tiny", absent.stderr)
        self.fetched("Any/tiny")
        self.assertIn(hashlib.sha256(small.encode()).hexdigest(), info().stdout)
        self.assertEqual(self.locked(), {})  # no suite has the matrix

    def test_the_specs_of_the_paper_use_an_original_that_is_fetched_and_pages_say_so(self):
        def run():
            command = [os.environ["GSOFA"], "experiment", str(FETCH.parent / "fig12_superlu" / "spec.toml"), "--group", "paper", "--json"]
            done = subprocess.run(command + ["--matrix", "EP", "--variant", "cpu_bitmap_panels"], capture_output=True, text=True,
                                  check=True, env=os.environ | {"GSOFA_MATRICES": str(self.cache)})
            matrix = next(json_lines.lines_of(done.stdout.encode(), "gsofa"))["matrix"]
            return matrix["name"], matrix["source"], matrix["stand_in"], records.kind(matrix)
        self.assertEqual(run(), ("epb2", records.datasets()["EP"]["stand_in"], True, "stand-in"))
        diagonal = "".join(f"{i} {i} 1\n" for i in range(1, 25229))
        self.archive([("epb2/epb2.mtx", f"{EPB2.splitlines()[0]}\n25228 25228 25228\n{diagonal}")])
        self.fetched()
        self.assertEqual(run(), ("epb2", "EP", False, "original"))

    def test_a_bundled_matrix_needs_no_network(self):
        self.assertIn("experiments/matrices/bcsstk18.mtx.gz: already here", self.fetched("bcsstk18", mirrors=["file:///nonexistent"]))

    def test_first_fetch_is_recorded_and_later_ones_compared(self):
        self.lock.write_text(LOCKED.replace(SOURCE, "a/b").replace(SHA256, "ab" * 32))
        before = self.locked()
        self.archive()
        self.fetched()
        self.assertEqual(self.locked(), before | {SOURCE: SHA256})
        self.fetched("--force", SOURCE)
        self.file.unlink()
        lock = self.lock.read_bytes()
        self.archive([("epb2/epb2.mtx", EPB2.replace("2.5", "3.5"))])
        self.refused(f"expected {SHA256} by {self.lock}")
        self.assertEqual(self.lock.read_bytes(), lock)

    def test_the_suite_goes_before_the_lock(self):
        self.archive([("wang3/wang3.mtx", EPB2.replace("25228", "26064"))], "Wang/wang3")
        self.refused("by the suite", "wang3")
        self.assertEqual(self.locked(), {})

    def test_a_file_that_is_another_is_moved_away(self):
        self.file.parent.mkdir(parents=True)
        for lock, data, reason in [
                (False, b"not gzip", "damaged"), (False, gzip.compress(EPB2.encode())[:40], "damaged"),
                (False, gzip.compress(b"hello\n"), "not a Matrix Market"),
                (True, gzip.compress(EPB2.replace("2.5", "3.5").encode()), f"expected {SHA256} by "),
                (True, gzip.compress(EPB2.encode() + b"\0" * (30 << 20)), "bytes uncompressed")]:
            with self.subTest(reason):
                if lock:
                    self.lock.write_text(LOCKED)
                self.file.write_bytes(data)
                self.refused(reason, mirrors=["file:///nonexistent"], left=["epb2.mtx.gz.refused"])
                self.assertEqual((self.cache / f"{SOURCE}.mtx.gz.refused").read_bytes(), data)

    def test_a_suite_goes_on_without_the_network_with_what_is_here(self):
        self.archive()
        self.fetched()
        done = self.fetch("--suite", "paper", "--size", "SM", mirrors=["http://127.0.0.1:9"])  # nothing listens there
        self.assertEqual((done.returncode, done.stderr.count("\n")), (1, 2), done.stderr)
        self.assertEqual(done.stdout.count("already here"), 2)  # epb2 and the bundled bcsstk18
        self.assertIn("is this machine online?", done.stderr)
        self.assertIn("missing: Simon/bbmat, Hollinger/g7jac200sc, Mallya/lhr71c, Hollinger/mark3jac140, Bova/rma10, ATandT/twotone\n",
                      done.stderr)

    def test_the_next_mirror_is_tried(self):
        seen = []
        gone = self.sender(0, [], 404, seen=seen)
        self.archive()
        self.fetched(mirrors=[gone, "http://127.0.0.1:9", (self.root / "mirror").as_uri()])
        self.assertEqual(seen, [(f"/MM/{SOURCE}.tar.gz", None)])

    def test_a_broken_download_continues_where_it_ended(self):
        good, seen = self.archive().read_bytes(), []
        self.refused(f"100 of {len(good)} bytes arrived", mirrors=[self.sender(len(good), [good[:100]])], left=[self.part.name])
        rest = self.sender(len(good) - 100, [good[100:]], 206, seen=seen)
        self.fetched(mirrors=[rest])
        self.assertEqual(seen, [(f"/MM/{SOURCE}.tar.gz", "bytes=100-")])
        self.assertEqual(self.left(), ["epb2.mtx.gz"])

    def test_a_server_that_cannot_continue_begins_anew(self):
        good = self.archive().read_bytes()
        self.part.parent.mkdir(parents=True)
        self.part.write_bytes(b"another beginning")
        self.fetched(mirrors=[self.sender(len(good), [good])])
        self.part.write_bytes(good)
        self.file.unlink()
        self.fetched(mirrors=[self.sender(0, [], 416)])  # nothing was lacking

    def test_an_interrupted_download_leaves_its_part(self):
        begun, ended = threading.Event(), threading.Event()

        def answer(handler):
            handler.send_response(200)
            handler.send_header("Content-Length", str(2 << 20))
            handler.end_headers()
            handler.wfile.write(b"x" * (1 << 20))
            handler.wfile.flush()
            begun.set()
            ended.wait(60)
        with subprocess.Popen(self.command(SOURCE, mirrors=[self.serve(answer)]), stderr=subprocess.DEVNULL,
                              env=os.environ | {"GSOFA_MATRICES": str(self.cache)}) as child:
            self.assertTrue(begun.wait(60))
            child.terminate()
            self.assertNotEqual(child.wait(60), 0)
        ended.set()
        self.assertLessEqual(set(self.left()), {self.part.name})
        self.assertEqual(self.locked(), {})

    def test_servers(self):
        for reason, server in [
                ("1099511627776 bytes, more than the ", self.sender(1 << 40, [])),
                ("more than the ", self.sender(None, itertools.repeat(b"0" * (1 << 20)))),
                ("invalid literal", self.sender("many", [b"x"])),
                ("HTTP status 404 Gone ?[31mred", self.sender(0, [], 404, "Gone \x1b[31mred"))]:
            with self.subTest(reason):
                self.refused(reason, mirrors=[server])
        self.assertEqual(self.locked(), {})

    def test_bombs(self):
        zeros = "%" + "0" * 78 + "\n"
        file = self.archive([("epb2/epb2.mtx", EPB2.replace("% a comment\n", zeros * 400000))])
        self.refused("more than the ")
        self.archive([("epb2/zeros", "\0" * (120 << 20)), ("epb2/epb2.mtx", EPB2)])
        self.refused("bytes uncompressed")
        with tarfile.open(file, "w:gz", format=tarfile.PAX_FORMAT) as tar:
            info = tarfile.TarInfo("epb2/epb2.mtx")
            info.pax_headers = {"comment": "0" * (2 << 20)}
            tar.addfile(info)
        self.refused("a header of ")
        file.write_bytes(b"\0" * (30 << 20))
        self.refused("more than the ")

    def test_fetches_at_one_time_all_succeed(self):
        self.archive()
        children = [subprocess.Popen(self.command(SOURCE), stdout=subprocess.DEVNULL, env=os.environ | {"GSOFA_MATRICES": str(self.cache)})
                    for _ in range(6)]
        self.assertEqual([c.wait(60) for c in children], [0] * 6)
        self.assertEqual((self.locked(), self.left()), ({SOURCE: SHA256}, ["epb2.mtx.gz"]))

    def test_a_fetch_that_another_one_overtook_leaves_nothing(self):
        self.archive()
        self.file.parent.mkdir(parents=True)
        with open(self.part, "a+b") as other:
            fcntl.flock(other, fcntl.LOCK_EX)
            child = subprocess.Popen(self.command(SOURCE), env=os.environ | {"GSOFA_MATRICES": str(self.cache)})
            opened = pathlib.Path(f"/proc/{child.pid}/fd")
            while child.poll() is None and os.path.realpath(self.part) not in map(os.path.realpath, opened.iterdir()):
                time.sleep(0.01)
            self.file.write_bytes(gzip.compress(EPB2.encode()))
        self.assertEqual((child.wait(60), self.left()), (0, ["epb2.mtx.gz"]))

    def test_a_failed_download_leaves_the_old_file(self):
        self.file.parent.mkdir(parents=True)
        self.file.write_bytes(b"kept")
        self.archive([("epb2/epb2.mtx", "<html>")])
        self.refused("not a Matrix Market coordinate file", "--force", SOURCE, left=["epb2.mtx.gz"])
        self.assertEqual(self.file.read_bytes(), b"kept")

    def test_wrong_contents(self):
        for text, reason in [(EPB2.replace("25228 25228", "25228 7"), "25228 x 7, expected order 25228"),
                             (EPB2.replace("25228 25228", "25228 x"), "25228 x x, expected order 25228"),
                             (EPB2.replace("coordinate", "array"), "not a Matrix Market coordinate file"), ("", "not a Matrix Market")]:
            with self.subTest(reason):
                self.archive([("epb2/epb2.mtx", text)])
                self.refused(reason)

    def test_archive_without_the_matrix(self):
        self.archive([("../epb2.mtx", EPB2), ("epb2/epb2_b.mtx", EPB2)])
        self.refused("the archive has no epb2/epb2.mtx")
        with tarfile.open(self.archive(), "w:gz") as tar:
            info = tarfile.TarInfo("epb2/epb2.mtx")
            info.type, info.linkname = tarfile.SYMTYPE, "/etc/hostname"
            tar.addfile(info)
        self.refused("the archive has no epb2/epb2.mtx")

    def test_damaged_archive(self):
        file = self.archive([("epb2/epb2.mtx", EPB2 * 1000)])
        for data in (file.read_bytes()[:200], b"not an archive"):
            file.write_bytes(data)
            self.refused("damaged archive")

    def test_what_names_no_matrix_is_one_line(self):
        self.lock.write_text(LOCKED)
        for words, reason in [(["nix"], "no suite has a matrix 'nix'"), (["a/../b"], "no suite has a matrix"), ([], "names neither"),
                              (["--suite", "paper", "--size", "X"], "of this size"),
                              (["--suite", "nix"], "the suites are orders-2026, paper, symbolic-2026")]:
            done = subprocess.run(self.command(*words), capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1))
            self.assertIn(reason, done.stderr)
        for text in ("[[matrix", '[[matrix]]\nname = "small"\n', LOCKED.replace(SHA256, SHA256.upper()), "matrix = 3\n"):
            self.lock.write_text(text)
            done = self.fetch()
            self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1))
            self.assertIn("lock.toml: ", done.stderr)
            self.assertEqual(self.lock.read_text(), text)

    def test_list(self):
        done = self.fetch("--list", "--suite", "paper", "--size", "S")
        self.assertRegex(done.stdout, r"^bcsstk18 +S +11948 +149090  .*bcsstk18.mtx.gz\n$")


if __name__ == "__main__":
    unittest.main()
