"""Tests of the scheduling simulator on hand-computed cases. No timing, no matrix."""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import json_lines  # noqa: E402
from schedule import (chunk_ranges, chunks_by_work, chunks_of_rank, chunks_per_node,  # noqa: E402
                      guided_takes, work_of_chunks)
from simulator import SCHEDULES, Layout, Machine, fit_rate, simulate  # noqa: E402

UNIT = Machine(rate=1.0)


def run(edges, nodes, workers, schedule, machine=UNIT, predicted=None, **more):
    return simulate(edges, machine, Layout(nodes, workers, schedule, **more), predicted)


class ScheduleTest(unittest.TestCase):
    """The cases of variants/maxid/distributed/schedule_test.cpp."""

    def test_chunks(self):
        self.assertEqual(len(chunk_ranges(257, 64)), 5)
        self.assertEqual(chunk_ranges(257, 64)[-1], (256, 257))
        self.assertEqual(chunk_ranges(300, 0), [(0, 300)])
        self.assertEqual(chunk_ranges(0, 128), [])

    def test_the_papers_equation(self):
        self.assertEqual(chunks_per_node(128, 1024, 6), 48)
        self.assertEqual(chunks_per_node(256, 16, 2), 1)

    def test_chunks_of_rank(self):
        self.assertEqual([*chunks_of_rank("block", 10, 0, 3)], [0, 1, 2, 3])
        self.assertEqual([*chunks_of_rank("block", 10, 2, 3)], [7, 8, 9])
        self.assertEqual([*chunks_of_rank("inter_node", 10, 1, 3)], [1, 4, 7])
        self.assertEqual([*chunks_of_rank("intra_node", 2, 2, 3)], [])

    def test_order_and_takes(self):
        works = work_of_chunks(chunk_ranges(9, 2), [1, 1, 5, 5, 2, 8, 1, 1, 3])
        self.assertEqual(works, [2, 10, 10, 2, 3])
        self.assertEqual(chunks_by_work(works), [1, 2, 4, 0, 3])
        self.assertEqual(guided_takes([1.0] * 10, 4, 1), [(0, 4), (4, 7), (7, 8), (8, 9), (9, 10)])
        self.assertEqual(guided_takes([20, 11, 6, 2, 1], 4, 1), [(k, k + 1) for k in range(5)])
        self.assertEqual(guided_takes([8, 4, 4, 2, 2, 2, 2], 4, 1),
                         [(0, 2), (2, 4), (4, 5), (5, 6), (6, 7)])


