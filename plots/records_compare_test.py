"""Tests of the comparison of two files of records."""

import contextlib
import io
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import records_compare
import records_example as example


def run(variant, samples, matrix="bcsstk18", **changes):
    return example.run(variant=variant, samples_s=samples, matrix=matrix, **changes)


class RecordsCompareTest(unittest.TestCase):
    def compared(self, a, b, *options):
        """(exit status, stdout, stderr) of a comparison of runs."""
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()) as out, \
                contextlib.redirect_stderr(io.StringIO()) as err:
            files = [str(example.write(Path(folder) / name, *runs)) for name, runs in (("a.jsonl", a), ("b.jsonl", b))]
            with mock.patch.object(sys, "argv", ["compare", *files, *options]):
                code = records_compare.main()
        return code, out.getvalue(), err.getvalue()

    def test_cases_and_kinds(self):
        """Only what both have is compared; a case counts as slower beyond the tolerance and its own spread alone."""
        a = [run("v", [1, 1, 1, 1]), run("w", [1, 3, 1, 3, 1]), run("x", [1, 1, 1])]
        b = [run("v", [2, 2, 2, 2]), run("w", [1.2, 3, 1.2, 3, 1.2]), run("y", [1, 1, 1])]
        code, out, err = self.compared(a, b)
        self.assertEqual(code, 1)
        self.assertRegex(out, r"2\.000 +2\.000 +2\.000  v on bcsstk18  slower")
        self.assertRegex(out, r"1\.200 .*  w on bcsstk18\n")
        self.assertIn("original: geometric mean of 2", out)
        self.assertIn("1 of 2 cases are slower by more than 5%", out)
        self.assertIn("in one of them alone: x on bcsstk18, y on bcsstk18", err)
        self.assertEqual(self.compared(a, b, "--tolerance", "100%")[0], 0)
        self.assertEqual(self.compared(b, a)[0], 0)

    def test_bounds(self):
        """A run that passed its limit is a bound, and slower where the bound is."""
        late = run("v", [], status="timeout", reason="passed its limit of 60 s", result={}, phases_s={})
        code, out, _ = self.compared([run("v", [1, 1, 1])], [late])
        self.assertEqual(code, 1)
        self.assertIn(">=  60.000", out)
        self.assertEqual(self.compared([late], [run("v", [1, 1, 1])])[0], 0)

    def test_nothing_in_common(self):
        code, out, err = self.compared([run("v", [1, 1, 1])], [run("w", [1, 1, 1])])
        self.assertEqual((code, out), (2, ""))
        self.assertIn("no case with times is in both", err)
        code, _, err = self.compared([run("v", [1, 1, 1])], ["no record"])
        self.assertEqual((code, err.count("\n")), (2, 1))

    def test_load(self):
        """A machine with more to do than cores is named."""
        busy = {"id": "m", "threads_online": 2, "before": {"load": 9.9}}
        self.assertIn("B: the machine was loaded: load 9.9 on 2 cores",
                      self.compared([run("v", [1, 1, 1])], [run("v", [1, 1, 1], machine=busy)])[2])


if __name__ == "__main__":
    unittest.main()
