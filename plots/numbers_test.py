"""Numbers of the documents are those of the committed records: every number in a table of measurements, and numbers of some sentences."""

import re
import unittest

import records
from numbers_table import CHECKS, FACTS

DOCUMENTS = {document for document, *_ in CHECKS} | {"harness/library/README.md", "variants/panels/README.md"}


def squeezed(text):
    return re.sub(r"\s+", " ", text)


def tables(text):
    """Lists of the lines of each table."""
    return [block.strip().splitlines() for block in re.findall(r"(?:^\|.*\n)+", text + "\n", re.M)]


def measured(line):
    """Whether a row of a table has a number outside of links and code."""
    return re.search(r"(?<![A-Za-z])\d", re.sub(r"\[.*?\]\(.*?\)|`.*?`", "", line))


def cells(row):
    return [cell.strip() for cell in row.strip("| ").split("|")]


def fits(line, found):
    """Whether a row of a document is the one found: its first cell, and its other cells that have numbers. A row that is found without
    its end says nothing about the cells behind it."""
    mine, theirs = cells(line), cells(found)
    mine = mine if found.endswith("|") else mine[:len(theirs)]
    return mine[0] == theirs[0] and list(filter(measured, mine[1:])) == list(filter(measured, theirs[1:]))


def stated(part, text):
    """Whether a text has the part of a sentence, with at most 160 characters for each … in it."""
    words = " .{,160}? ?".join(re.escape(squeezed(p).strip()) for p in part.split("…"))
    return re.search(r"(?<![\d.,])" + words + r"(?!\d)", squeezed(text))


def faults(document, text):
    """Rows and parts of sentences of a document that differ from the records."""
    shown = [line for head, *lines in tables(text) if not head.startswith(FACTS) for line in lines if measured(line)]
    known, found = set(), []
    for of, some, texts in CHECKS:
        rows = [t.lstrip("…") for t in texts if t.lstrip("…").startswith("|")] if of == document else []
        fitting = {r: {line for line in shown if fits(line, r)} for r in rows}
        known.update(*fitting.values())
        found += [f"absent: {r}" for r, lines in fitting.items() if not lines and not some]
        found += [f"no row of: {rows[0]}"] if some and rows and not any(fitting.values()) else []
        found += [f"absent: {t}" for t in texts if of == document and t.lstrip("…") not in rows and not stated(t, text)]
    return [f"no record: {line}" for line in shown if line not in known] + found


class Documents(unittest.TestCase):
    maxDiff = None

    def test_numbers_are_those_of_the_records(self):
        for document in DOCUMENTS:
            with self.subTest(document):
                self.assertEqual(faults(document, (records.ROOT / document).read_text(encoding="utf-8")), [])

    def test_another_number_is_noticed(self):
        path = "harness/library/metis/README.md"
        text = (records.ROOT / path).read_text(encoding="utf-8")
        for number in ("| 4.71 |", "power grids 6 times as fast", "| 2.5, 3.4 |"):
            self.assertIn(number, text)
            self.assertNotEqual(faults(path, text.replace(number, re.sub("[46]", "5", number))), [])
        self.assertEqual(len(faults(path, text + "\n| a | b |\n|---|---|\n| c | 1.5 |\n")), 1)
        self.assertTrue(stated("takes 1.5 times … and 2 on two GPUs", "it takes 1.5 times\nthe time of ours and 2 on two GPUs"))
        for other in ("takes 1.6 times … and 2", "takes 1.5 times … and 3", "akes 1.5 times … and 2 on two GPUs or"):
            self.assertIsNone(stated(other, "it takes 1.5 times the time of ours and 2 on two GPUs"))


if __name__ == "__main__":
    unittest.main()
