"""Tests of distributed runs under mpirun, all ranks on this machine. Exit status 77 where that is impossible.

$GSOFA, $GSOFA_COUNTING and $GSOFA_MPI_PROBE name the programs, $GSOFA_MPI_SHIM the library that
makes a rank late, stuck or short of memory. With $GSOFA_MPI_FAILURES=all every one of the first 60
allocations of a rank and of 60 spread over its run fails once, otherwise a sample of them.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

from cli_support import records_of

GSOFA = os.environ.get("GSOFA", "gsofa")
GSOFA_COUNTING = os.environ.get("GSOFA_COUNTING", "gsofa_counting")
PROBE = os.environ.get("GSOFA_MPI_PROBE", "gsofa_mpi_probe")
SHIM = os.environ.get("GSOFA_MPI_SHIM")
VARIANT = "mpi_maxid_cpu"
PARALLEL_PEER = "peer_superlu_dist_parallel"
SCHEDULES = ("block", "inter_node", "intra_node", "dynamic")
RANKS = (1, 2, 3, 5, 8)
SMALL = "gen:grid7:nx=9,drop=0.3"  # order 729: 12, 6 and 3 chunks of 64, 128 and 256, the last not whole
SKIPPED = 77
LIMIT = 300  # seconds after which a job counts as hanging

OK, FAILED, BAD_INPUT, UNAVAILABLE, RUN_FAILED = 0, 1, 2, 3, 4


def mpirun():
    found = shutil.which("mpirun")
    return Path(found) if found else None


def is_open_mpi():
    done = subprocess.run([mpirun(), "--version"], capture_output=True, text=True)
    return "Open MPI" in done.stdout


def launcher(ranks, extra=()):
    command = [str(mpirun())]
    if is_open_mpi():
        command += ["--oversubscribe", "--bind-to", "none"]
        if os.geteuid() == 0:
            command.append("--allow-run-as-root")
    return [*command, *extra, "-np", str(ranks)]


def on_ranks(ranks, *args, extra=(), env=None, limit=LIMIT):
    """The finished job; subprocess.TimeoutExpired, and no rank left, where it hangs."""
    launched = subprocess.Popen([*launcher(ranks, extra), *args], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, start_new_session=True,
                                env=None if env is None else {**os.environ, **env})
    try:
        out, err = launched.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(launched.pid, signal.SIGKILL)
        for pid in ranks_of(launched):
            os.kill(pid, signal.SIGKILL)
        launched.communicate()
        raise
    return subprocess.CompletedProcess(launched.args, launched.returncode, out, err)


def run_args(matrix, *more, variant=VARIANT, threads=1, repeat=1):
    return ["run", "--matrix", matrix, "--variant", variant, "--threads", str(threads), "--json",
            "--repeat", str(repeat), "--warmup", "0", *more]


def own_lines(done):
    """The program's own error lines, without what the launcher adds."""
    return [line for line in done.stderr.splitlines() if line.startswith("gsofa: error: ")]


def ranks_of(launched):
    """Process ids of the ranks of a job that `launched`, an mpirun, has started."""
    try:
        text = Path(f"/proc/{launched.pid}/task/{launched.pid}/children").read_text()
    except OSError:
        return []
    return [int(pid) for pid in text.split()]


class DistributedTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        one = subprocess.run([GSOFA, *run_args(SMALL, "--want", "digest", "--want", "counts",
                                               "--want", "supernodes")],
                             capture_output=True, text=True, timeout=LIMIT)
        assert one.returncode == OK, one.stderr
        cls.alone = records_of(one.stdout)[0]

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def records(self, done, code=OK):
        self.assertEqual(done.returncode, code, done.stderr)
        return records_of(done.stdout)

    def record(self, *args, **kwargs):
        (record,) = self.records(*args, **kwargs)
        return record


