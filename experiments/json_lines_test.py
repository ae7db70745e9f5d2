#!/usr/bin/env python3
"""Tests of json_lines.py, and of the committed files that it must read."""
import copy
import gzip
import json
import pathlib
import sys
import tempfile
import unittest

import json_lines

HERE = pathlib.Path(__file__).resolve().parent


class Read(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = pathlib.Path(folder.name) / "lines.jsonl"

    def refused(self, line, reason):
        self.file.write_bytes(b'{"schema": 1}\n\n' + line + b"\n")
        with self.assertRaises(json_lines.BadLine) as caught:
            list(json_lines.read(self.file))
        text = str(caught.exception)
        self.assertTrue(text.startswith(f"{self.file}:3: "), text)
        self.assertIn(reason, text)
        self.assertNotIn("\n", text)

    def test_lines_that_are_no_json(self):
        self.refused(b"{not json", "not JSON from column 2 on")
        self.refused(b'{"a": "\xff"}', "not JSON")
        self.refused(b'{"a": NaN}', "not JSON")
        self.refused(b'{"a": -Infinity}', "not JSON")
        self.refused(b'{"a": 1e999}', "not JSON")
        self.refused(b"[" * 100000, "not JSON")
        for other in (b"[1]", b"null", b"3", b'"text"'):
            self.refused(other, "not a JSON object")

    def test_values_of_a_wrong_type(self):
        for line, reason in ((b'{"status": 3}', "'status' is not a string"),
                             (b'{"counting": 1}', "'counting' is not true or false"),
                             (b'{"threads": true}', "'threads' is not an integer"),
                             (b'{"samples_s": 1}', "'samples_s' is not an array, each item a number"),
                             (b'{"samples_s": ["1"]}', "'samples_s' is not an array"),
                             (b'{"git": "sha"}', "'git' is not an object"),
                             (b'{"matrix": {"name": 1}}', "'matrix.name' is not a string"),
                             (b'{"schema": 1, "matrix": "m"}', "'matrix' is not an object"),
                             (b'{"matrix": 1}', "'matrix' is not an object"),
                             (b'{"gpus": ["H200"]}', "'gpus' is not an array, each item an object"),
                             (b'{"matrix": "m", "gpus": []}', "'gpus' is not an integer"),
                             (b'{"series": {"a": [null]}}', "'series' is not an object, each value")):
            self.refused(line, reason)

    def test_records_have_the_fields_of_the_header_of_their_run(self):
        header = {"schema": 2, "kind": "run_header", "run_id": "a", "git": {"sha": "1"}, "machine": {"id": "m"}, "mpi": {"ranks": 3}}
        other = header | {"run_id": "b", "git": {"sha": "2"}}
        line = {"schema": 2, "run_id": "a", "machine": {"after": {}}, "mpi": {"rank_phases_s": []}, "threads": 1}
        order = {"schema": 2, "run_id": "b", "kind": "order"}
        old = {"schema": 1, "run_id": "c", "git": {"sha": "3"}}
        self.file.write_text("".join(json.dumps(x) + "\n" for x in (header, line, other, order, old, line, header, {"simulated": True})))
        first, second, *rest = json_lines.read(self.file)
        self.assertEqual(first, {"schema": 2, "run_id": "a", "git": {"sha": "1"}, "machine": {"id": "m", "after": {}},
                                 "mpi": {"ranks": 3, "rank_phases_s": []}, "threads": 1})
        self.assertEqual(first.place, f"{self.file}:2")
        self.assertEqual((second["kind"], second["git"]), ("order", {"sha": "2"}))
        self.assertEqual(rest, [old, first, {"simulated": True}])
        with self.assertRaises(json_lines.BadLine) as caught:
            list(json_lines.lines_of(json.dumps(line), "said"))
        self.assertEqual(str(caught.exception), "said:1: no line before it is the run_header of a")

    def test_a_key_that_is_missing(self):
        self.file.write_text('\n{"a": {"b": 1}}\n')
        (line,) = json_lines.read(self.file)
        for read in (lambda: line["c"], lambda: line["a"]["c"]):
            with self.assertRaises(json_lines.BadLine) as caught:
                read()
            self.assertEqual(str(caught.exception), f"{self.file}:2: 'c' is missing")
        self.assertEqual(copy.deepcopy(dict(line)), {"a": {"b": 1}})

    def test_compressed_files(self):
        packed = self.file.with_suffix(".jsonl.gz")
        packed.write_bytes(gzip.compress(b'{"a": 1}\n{"a": 2}\n'))
        self.assertEqual([(line["a"], line.place) for line in json_lines.read(packed)], [(1, f"{packed}:1"), (2, f"{packed}:2")])
        for data in (b'{"a": 1}\n', packed.read_bytes()[:-9], packed.read_bytes()[:12] + b"xyz"):
            packed.write_bytes(data)
            with self.assertRaises(json_lines.BadLine) as caught:
                list(json_lines.read(packed))
            self.assertTrue(str(caught.exception).startswith(f"{packed}: "))

    def test_files(self):
        for path in (self.file, self.file.parent):
            for read in (lambda p: list(json_lines.read(p)), json_lines.load):
                with self.assertRaises(json_lines.BadLine) as caught:
                    read(path)
                self.assertTrue(str(caught.exception).startswith(f"{path}: "))
        self.file.write_text('{\n"a": 1\n}\n')
        self.assertEqual(json_lines.load(self.file), {"a": 1})

    def test_committed_files(self):
        files = [f for f in HERE.rglob("*.jsonl")]
        self.assertGreater(len(files), 10)
        for file in files:
            self.assertTrue(list(json_lines.read(file)), file)


if __name__ == "__main__":
    sys.exit(unittest.main())
