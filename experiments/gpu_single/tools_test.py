"""Tests of tools.py on made-up logs of ncu."""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent


class Tools(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.addCleanup(self._folder.cleanup)
        self.folder = Path(self._folder.name)

    def call(self, script, *args):
        return subprocess.run([sys.executable, HERE / script, *map(str, args)], capture_output=True,
                              text=True)

    def test_the_log_as_a_table(self):
        log = self.folder / "ncu.log"
        head = '"ID","Kernel Name","Metric Name","Metric Unit","Metric Value"\n'
        log.write_text("==PROF== text\n" + head + "".join(
            f'"{k}","traverse_kernel(int, int)","{name}","unit","{value}"\n'
            for k in (0, 1) for name, value in (("dram__bytes.sum", "1,000,000"),
                                                ("gpu__time_duration.sum", "1,000"),
                                                ("lts__t_bytes.sum", "3,000,000"))))
        done = self.call("tools.py", "ncu", "bcsstk18", "gpu_maxid", log)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn('bcsstk18,gpu_maxid,1,"traverse_kernel(int, int)",lts__t_bytes.sum,unit,3000000\n', done.stdout)
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


if __name__ == "__main__":
    sys.exit(unittest.main())
