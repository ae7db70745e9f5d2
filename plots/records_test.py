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
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = Path(folder.name) / "x.jsonl"

    def measured(self, *lines, **how):
        return records.Measured([example.write(self.file, *lines)], **how)

    def assert_refused(self, *mention, lines=(), call=None):
        with self.assertRaises(records.Refused) as raised:
            call() if call else self.measured(*lines)
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
        lacking = [{k: v for k, v in good.items() if k != key} for key in
                   ("host", "cpu", "gpus", "matrix", "variant", "status", "samples_s", "wants", "counting")]
        for bad in ("{not json", "[1]", example.run(schema=99), example.run(schema=None), example.run(matrix={"n": 1}),
                    example.run(gpus=[{}]), *lacking):
            with self.subTest(str(bad)[:60]):
                self.assert_refused(f"{self.file}:2: ", call=lambda: self.measured(good, bad).find("BC", V))
        for key in ("threads", "chunk_size", "mpi", "options"):
            bad = {k: v for k, v in good.items() if k != key}
            self.assert_refused(f"{self.file}:2: '{key}' is missing", call=lambda: self.measured(good, bad).find("BC", V))
        for bad in (PROFILE | {"copy_gb_per_s": "4"}, SIMULATED | {"n": None}):
            self.assert_refused(f"{self.file}:1: ", lines=(bad,))
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
        self.assertEqual(self.measured(unverified).runs, [])
        self.assertEqual(len(self.measured(unverified, unverified="take").runs), 1)
        self.assert_refused("no truth", call=lambda: self.measured(unverified, unverified="refuse"))
        for what in ({"device": "peer"}, {"variant": records.TRUSTED}):
            self.assertEqual(len(self.measured(unverified | what, unverified="refuse").runs), 1)

    def test_failed_runs_never(self):
        for status in ("fail", "timeout", "oom", "error", "skipped"):
            lines = (example.run(status=status), example.run(status=status, device="peer"))
            self.assertEqual(self.measured(*lines, unverified="take").runs, [])

    def test_threads_that_shared_a_core_are_no_threads(self):
        for usable, taken in ((15, 0), (16, 1)):
            m = self.measured(example.run(threads=16, machine={"id": "a", "threads_usable": usable}))
            self.assertEqual(len(m.runs), taken)

    def test_several_machines(self):
        for other in ({"host": "other"}, {"cpu": "other"}, {"gpus": [{"name": "H200"}]}, {"machine": {"id": "other"}}):
            lines = (example.run(), example.run(**other))
            self.assert_refused(f"{self.file}:2: ", "several machines",
                                call=lambda: records.accept(records.read_runs([example.write(self.file, *lines)])))
            self.assertEqual(len(self.measured(*lines, mixed=True).runs), 2)
            m = self.measured(*lines)
            self.assertEqual([[r.place for _, r in one.runs] for one in m.on("BC")], [[f"{self.file}:2"], [f"{self.file}:1"]])
            self.assertEqual(len(self.measured(*lines, mixed=True).on("BC")), 1)

    def test_what_is_compared_on_a_matrix_is_of_one_machine(self):
        a, b = {"machine": {"id": "a"}}, {"machine": {"id": "b"}}
        m = self.measured(example.run(**a), example.run(variant="x", **b), example.run(matrix="TT", **a))
        last, first = m.on("BC")
        self.assertEqual((last.find("BC", V), last.find("BC", "x")["variant"]), (None, "x"))
        self.assertEqual((first.find("BC", V)["variant"], first.find("BC", "x")), (V, None))
        self.assertEqual(m.find("BC", V)["variant"], V)
        self.assertIsNone(m.find("BC", V, threads=77))
        self.assertEqual([one.runs for one in m.on("EP")], [[]])
        with_gpu = a | {"gpus": [{"name": "H200"}]}
        self.assertEqual(len(self.measured(example.run(**a), example.run(variant="x", **with_gpu)).on("BC")), 1)
        gpu = {"name": "H200"}
        m = self.measured(example.run(gpus=[gpu]), example.run(gpus=[gpu, gpu]))
        self.assertEqual(m.machine(), "2 x H200, c")
        self.assertEqual(self.measured().machine(), "no machine")

    def test_a_stand_in_that_was_replaced_is_left_out(self):
        def stand_in(source, **how):
            return example.run(matrix=example.RUN["matrix"] | {"name": "twotone", "stand_in": True, "source": source}, **how)
        now = records.datasets()["TT"]["stand_in"]
        m = self.measured(stand_in(now, variant="new"), stand_in("gen:harmonic:nodes=3", variant="old"), stand_in("a.mtx", variant="file"))
        self.assertEqual([m.has_variant(v) for v in ("new", "old", "file")], [True, False, True])

    def test_only_the_matrices_of_the_paper(self):
        m = self.measured(example.run(matrix="unknown"), example.run(matrix="TT"), example.run(matrix="twotone"))
        self.assertEqual([abbr for abbr, _ in m.runs], ["TT", "TT"])