class JobTest(DistributedTest):
    def test_collectives_counter_agreement_and_failing_workers(self):
        for ranks in RANKS:
            with self.subTest(ranks=ranks):
                done = on_ranks(ranks, PROBE)
                self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
                self.assertIn(f"{ranks} ranks: all well", done.stdout)

    def test_counter_without_shared_memory_windows(self):
        if not is_open_mpi():
            self.skipTest("chooses a component of Open MPI")
        done = on_ranks(3, PROBE, extra=["--mca", "osc", "^sm"])
        self.assertEqual(done.returncode, 0, done.stderr + done.stdout)

    def test_record_names_ranks_nodes_and_phases(self):
        record = self.record(on_ranks(3, GSOFA, *run_args(SMALL)))
        self.assertEqual(record["status"], "pass")
        mpi = record["mpi"]
        self.assertEqual((mpi["ranks"], mpi["map"], mpi["nodes"]), (3, "3", 1))
        self.assertTrue(mpi["library"])
        self.assertEqual(len(mpi["rank_phases_s"]), 3)
        for phases in mpi["rank_phases_s"]:
            # Every rank's phases divide the same span of time.
            self.assertLessEqual(abs(sum(phases.values()) - record["samples_s"][0]),
                                 0.1 * record["samples_s"][0] + 0.01)
        derived = record["derived"]
        self.assertEqual(derived["chunks"], 6)
        self.assertEqual(derived["concurrent_chunks_per_node"],
                         max(1, derived["concurrent_sources"] * derived["workers_per_node"]
                             // record["chunk_size"]))


class ResultTest(DistributedTest):
    def test_any_ranks_workers_and_chunks_give_one_result(self):
        supernodes = {}
        for chunk in (64, 128, 256):
            for ranks in RANKS:
                schedule = SCHEDULES[(ranks + chunk // 64) % 4]
                workers = 1 + ranks % 3
                with self.subTest(chunk=chunk, ranks=ranks, schedule=schedule, workers=workers):
                    record = self.record(on_ranks(ranks, GSOFA, *run_args(
                        SMALL, "--chunk-size", str(chunk), "--set", f"schedule={schedule}",
                        "--set", f"workers_per_rank={workers}", "--set", "concurrent_sources=48")))
                    self.assertEqual(record["status"], "pass", record["reason"])
                    self.assertEqual(record["mpi"]["ranks"], ranks)
                    result = record["result"]
                    for key in ("digest", "nnz_l", "nnz_u", "fill"):
                        self.assertEqual(result[key], self.alone["result"][key])
                    self.assertEqual(supernodes.setdefault(chunk, result["supernodes"]),
                                     result["supernodes"])
        # A smaller chunk cuts more supernodes.
        self.assertGreaterEqual(supernodes[64], supernodes[128])
        self.assertGreaterEqual(supernodes[128], supernodes[256])

    def test_every_schedule_with_ranks_that_have_no_chunk(self):
        for schedule in SCHEDULES:
            with self.subTest(schedule=schedule):
                record = self.record(on_ranks(5, GSOFA, *run_args(
                    SMALL, "--chunk-size", "256", "--set", f"schedule={schedule}")))
                self.assertEqual(record["derived"]["chunks"], 3)
                self.assertEqual(record["status"], "pass", record["reason"])
                self.assertEqual(record["result"]["digest"], self.alone["result"]["digest"])

    def test_one_chunk_on_three_ranks(self):
        for chunk in ("0", "1000"):
            record = self.record(on_ranks(3, GSOFA, *run_args(SMALL, "--chunk-size", chunk)))
            self.assertEqual((record["status"], record["derived"]["chunks"]), ("pass", 1))

    def test_dynamic_schedule_a_hundred_times(self):
        record = self.record(on_ranks(3, GSOFA, *run_args(
            SMALL, "--chunk-size", "16", "--set", "workers_per_rank=2", repeat=100)))
        self.assertEqual(record["status"], "pass", record["reason"])
        self.assertEqual(len(record["samples_s"]), 100)

    def test_conformance_on_three_ranks(self):
        done = on_ranks(3, GSOFA, "check", "--suite", "small", "--patterns", "6", "--variant",
                        VARIANT, "--variant", "planted_mpi_lost_chunk", "--variant",
                        "planted_mpi_repeated_chunk", "--save", str(self.folder))
        self.assertEqual(done.returncode, OK, done.stdout + done.stderr)
        for planted in ("lost_chunk", "repeated_chunk"):
            self.assertIn(f"planted_mpi_{planted}: rejected", done.stdout)

    def test_planted_faults_fail_under_run(self):
        for planted in ("lost_chunk", "repeated_chunk"):
            # Three chunks on two nodes of three workers.
            done = on_ranks(2, GSOFA, *run_args(SMALL, "--chunk-size", "256",
                                                variant=f"planted_mpi_{planted}"))
            self.assertEqual(self.record(done, code=FAILED)["status"], "fail")

    def test_work_of_each_source_does_not_depend_on_the_ranks(self):
        series = []
        for ranks in (1, 3):
            record = self.record(on_ranks(ranks, GSOFA_COUNTING, *run_args(SMALL, "--series")))
            edges = record["series"]["edges"]
            self.assertEqual(len(edges), record["matrix"]["n"])
            self.assertEqual(sum(edges), record["counters"]["edges_traversed"])
            series.append(edges)
        # One thread for each worker: levels are the same whatever the batch.
        self.assertEqual(series[0], series[1])


class PatternTest(DistributedTest):
    def entries(self, pattern):
        """All (row, column) of the parts of L or of U, with how many parts there are."""
        found, parts = [], 0
        for path in sorted(self.folder.glob(pattern)):
            parts += 1
            lines = [line for line in path.read_text().splitlines() if not line.startswith("%")]
            found += [tuple(int(x) for x in line.split()) for line in lines[1:]]
        return found, parts

    def test_parts_of_the_ranks_make_the_pattern(self):
        alone = subprocess.run([GSOFA, *run_args(SMALL, "--pattern-out", str(self.folder))],
                               capture_output=True, text=True, timeout=LIMIT)
        self.assertEqual(alone.returncode, OK, alone.stderr)
        whole = {part: self.entries(f"*.{VARIANT}.{part}.mtx")[0] for part in "LU"}
        record = self.record(on_ranks(3, GSOFA, *run_args(
            SMALL, "--chunk-size", "64", "--set", "schedule=inter_node",
            "--pattern-out", str(self.folder))))
        self.assertEqual(record["status"], "pass", record["reason"])
        for part in "LU":
            found, parts = self.entries(f"*.part*of00003.{part}.mtx")
            self.assertEqual(parts, 3)
            self.assertEqual(sorted(found), sorted(whole[part]))
        rows = [int(x) for p in self.folder.glob("*.rows.txt") for x in p.read_text().split()]
        self.assertEqual(sorted(rows), list(range(1, record["matrix"]["n"] + 1)))


class RefusalTest(DistributedTest):
    def assert_refused(self, done, code, *mention):
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertEqual(done.stdout, "")
        (line,) = own_lines(done)
        for text in mention:
            self.assertIn(text, line)

    def test_bad_input_is_one_line(self):
        broken = self.folder / "broken.mtx"
        broken.write_text("%%MatrixMarket matrix coordinate pattern general\n3 3 9\n1 1\n")
        self.assert_refused(on_ranks(3, GSOFA, *run_args(str(broken))), BAD_INPUT, "broken.mtx")
        self.assert_refused(on_ranks(3, GSOFA, *run_args("/absent.mtx")), BAD_INPUT, "/absent.mtx")
        self.assert_refused(on_ranks(2, GSOFA, *run_args(SMALL, "--set", "schedule=cyclic")),
                            BAD_INPUT, "schedule")
        self.assert_refused(on_ranks(2, GSOFA, "run", "--nonsense"), BAD_INPUT)
        self.assert_refused(on_ranks(2, GSOFA, *run_args(SMALL, variant="mpi_maxid_cpuu")), BAD_INPUT,
                            "did you mean 'mpi_maxid_cpu'")

    def test_variants_of_one_process(self):
        self.assert_refused(on_ranks(2, GSOFA, *run_args(SMALL, variant="cpu_fill2")), UNAVAILABLE,
                            "cpu_fill2", "2 ranks")
        done = on_ranks(2, GSOFA, "run", "--matrix", SMALL, "--json", "--repeat", "1", "--warmup", "0")
        for record in self.records(done):
            if record["status"] == "skipped":
                self.assertNotEqual(record["variant"], VARIANT)
            else:
                self.assertTrue(record["device"] == "mpi" or record["variant"] == PARALLEL_PEER)

    def test_other_commands_speak_once(self):
        done = on_ranks(3, GSOFA, "list", "--json")
        self.assertEqual(done.returncode, OK, done.stderr)
        self.assertIn(VARIANT, [v["name"] for v in json.loads(done.stdout)])


@unittest.skipUnless(SHIM, "no library to preload: a build without MPI, or with sanitizers")
class OneRankTest(DistributedTest):
    """Something goes wrong on one rank of three, anywhere: the job ends, within a limit."""

    ARGS = run_args("gen:grid5:nx=4", "--set", "schedule=dynamic", "--chunk-size", "16", repeat=3)
    HANGS = 60  # seconds

    def job(self, args=ARGS, **settings):
        env = {f"GSOFA_SHIM_{key}": str(value) for key, value in settings.items()}
        env |= {"LD_PRELOAD": SHIM, "GSOFA_SHIM_RANK": str(settings.get("RANK", 2))}
        return on_ranks(3, GSOFA, *args, env=env, limit=self.HANGS)

    def test_late_ranks_change_nothing(self):
        for call in ("MPI_Wtime", "MPI_Barrier", "MPI_Allreduce"):
            for at in (3, 7):
                with self.subTest(call=call, at=at):
                    record = self.record(self.job(SLEEP=f"{call}:{at}:20"))
                    self.assertEqual(record["status"], "pass", record["reason"])

    def test_failed_allocation(self):
        counted = self.job(COUNT=1)
        self.assertEqual(counted.returncode, OK, counted.stderr)
        (count,) = [int(line.split()[1]) for line in counted.stderr.splitlines()
                    if line.startswith("allocations: ")]
        every = os.environ.get("GSOFA_MPI_FAILURES") == "all"
        first = range(1, 61) if every else (1, 7, 33)
        spread = [1 + (count - 1) * k // 60 for k in range(60)]
        chosen = sorted({*first, *(spread if every else spread[5::8])})
        tried = {"ends": 0, "record": 0}
        for at in chosen:
            rank = at % 3
            with self.subTest(at=at, rank=rank):
                done = self.job(FAIL=at, RANK=rank)
                if done.returncode == OK:  # a library did without
                    self.assertEqual(self.record(done)["status"], "pass")
                    continue
                lines = own_lines(done)
                self.assertEqual(done.returncode, RUN_FAILED, done.stderr)
                if lines:
                    self.assertEqual(len(lines), 1, done.stderr)
                    self.assertIn("memory", lines[0])
                    tried["ends"] += 1
                else:
                    self.assertEqual(self.record(done, code=RUN_FAILED)["status"], "oom")
                    tried["record"] += 1
        self.assertGreater(tried["ends"] + tried["record"], len(chosen) // 2)

    def test_ranks_that_wait_for_ever_are_named(self):
        os.environ["GSOFA_MPI_LIMIT"] = "2"
        self.addCleanup(os.environ.pop, "GSOFA_MPI_LIMIT")
        done = self.job(SLEEP="new:1500:-1", RANK=1)
        self.assertEqual(done.returncode, RUN_FAILED, done.stderr)
        (line,) = own_lines(done)
        self.assertIn("waited for each other", line)
        self.assertIn("rank 0 waits in", line)
        self.assertIn("rank 1 is at work", line)

    def test_limit_of_waiting_is_a_number(self):
        for text in ("soon", "-1", "nan", "inf"):
            done = on_ranks(2, GSOFA, *self.ARGS, env={"GSOFA_MPI_LIMIT": text})
            self.assertEqual(done.returncode, BAD_INPUT, done.stderr)
            (line,) = own_lines(done)
            self.assertIn(text, line)


class FailureTest(DistributedTest):
    @unittest.skipIf("ASAN_OPTIONS" in os.environ, "sanitizers reserve address space")
    def test_one_rank_out_of_memory(self):
        args = run_args("bcsstk18", "--verify", "none", "--set", "concurrent_sources=6000")
        command = [*launcher(1), GSOFA, *args, ":", "-np", "1", "sh", "-c",
                   'ulimit -v 400000; exec "$@"', "sh", GSOFA, *args]
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT)
        record = self.record(done, code=RUN_FAILED)
        self.assertEqual((record["status"], record["reason"]), ("oom", "rank 1: out of host memory"))

    def test_time_limit(self):
        done = on_ranks(2, GSOFA, *run_args("bcsstk18", "--verify", "none", "--timeout", "0.02"))
        self.assertEqual(self.record(done, code=RUN_FAILED)["status"], "timeout")

    def start(self, ranks, *args):
        launched = subprocess.Popen([*launcher(ranks), GSOFA, *args], stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE, text=True)
        self.addCleanup(launched.stdout.close)
        self.addCleanup(launched.stderr.close)
        self.addCleanup(launched.wait)
        self.addCleanup(launched.kill)
        return launched

    def test_killed_rank_ends_the_job(self):
        launched = self.start(3, *run_args("bcsstk18", "--verify", "none", repeat=100000))
        deadline = time.monotonic() + LIMIT
        while len(ranks_of(launched)) < 3 and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(1.5)
        victims = ranks_of(launched)
        if len(victims) < 3:
            self.skipTest("the launcher's children are not the ranks")
        os.kill(victims[-1], signal.SIGKILL)
        launched.communicate(timeout=LIMIT)  # raises where the rest hangs
        self.assertNotEqual(launched.returncode, 0)


def main():
    if mpirun() is None:
        print("skipped: no mpirun")
        return SKIPPED
    # Launchers keep files of their own there, and names of sockets have a limit: a short path.
    own = tempfile.TemporaryDirectory(prefix="mpi", dir="/tmp")
    os.environ["TMPDIR"] = own.name
    probe = on_ranks(2, PROBE)
    if probe.returncode == UNAVAILABLE or "1 ranks" in probe.stdout:
        print(f"skipped: mpirun does not start ranks of one job: {probe.stderr.strip()[:200]}")
        return SKIPPED
    result = unittest.main(exit=False, verbosity=2).result
    for test, reason in result.skipped:
        print(f"skipped: {test}: {reason}")
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
