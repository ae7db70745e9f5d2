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
    return re.search(r"\d", re.sub(r"\[.*?\]\(.*?\)|`.*?`", "", line))


def fits(line, found):
    """Whether a row of a document is the one found: all of it, or up to its last cell, which has no number."""
    return line == found or not found.endswith("|") and line.startswith(found)


class Documents(unittest.TestCase):
    maxDiff = None

    def test_numbers(self):
        for path, texts in numbers_records.DOCUMENTS.items():
            with self.subTest(path):
                text = (records.ROOT / path).read_text(encoding="utf-8")
                rows, parts = set(), []
                for found in texts():
                    rows.add(found) if found.startswith("|") else parts.append(found)
                flat = numbers_records.squeezed(text)
                self.assertEqual([p for p in parts if numbers_records.squeezed(p) not in flat], [])
                shown = {line for head, *lines in tables(text) if head not in numbers_records.FACTS[path] for line in lines if measured(line)}
                self.assertEqual([line for line in sorted(shown) if not any(fits(line, r) for r in rows)], [])
                self.assertEqual([r for r in sorted(rows) if not any(fits(line, r) for line in shown)], [])


if __name__ == "__main__":
    unittest.main()
