"""Tests of how records are read and selected."""

import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import records  # noqa: E402
import records_example as example  # noqa: E402

V = "cpu_fill2_parallel"
PROFILE = {"matrix": "BC", "variant": "gpu_maxid", "dram_gb_per_s": 1, "l2_gb_per_s": 2.5, "copy_gb_per_s": 4}
SIMULATED = {"simulated": True, "matrix": "gen:elasticity3d:nx=9", "n": 9, "gpus": 6, "gpus_per_node": 6,
             "schedule": "block", "batch_barrier": False, "makespan_s": 2.0, "speedup": 1.0}


class RecordsTest(unittest.TestCase):
    def setUp(self):
        self.file = Path(self.enterContext(tempfile.TemporaryDirectory())) / "x.jsonl"

    def accepted(self, *lines, **how):
        return records.accept(records.read_runs([example.write(self.file, *lines)]), **how)

    def assert_refused(self, *mention, lines=(), call=None):
        with self.assertRaises(records.Refused) as raised:
            call() if call else self.accepted(*lines)
        for text in mention:
            self.assertIn(text, str(raised.exception))
        self.assertNotIn("\n", str(raised.exception))


class Reading(RecordsTest):
    def test_three_kinds_of_lines(self):
        runs, profiles, simulated = records.read([example.write(self.file, example.run(), "", PROFILE, SIMULATED)])
        self.assertEqual((len(runs), len(profiles), len(simulated)), (1, 1, 1))
        self.assertEqual(runs[0].place, f"{self.file}:1")
        self.assertEqual(records.read([self.file.parent])[0], runs)

    def test_faults_name_file_and_line(self):
        """Beyond those that experiments/json_lines_test.py has."""
        good = example.run()
        lacking = [{k: v for k, v in good.items() if k != key} for key in ("host", "cpu", "gpus", "status", "threads")]
        for bad in ("{not json", "[1]", example.run(schema=99), example.run(schema=None), example.run(gpus=[{}]), *lacking):
            with self.subTest(str(bad)[:60]):
                self.assert_refused(f"{self.file}:2: ", lines=(good, bad))
        self.assert_refused("/no/such/folder", call=lambda: records.read(["/no/such/folder"]))

    def test_toml_faults_name_file_and_line(self):
        for text, mention in (("a = 1\nb = [", ":2: "), ("a = 1\na = 2\n", ":2: ")):
            self.file.write_text(text)
            self.assert_refused(f"{self.file}{mention}", call=lambda: records.read_toml(self.file))
        self.file.write_bytes(b"a = '\xff'")
        self.assert_refused("not UTF-8", call=lambda: records.read_toml(self.file))
        self.assert_refused("/no/such", call=lambda: records.read_toml("/no/such"))


class Accepting(RecordsTest):
    def test_unverified_runs(self):
        unverified = example.run(status="unverified", reason="no truth")
        self.assertEqual(self.accepted(unverified, unverified="leave out"), [])
        self.assertEqual(len(self.accepted(unverified, unverified="take")), 1)
        self.assert_refused("no truth", lines=(unverified,))
        for what in ({"device": "peer"}, {"variant": records.TRUSTED}):
            self.assertEqual(len(self.accepted(unverified | what)), 1)

    def test_failed_runs_never(self):
        for status in ("fail", "timeout", "oom", "error", "skipped"):
            lines = (example.run(status=status), example.run(status=status, device="peer"))
            self.assertEqual(self.accepted(*lines, unverified="take"), [])

    def test_threads_that_shared_a_core_are_no_threads(self):
        for usable, taken in ((15, 0), (16, 1)):
            self.assertEqual(len(self.accepted(example.run(threads=16, machine={"id": "a", "threads_usable": usable}))), taken)

    def test_several_machines(self):
        for other in ({"host": "other"}, {"cpu": "other"}, {"gpus": [{"name": "H200"}]}, {"machine": {"id": "other"}}):
            lines = (example.run(), example.run(**other))
            self.assert_refused(f"{self.file}:2: ", "several machines", lines=lines)
            self.assertEqual(len(self.accepted(*lines, mixed=True)), 2)
        a = {"machine": {"id": "a"}}
        self.assertEqual(len(self.accepted(example.run(**a), example.run(variant="x", gpus=[{"name": "H200"}], **a))), 2)

    def test_a_stand_in_that_was_replaced(self):
        def stand_in(source):
            return {"matrix": {"name": "twotone", "stand_in": True, "source": source}}
        now = records.datasets()["TT"]["stand_in"]
        self.assertEqual([records.is_replaced(stand_in(source)) for source in (now, "gen:harmonic:nodes=3", "a.mtx")], [False, True, False])


class Quantities(RecordsTest):
    def test_limits(self):
        for reason, seconds in (("passed its time limit", 60), ("the program passed its limit time_s=3", 3)):
            self.assertEqual(records.limit_of({"reason": reason, "trials": {"timeout_s": 60}}), seconds)
        self.assertEqual(records.limit_of({"reason": "passed its limit of 5 s"}), 5)

    def test_superlu_dist_had_no_relaxed_supernodes_where_a_record_does_not_say(self):
        for options, relax in (({}, 1), ({"relax": 60}, 60)):
            self.assertEqual(records.settings(example.run(variant="peer_superlu_dist", options=options))["relax"], relax)
        self.assertNotIn("relax", records.settings(example.run(options={})))

    def test_medians(self):
        run = example.run(samples_s=[4, 1, 3, 2])
        self.assertEqual(records.seconds(run), 2)
        self.assertEqual(records.bare_seconds(run), 1.75)

    def test_kinds(self):
        for name, kind in (("bcsstk18", "original"), ("epb3", "real"), ("gen:grid5:nx=3", "generated"), ("gen:kkt:buses=3", "power grid")):
            self.assertEqual(records.kind({"name": name, "stand_in": False}), kind)
        self.assertEqual(records.kind({"name": "twotone", "stand_in": True}), "stand-in")
        of_original = records.datasets()["BC"]["stand_in"]
        self.assertEqual(records.kind({"name": of_original, "stand_in": False}), "stand-in")
        self.assertEqual(records.kind({"name": "a", "stand_in": False, "kind": "power grid"}), "power grid")
        with open(records.MATRICES / "fem" / "made.tsv", encoding="utf-8") as f:
            head, *rows = (line.rstrip().split("\t") for line in f)
        self.assertGreater(len(rows), 2)
        for row in rows:
            self.assertEqual(records.kind({"name": "a", "stand_in": False, "sha256": row[head.index("sha256")]}), "finite elements")


if __name__ == "__main__":
    unittest.main()