class SimulatorTest(unittest.TestCase):
    # Work of rows 0 to 7, in chunks of two: 3, 7, 11 and 15.
    RISING = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]
    SMALL = {"chunk_size": 2, "sources": 2}

    def test_one_worker_does_all_the_work(self):
        for schedule in SCHEDULES:
            outcome = run(self.RISING, 1, 1, schedule, **self.SMALL)
            self.assertEqual(outcome.makespan, 36)
            self.assertEqual(outcome.imbalance, 1)

    def test_two_nodes(self):
        # block: 3 + 7 and 11 + 15; round robin: 3 + 11 and 7 + 15; by work: 15 + 3 and 11 + 7.
        for schedule, makespan in (("block", 26), ("inter_node", 22), ("intra_node", 22),
                                   ("dynamic", 18)):
            with self.subTest(schedule):
                self.assertEqual(run(self.RISING, 2, 1, schedule, **self.SMALL).makespan, makespan)

    def test_two_workers_of_a_node(self):
        # Whole chunks, two at a time: workers get 3 + 11 and 7 + 15.
        whole = run(self.RISING, 1, 2, "inter_node", **self.SMALL)
        self.assertEqual((whole.makespan, whole.busy), (22, (14, 22)))
        # Chunks 7, 3, 11 and 15: 7 + 11 and 3 + 15; with a barrier after each batch 7 + 15.
        mixed = [3.0, 4.0, 1.0, 2.0, 5.0, 6.0, 7.0, 8.0]
        free = run(mixed, 1, 2, "inter_node", **self.SMALL)
        self.assertEqual((free.makespan, free.busy), (18, (18, 18)))
        waits = run(mixed, 1, 2, "inter_node", batch_barrier=True, **self.SMALL)
        self.assertEqual((waits.makespan, waits.busy), (22, (18, 18)))
        # Rows interleaved, two chunks at a time: 1 + 3, 2 + 4, then 5 + 7, 6 + 8.
        rows = run(self.RISING, 1, 2, "intra_node", **self.SMALL)
        self.assertEqual((rows.makespan, rows.busy), (20, (16, 20)))

    def test_barrier_of_the_interleaved_batches(self):
        # One chunk at a time (#C of both workers is a chunk): batches take 4, 5, 6 and 1.
        edges = [4.0, 1.0, 1.0, 5.0, 6.0, 1.0, 1.0, 1.0]
        outcome = run(edges, 1, 2, "intra_node", chunk_size=2, sources=1)
        self.assertEqual(outcome.makespan, 4 + 5 + 6 + 1)
        self.assertEqual(outcome.busy, (12, 8))

    def test_overheads(self):
        # Two batches of four sources, each with an overhead of 10.
        machine = Machine(rate=2.0, overhead=10.0)
        outcome = run(self.RISING, 1, 1, "block", machine, chunk_size=4, sources=4)
        self.assertEqual(outcome.makespan, 10 + 5 + 10 + 13)
        # A chunk of four sources, two at once: two batches a chunk.
        outcome = run(self.RISING, 1, 1, "block", machine, chunk_size=4, sources=2)
        self.assertEqual(outcome.makespan, 40 + 18)
        # One source alone goes at 1: the last of a batch decides, 4 and 8.
        machine = Machine(rate=1000.0, source_rate=1.0)
        self.assertEqual(run(self.RISING, 1, 1, "block", machine, chunk_size=4, sources=4).makespan, 12)
        # Supernodes of four chunks on one node, of one chunk each on four.
        machine = Machine(rate=1.0, chunk_time=100.0)
        self.assertEqual(run(self.RISING, 1, 1, "inter_node", machine, **self.SMALL).makespan, 436)
        self.assertEqual(run(self.RISING, 4, 1, "inter_node", machine, **self.SMALL).makespan, 115)
        self.assertEqual(run(self.RISING, 4, 1, "dynamic", machine, **self.SMALL).makespan, 115)
        # Interleaved: chunks (3, 7) in one batch: rows 1+3, 2+4; supernodes one each.
        self.assertEqual(run(self.RISING, 1, 2, "intra_node", machine, **self.SMALL).makespan,
                         6 + 100 + 14 + 100)

    def test_workers_without_work(self):
        for schedule in SCHEDULES:
            outcome = run(self.RISING, 8, 3, schedule, **self.SMALL)
            self.assertEqual(len(outcome.busy), 24)
            self.assertAlmostEqual(sum(outcome.busy), 36)
            self.assertEqual(outcome.makespan, 8 if schedule == "intra_node" else 15)

    def test_a_wrong_prediction_costs_time_and_no_work(self):
        falling = self.RISING[::-1]
        good = run(self.RISING, 2, 1, "dynamic", **self.SMALL)
        bad = run(self.RISING, 2, 1, "dynamic", predicted=falling, **self.SMALL)
        # 3 then 11; 7 then 15.
        self.assertEqual((good.makespan, bad.makespan), (18, 22))
        self.assertEqual(sum(bad.busy), 36)

    def test_all_work_is_done_whatever_the_layout(self):
        edges = [float((7 * k * k) % 101 + 1) for k in range(501)]
        for schedule in SCHEDULES:
            for nodes in (1, 2, 3, 7, 600):
                for workers in (1, 2, 5):
                    outcome = run(edges, nodes, workers, schedule, chunk_size=16, sources=24)
                    self.assertAlmostEqual(sum(outcome.busy), sum(edges))
                    self.assertGreaterEqual(outcome.makespan * nodes * workers, sum(edges) - 1e-6)
                    self.assertGreaterEqual(outcome.makespan + 1e-9, max(outcome.busy))

    def test_fit_rate(self):
        machine = Machine(rate=1.0, overhead=0.5)
        layout = Layout(1, 1, "block", 2, 2)
        rate = fit_rate(self.RISING, machine, layout, 8.0)
        self.assertAlmostEqual(rate, 36 / (8.0 - 4 * 0.5), places=6)
        with self.assertRaises(ValueError):
            fit_rate(self.RISING, machine, layout, 2.0)

    def test_bad_layouts(self):
        for layout in (Layout(0, 1, "block"), Layout(1, 1, "cyclic"), Layout(1, 1, "block", -1)):
            with self.assertRaises(ValueError):
                simulate(self.RISING, UNIT, layout)


def record(**more):
    base = {"schema": 1, "status": "pass", "matrix": {"name": "made_up", "n": 8, "stand_in": False},
            "ordering": {"digest": "a" * 16}, "counting": False, "samples_s": [], "host": "here"}
    return {**base, **more}


def timed(ranks, workers, schedule, seconds):
    return record(variant="mpi_maxid_cpu", samples_s=[seconds], chunk_size=2,
                  mpi={"ranks": ranks}, options={"schedule": schedule},
                  derived={"workers_per_node": workers, "concurrent_sources": 2})


class ProgramTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        edges = SimulatorTest.RISING
        self.work = self.write("work.jsonl", record(counting=True, series={"edges": edges}))

    def write(self, name, *records):
        path = self.folder / name
        path.write_text("".join(json.dumps(r) + "\n" for r in records))
        return str(path)

    def call(self, *args):
        return subprocess.run([sys.executable, str(HERE / "simulate.py"), *args], capture_output=True,
                              text=True, timeout=60)

    def test_validation_prints_the_error(self):
        out = str(self.folder / "out.jsonl")
        # 36 edges in 3.6 s set the rate to 10; two nodes of block are then simulated to take 2.6 s.
        runs = self.write("timed.jsonl", timed(1, 1, "block", 3.6), timed(2, 1, "block", 2.0),
                          timed(2, 1, "dynamic", 1.8))
        done = self.call("--work", self.work, "--validate", runs, "--out", out)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("30.0%", done.stdout)
        self.assertIn("SIMULATED", done.stdout)
        rows = list(json_lines.read(out))
        self.assertEqual([round(r["error"], 6) for r in rows], [0, 0.3, 0])
        self.assertTrue(all(r["simulated"] for r in rows))

    def test_scales(self):
        out = str(self.folder / "out.jsonl")
        done = self.call("--work", self.work, "--scales", "1x1,2x1", "--schedule", "dynamic",
                         "--chunk-size", "2", "--sources", "2", "--rate", "1", "--out", out)
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = list(json_lines.read(out))
        self.assertEqual([r["makespan_s"] for r in rows], [36, 18])
        self.assertEqual([r["speedup"] for r in rows], [1, 2])
        self.assertTrue(all(r["simulated"] and r["work"] == "measured" for r in rows))

    def test_lines_name_where_they_come_from(self):
        out = self.folder / "out.jsonl"
        for _ in range(2):
            self.assertEqual(self.call("--work", self.work, "--scales", "1x1", "--out", str(out)).returncode, 0)
        rows = list(json_lines.read(out))
        self.assertEqual(len(out.read_text().splitlines()), len(rows) + 2)  # one header a call
        for r in rows:
            self.assertRegex(r["time_utc"], r"^\d{4}-\d\d-\d\dT")
            self.assertRegex(r["git"]["sha"], "^([0-9a-f]{40}|unknown)$")
            self.assertEqual(r["argv"][1:3], ["--work", self.work])
            self.assertTrue(r["host"])
        self.assertEqual(len({r["run_id"] for r in rows}), 2)

    def test_edges_are_kept_and_simulated_alike(self):
        edges = SimulatorTest.RISING
        measured = record(counting=True, run_id="r", argv=["gsofa_counting"], git={"sha": "0" * 40, "dirty": False})
        work = self.write("counting.jsonl", measured | {"series": {"edges": edges, "frontier": edges, "predicted_work": edges}})
        kept = str(self.folder / "edges.jsonl.gz")
        done = self.call("--work", work, "--keep", kept)
        self.assertEqual((done.returncode, done.stdout), (0, f"{kept}: edges of 1 matrices\n"), done.stderr)
        self.assertEqual(list(json_lines.read(kept)), [measured | {"series": {"edges": edges, "predicted_work": edges}}])
        found = []
        for k, file in enumerate((work, kept)):
            out = self.folder / f"{k}.jsonl"
            self.assertEqual(self.call("--work", file, "--scales", "figures", "--out", str(out)).returncode, 0)
            own = ("run_id", "argv", "time_utc", "git")
            found.append([{k: v for k, v in r.items() if k not in own} for r in json_lines.read(out)])
        self.assertEqual(*found)
        cases = [(r["schedule"], r["chunk_size"], r["gpus"]) for r in found[0]]
        self.assertEqual(len(cases), 4 * (11 + 1 + 1))
        self.assertTrue({("intra_node", c, 36) for c in (64, 128, 256)} | {("block", 128, 264), ("dynamic", 128, 6)} <= set(cases))

    def test_other_text_is_left_alone(self):
        notes = self.folder / "notes.txt"
        notes.write_text("my notes\n")
        done = self.call("--work", self.work, "--scales", "1x1", "--out", str(notes))
        self.assertEqual((done.returncode, done.stdout, notes.read_text()), (2, "", "my notes\n"))
        self.assertEqual(done.stderr, f"simulate.py: error: {notes}: its first line is not of a simulation, so nothing is appended to it\n")

    def test_predicted_work_says_so(self):
        path = self.write("p.json", {"kind": "predicted", "matrix": {"name": "m", "n": 3},
                                     "ordering": {"digest": "b" * 16}, "predicted_work": [1, 2, 3]})
        done = self.call("--work", path, "--scales", "1x1")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("predicted", done.stdout)

    def test_bad_input(self):
        empty = self.write("empty.jsonl")
        for args in (("--work", empty), ("--work", "/absent"),
                     ("--work", self.work, "--scales", "threexone"),
                     ("--work", self.write("series.jsonl", record(series=[1]))),
                     ("--work", self.write("named.jsonl", record(matrix={"n": 3}))),
                     ("--work", self.work, "--validate", self.write("list.jsonl", [1])),
                     ("--work", self.write("short.jsonl", record(counting=True,
                                                                 series={"edges": [1]})))):
            done = self.call(*args)
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertEqual(len(done.stderr.splitlines()), 1)
        self.assertEqual(self.call("--work", self.work, "--validate", empty).returncode, 3)


if __name__ == "__main__":
    unittest.main()
