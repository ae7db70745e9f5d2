"""Tests of coverage.py on a program of three files."""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import coverage  # noqa: E402

HEADER = """template <int k> inline int twice(int x) {
  if (x > 2)
    return x;
  return k * x;
}
"""
FIRST = """#include "variants/half.hpp"
int second(int x);
int first(int x) {
  if (x > 2)
    return twice<3>(x);
  return 1;
}
int main() { return first(3) + second(1) == 5 ? 0 : 1; }
"""
SECOND = """#include "variants/half.hpp"
int second(int x) { return twice<2>(x); }
int never(int x) {
  return x + 1;
}
"""


class CoverageTest(unittest.TestCase):
    def test_lines_of_all_objects_by_file(self):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder).resolve()
            (root / "variants").mkdir()
            build = root / "build"
            build.mkdir()
            for name, text in (("half.hpp", HEADER), ("first.cpp", FIRST), ("second_part.cpp", SECOND),
                               ("lonely.cpp", "int lonely() { return 1; }\n"), ("x_test.cpp", "int test() { return 1; }\n")):
                (root / "variants" / name).write_text(text)
                if name.endswith(".cpp"):
                    subprocess.run([os.environ.get("CXX", "g++"), "--coverage", f"-I{root}", "-c", root / "variants" / name, "-o",
                                    f"{name}.o"], cwd=build, check=True)
            with self.assertRaisesRegex(coverage.Fault, "no counts"):
                coverage.collect(build, root, ("variants/",))
            subprocess.run([os.environ.get("CXX", "g++"), "--coverage", *sorted(build.glob("*.o")), "-o", "program"], cwd=build,
                           check=True)
            subprocess.run([build / "program"], check=True)
            rows = coverage.table(coverage.collect(build, root, ("variants/",)))
            # first.cpp: line 6 is not executed; half.hpp: each line by one of two objects.
            self.assertEqual(rows, [("variants/first.cpp", 5, 4), ("variants/half.hpp", 4, 4), ("variants/lonely.cpp", 1, 0),
                                    ("variants/second_part.cpp", 3, 1)])
            coverage.write(rows, root / "table.tsv")
            self.assertIn("variants/first.cpp\t5\t4\t80.0\n", (root / "table.tsv").read_text())


if __name__ == "__main__":
    unittest.main()
