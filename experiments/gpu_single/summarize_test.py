"""Tests of summarize.py and tools.py on made-up records."""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent


def record(matrix, variant, ms, **other):
    made = {
        "matrix": {"name": matrix}, "variant": variant, "device": variant[:3], "counting": False,
        "wants": ["counts", "digest"], "samples_s": [1e-3 * t for t in ms], "status": "pass",
        "reason": "", "gpus": [{"name": "NVIDIA H200"}], "cpu": "cpu", "host": "host",
        "git": {"sha": "a" * 40, "dirty": False}, "phases_s": {"traverse": 1e-3 * sum(ms[:1])},
        "mem": {"device_peak": 3 << 20}} | other
    return json.dumps(made) + "\n"


class SessionTest(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.addCleanup(self._folder.cleanup)
        self.folder = Path(self._folder.name)

    def call(self, script, *args):
        return subprocess.run([sys.executable, HERE / script, *map(str, args)], capture_output=True,
                              text=True)

    def summary(self, *lines, code=0, args=()):
        (self.folder / "records.jsonl").write_text("".join(lines))
        done = self.call("summarize.py", self.folder, *args)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def row(self, text, label):
        return [line.split() for line in text.splitlines() if line.startswith(label)]

    def test_medians_and_ratios(self):
        text = self.summary(
            record("bcsstk18", "gpu_maxid", [6.1, 1, 100]),
            record("g7jac040sc", "gpu_maxid", [12.465]),
            record("bcsstk18", "gpu_fill2_naive", [24.4]),
            record("bcsstk18", "cpu_fill2_parallel", [61]),
            record("g7jac040sc", "gpu_fill2_naive", [], status="timeout"),
        ).stdout
        times, ratios = self.row(text, "gpu_maxid ")[:2]
        self.assertEqual(times, ["gpu_maxid", "6.10", "12.5", "1.00"])
        self.assertEqual(ratios, ["gpu_maxid", "2.00", "2.00", "-", "-", "-", "-", "-", "2.00", "of",
                                  "2"])
        self.assertIn("gpu_maxid 2x missed", text)  # five matrices were not run
        self.assertEqual(self.row(text, "gpu_fill2_naive ")[0][2], "timeout")
        self.assertIn(["gpu_fill2_naive", "/", "gpu_maxid", "4.00"],
                      [r[:4] for r in self.row(text, "gpu_fill2_naive /")])
        self.assertIn("10.0", self.row(text, "cpu_fill2_parallel /")[0])
        self.assertIn("device peak 3.00 MiB", text)
        self.assertIn("4 pass, 1 timeout", text)

    def test_targets(self):
        theirs = {"bcsstk18": 15.8, "g7jac040sc": 29.3, "onetone1": 67.8, "epb3": 112.5,
                 "wang3": 128.1, "cage11": 570, "gen:grid7:nx=40,drop=0.3,seed=1": 595}
        faster = [record(m, "gpu_maxid", [t / 4]) for m, t in theirs.items()]
        self.assertIn("gpu_maxid 2x reached", self.summary(*faster).stdout)
        # Faster in the mean, but not on every matrix.
        faster[0] = record("bcsstk18", "gpu_maxid", [16])
        self.assertIn("gpu_maxid 2x missed", self.summary(*faster).stdout)

    def test_what_counts(self):
        text = self.summary(record("bcsstk18", "gpu_maxid", [5]),
                            record("bcsstk18", "gpu_maxid", [9], wants=["pattern"]),
                            record("bcsstk18", "gpu_maxid", [], counting=True)).stdout
        self.assertEqual(self.row(text, "gpu_maxid ")[0][1], "5.00")

    def test_refuted_results_have_no_time(self):
        done = self.summary(record("bcsstk18", "gpu_maxid", [5], status="fail", reason="row 3"),
                            code=1)
        self.assertEqual(self.row(done.stdout, "gpu_maxid ")[0][1], "fail")
        self.assertIn("bcsstk18 gpu_maxid: fail: row 3", done.stdout)
        self.assertNotIn("reached", done.stdout)

    def test_mixed_machines(self):
        lines = (record("bcsstk18", "gpu_maxid", [5]), record("bcsstk18", "gpu_fill2_naive", [9],
                                                              host="other"))
        self.assertIn("--mixed", self.summary(*lines, code=2).stderr)
        self.assertIn("1.80", self.summary(*lines, args=["--mixed"]).stdout)

    def test_throughput(self):
        log = self.folder / "ncu.log"
        head = '"ID","Kernel Name","Metric Name","Metric Unit","Metric Value"\n'
        log.write_text("==PROF== text\n" + head + "".join(
            f'"{k}","traverse_kernel(int, int)","{name}","unit","{value}"\n'
            for k in (0, 1) for name, value in (("dram__bytes.sum", "1,000,000"),
                                                ("gpu__time_duration.sum", "1,000"),
                                                ("lts__t_bytes.sum", "3,000,000"))))
        done = self.call("tools.py", "ncu", "bcsstk18", "gpu_maxid", log)
        self.assertEqual(done.returncode, 0, done.stderr)
        (self.folder / "ncu.csv").write_text(done.stdout)
        (self.folder / "bandwidth.json").write_text('{"gpu": "GPU", "bytes_per_s": 4e12}')
        text = self.summary(record("bcsstk18", "gpu_maxid", [5])).stdout
        # 2 MB of DRAM and 6 MB of L2 in 2 us
        self.assertEqual(self.row(text, "bcsstk18 gpu_maxid")[0][2:],
                         ["2", "0.002", "1000", "25.0", "%", "3000"])
        log.write_text("==ERROR== no kernel\n")
        self.assertNotEqual(self.call("tools.py", "ncu", "m", "v", log).returncode, 0)

    def test_percent_of_the_peaks_by_time(self):
        head = '"ID","Kernel Name","Metric Name","Metric Unit","Metric Value"\n'
        metrics = {"gpu__time_duration.sum": (1000, 3000), "dram__bytes.sum": (1e6, 1e6), "lts__t_bytes.sum": (4e6, 4e6),
                   "dram__bytes.sum.pct_of_peak_sustained_elapsed": (40, 20), "lts__t_bytes.sum.pct_of_peak_sustained_elapsed": (8, 4)}
        log, bandwidth = self.folder / "t.log", self.folder / "b.json"
        bandwidth.write_text('{"gpu": "GPU", "bytes_per_s": 4e12}')

        def line(names):
            log.write_text(head + "".join(f'"{k}","traverse","{name}","u","{metrics[name][k]}"\n' for k in (0, 1) for name in names))
            return json.loads(self.call("tools.py", "throughput", "BC", "gpu_maxid", log, bandwidth, "a" * 40).stdout)
        found = line(metrics)
        self.assertEqual((found["launches"], round(found["dram_gb_per_s"]), found["dram_percent"], found["l2_percent"]), (2, 500, 25, 5))
        self.assertNotIn("dram_percent", line(list(metrics)[:3]))

    def test_lines_that_are_no_records(self):
        path = self.folder / "records.jsonl"
        good = record("m", "gpu_maxid", [1])
        for bad in ("{", "[]", '{"status": 3}', '{"schema": 1}', good.replace('"pass"', "1")):
            path.write_text(good + bad + "\n")
            done = self.call("summarize.py", path)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertTrue(done.stderr.startswith(f"{path}:2: "), done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1)


if __name__ == "__main__":
    sys.exit(unittest.main())
