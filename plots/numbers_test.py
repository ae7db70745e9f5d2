"""Every number in a table of these documents, and those of some sentences, are those of the committed records: numbers_*.py."""

import re
import unittest

import numbers_library  # noqa: F401
import numbers_orders  # noqa: F401
import numbers_panels  # noqa: F401
import numbers_records
import numbers_rivals  # noqa: F401
import numbers_scaling  # noqa: F401
import numbers_studies  # noqa: F401
import records

A_NUMBER = re.compile(r"\d|\b(?:no|none|one|two|three|four|five|six|seven|eight|nine|ten|first|second|third|fourth|fifth|sixth|seventh)\b")
BETWEEN = r" (?:.{,160}? )??"


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


def stated(text):
    """The pattern of a part of a sentence: its numbers, each with the word behind it, in their order; what lies between is free."""
    words, kept = numbers_records.squeezed(text).split(" "), ""
    if not any(map(A_NUMBER.search, words)):
        return re.compile(re.escape(" ".join(words)))
    for k, word in enumerate(words):
        if A_NUMBER.search(word) or k and A_NUMBER.search(words[k - 1]):
            kept += ("" if not kept or kept.endswith(BETWEEN) else " ") + re.escape(word)
        elif kept and not kept.endswith(BETWEEN):
            kept += BETWEEN
    return re.compile(r"(?<![\d.,])" + kept.removesuffix(BETWEEN) + r"(?!\d)")


def faults(path, text):
    """Lines and parts of sentences of a document that differ from the records."""
    found = list(numbers_records.DOCUMENTS[path]())
    rows, flat = {f for f in found if f.startswith("|")}, numbers_records.squeezed(text)
    shown = {line for head, *lines in tables(text) if head not in numbers_records.FACTS[path] for line in lines if measured(line)}
    return [f"no record: {line}" for line in shown if not any(fits(line, r) for r in rows)] + \
        [f"absent: {r}" for r in rows if not any(fits(line, r) for line in shown)] + \
        [f"absent: {f}" for f in found if f not in rows and not stated(f).search(flat)]


class Documents(unittest.TestCase):
    maxDiff = None

    def test_numbers_are_those_of_the_records(self):
        for path in numbers_records.DOCUMENTS:
            with self.subTest(path):
                self.assertEqual(faults(path, (records.ROOT / path).read_text(encoding="utf-8")), [])

    def test_another_number_is_noticed(self):
        path = "harness/library/metis/README.md"
        text = (records.ROOT / path).read_text(encoding="utf-8")
        for number in ("| 4.71 |", "power grids 6 times as fast", "| 2.5, 3.4 |"):
            self.assertIn(number, text)
            self.assertNotEqual(faults(path, text.replace(number, re.sub("[46]", "5", number))), [])
        found = "takes 1.5 times as long, and 2 on two GPUs"
        self.assertTrue(stated(found).search("it takes 1.5 times the time of ours and 2 on two GPUs"))
        for other in ("takes 1.6 times as long, and 2 on two GPUs", "1.5 times, 3 on two GPUs", "1.5 times, 2 on three GPUs", "1.5 times"):
            self.assertIsNone(stated(found).search(other))
        self.assertEqual(len(faults(path, text + "\n| a | b |\n|---|---|\n| c | 1.5 |\n")), 1)


if __name__ == "__main__":
    unittest.main()