class Population(RecordsTest):
    def test_real_matrices_by_name(self):
        real = {"name": "epb3", "n": 7, "nnz": 30, "stand_in": False}
        m = self.measured(example.run(), example.run(matrix=real), example.run(matrix="TT"), population=True)
        self.assertEqual(m.matrices(), ["epb3", "bcsstk18"])
        self.assertEqual(self.measured(example.run(matrix=real)).matrices(), [])


class Limits(RecordsTest):
    def test_a_run_that_passed_its_limit_gives_a_bound(self):
        late = {"status": "timeout", "samples_s": [], "options": {"k": 1}}
        m = self.measured(example.run(**late, trials={"timeout_s": 7}), example.run(**late | {"options": {"k": 2}},
                          reason="passed its limit of 20 s"))
        self.assertIsNone(m.find("BC", V))
        (one,) = m.on("BC")
        self.assertEqual((one.limit("BC", V, k=1), one.limit("BC", V, k=2), one.limit("BC", V, k=3)), (7, 20, None))


class Selecting(RecordsTest):
    def test_runs_at_one_commit_on_one_machine_are_one(self):
        m = self.measured(example.run(), example.run(samples_s=[9, 1], phases_s={"traverse": 9}))
        self.assertEqual(m.find("BC", V)["samples_s"], [3, 5, 4, 9, 1])
        self.assertEqual(m.find("BC", V)["phases_s"]["traverse"], 1.5)
        self.assertEqual(len(m.on("BC")[0].cases("BC", V)), 1)
        self.assertEqual(records.seconds(m.find("BC", V)), 4)

    def test_of_several_commits_or_machines_the_last_counts(self):
        for changed in ({"git": {"sha": "1" * 40, "dirty": False}}, {"machine": {"id": "other"}}, {"host": "other"}):
            m = self.measured(example.run(), example.run(samples_s=[9], **changed), mixed=True)
            self.assertEqual(m.find("BC", V)["samples_s"], [9])
        m = self.measured(example.run())
        self.assertIsNone(m.find("TT", V))
        self.assertIsNone(m.find("BC", "other"))

    def test_settings_that_differ_must_be_named(self):
        m = self.measured(example.run(), example.run(matrix="twotone", options={"sources_per_range": 1}))
        self.assert_refused("sources_per_range (16, 1)", V, call=lambda: m.find("BC", V))
        self.assertIsNotNone(m.find("BC", V, sources_per_range="16"))
        self.assertIsNone(m.find("BC", V, sources_per_range=1))
        self.assertIsNotNone(m.find("TT", V, sources_per_range=1))
        self.assertIsNotNone(m.find("BC", V, alike=False))
        for name in ("threads", "chunk_size"):
            m = self.measured(example.run(), example.run(**{name: 8}))
            self.assert_refused(name, call=lambda: m.find("BC", V))
            self.assertEqual(m.find("BC", V, **{name: 8})[name], 8)
        m = self.measured(example.run(), example.run(mpi={"ranks": 2}))
        self.assert_refused("ranks", call=lambda: m.find("BC", V))
        self.assertIsNone(m.find("BC", V, ranks="two"))

    def test_an_option_that_came_later(self):
        m = self.measured(example.run(), example.run(options={"later": True}))
        self.assertIn("later", m.find("BC", V)["options"])
        self.assertIn("later", m.find("BC", V, later="true")["options"])
        self.assertIsNone(m.find("BC", V, latter=1))
        self.assertEqual(m.unknown, {"no run of cpu_fill2_parallel has a setting 'latter'"})

    def test_builds_and_series_are_apart(self):
        counted = example.run(counting=True, samples_s=[], threads=2)
        with_series = counted | {"series": {"x": [1]}, "threads": 3}
        m = self.measured(example.run(), counted, with_series, example.run(wants=["pattern"], threads=4))
        self.assertEqual(m.find("BC", V)["threads"], 1)
        self.assert_refused("threads (2, 3)", call=lambda: m.find("BC", V, counting=True))
        self.assertEqual(m.find("BC", V, counting=True, series=True)["threads"], 3)
        self.assertEqual(len(self.measured(example.run(), counted, counting=True).runs), 1)
        self.assertIsNone(self.measured(example.run(samples_s=[])).find("BC", V))

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

    def test_stand_ins(self):
        m = self.measured(example.run(), example.run(matrix="twotone"))
        self.assertFalse(m.is_stand_in("BC"))
        self.assertTrue(m.is_stand_in("TT"))
        nothing = self.measured()
        self.assertFalse(nothing.is_stand_in("BC"))
        self.assertTrue(nothing.is_stand_in("TT"))

    def test_simulated_schedules(self):
        larger = SIMULATED | {"matrix": "gen:elasticity3d:nx=99", "n": 99, "makespan_s": 7.0}
        m = self.measured(SIMULATED, larger, larger | {"n": 100, "batch_barrier": True}, larger | {"gpus": 12, "n": 101},
                          larger | {"matrix": "gen:circuit:n=200", "n": 200})
        self.assertEqual(m.simulated("AU", gpus=6, schedule="block")["makespan_s"], 7.0)
        self.assertIsNone(m.simulated("AU", gpus=6, schedule="dynamic"))
        self.assertIsNone(m.simulated("BC", gpus=6))  # an original needs no family

    def test_a_family_of_several_stand_ins_stands_for_none(self):
        pre2 = SIMULATED | {"matrix": "pre2", "n": 5}
        m = self.measured(SIMULATED | {"matrix": "gen:harmonic:nodes=9"}, pre2)
        self.assertEqual(m.simulated("PR", gpus=6)["n"], 5)
        self.assertIsNone(m.simulated("TT", gpus=6))
        self.assertEqual(m.simulated("PR", gpus=6)["matrix"], "pre2")
        self.assertIsNone(m.simulated("AU", gpus=6))
        self.assertIsNone(m.simulated("BB", gpus=6))
        self.assertIsNone(m.simulated("no_such", gpus=6))

    def test_simulated_schedules_of_real_matrices(self):
        path = example.write(self.file, SIMULATED | {"matrix": "memplus", "stand_in": False, "makespan_s": 4.0}, SIMULATED)
        m = records.Measured([path], population=True)
        self.assertEqual(m.simulated("memplus", gpus=6)["makespan_s"], 4.0)
        self.assertIsNone(m.simulated(SIMULATED["matrix"], gpus=6), "a stand-in")
        self.assertIsNone(m.simulated("AU", gpus=6))
        self.assertIsNone(records.Measured([path]).simulated("memplus", gpus=6))

    def test_profiles(self):
        m = self.measured(PROFILE, PROFILE | {"matrix": "twotone"})
        self.assertEqual(sorted(m.profiles), [("BC", "gpu_maxid"), ("TT", "gpu_maxid")])

    def test_profiles_of_the_last_file_that_repeated_them(self):
        lines = [PROFILE | {"dram_percent": k} for k in range(5)]
        files = [example.write(self.file.with_name(name), *some) for name, some in
                 (("a.jsonl", lines[:1]), ("b.jsonl", lines[1:3]), ("c.jsonl", lines[3:4]))]

        def taken(files):
            return [line["dram_percent"] for line in records.Measured(files).profiles["BC", "gpu_maxid"]]
        self.assertEqual(taken(files), [1, 2])
        self.assertEqual(taken([files[0], files[2]]), [3])
        self.assertEqual(taken([example.write(self.file, lines[0], lines[1] | {"commit": "b"})]), [1])


if __name__ == "__main__":
    unittest.main()
