"""Every number in a table of these documents, and those of some sentences, are those of the committed records: numbers_*.py.
Exit status 77 without matplotlib."""

import re
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

try:
    import numbers_library  # noqa: F401
    import numbers_orders  # noqa: F401
    import numbers_panels  # noqa: F401
    import numbers_records
    import numbers_scaling  # noqa: F401
    import numbers_studies  # noqa: F401
except ImportError as e:
    print(f"skipped: {e}")
    sys.exit(77)

import records


def tables(text):
    """Lists of the lines of each table."""
    return [block.strip().splitlines() for block in re.findall(r"(?:^\|.*\n)+", text + "\n", re.M)]


def measured(line):
    """Whether a row of a table has a number outside of links and code."""
    return re.search(r"(?<![A-Za-z])\d", re.sub(r"\[.*?\]\(.*?\)|`.*?`", "", line))


def fits(line, found):
    """Whether a row of a document is the one found: all of it, or up to its last cell, which has no number."""
    return line == found or not found.endswith("|") and line.startswith(found)


def faults(path, text):
    """Lines and parts of sentences of a document that differ from the records."""
    found = list(numbers_records.DOCUMENTS[path]())
    rows, flat = {f for f in found if f.startswith("|")}, numbers_records.squeezed(text)
    shown = {line for head, *lines in tables(text) if head not in numbers_records.FACTS[path] for line in lines if measured(line)}
    return [f"no record: {line}" for line in shown if not any(fits(line, r) for r in rows)] + \
        [f"absent: {r}" for r in rows if not any(fits(line, r) for line in shown)] + \
        [f"absent: {f}" for f in found if f not in rows and numbers_records.squeezed(f) not in flat]


class Documents(unittest.TestCase):
    maxDiff = None

    def test_numbers_are_those_of_the_records(self):
        for path in numbers_records.DOCUMENTS:
            with self.subTest(path):
                self.assertEqual(faults(path, (records.ROOT / path).read_text(encoding="utf-8")), [])

    def test_another_number_is_noticed(self):
        path = "harness/library/metis/README.md"
        text = (records.ROOT / path).read_text(encoding="utf-8")
        for number in ("| 4.71 |", "2.5 and 3.4 on the GPU"):
            self.assertIn(number, text)
            self.assertNotEqual(faults(path, text.replace(number, number.replace("4", "5"))), [])
        self.assertEqual(len(faults(path, text + "\n| a | b |\n|---|---|\n| c | 1.5 |\n")), 1)


if __name__ == "__main__":
    unittest.main()
