"""Tests of record.schema.json: every committed record fits it. Exit status 77 if the records were not validated
for lack of the Python package jsonschema."""

import copy
import functools
import json
import sys
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SKIPPED = 77
sys.path.insert(0, str(ROOT / "experiments"))

import json_lines  # noqa: E402
import records_test as committed  # noqa: E402

try:
    import jsonschema
except ImportError:
    jsonschema = None

SCHEMA = json.loads((HERE / "record.schema.json").read_text(encoding="utf-8"))


@functools.cache
def lines():
    """(place, record) of every committed line."""
    files = [f for folder in ("records", "submissions") for f in json_lines.files_below(ROOT / "experiments" / folder)]
    return [(record.place, record) for path in files for record in json_lines.read(path)]


@unittest.skipUnless(jsonschema, "no Python package jsonschema: no record was validated against the schema")
class Validation(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        jsonschema.Draft202012Validator.check_schema(SCHEMA)
        cls.validator = jsonschema.Draft202012Validator(SCHEMA)

    def test_committed_records(self):
        every = lines()
        self.assertTrue(every)
        kinds = set()
        for place, record in every:
            error = next(self.validator.iter_errors(record), None)
            self.assertIsNone(error, error and f"{place}: {error.json_path}: {error.message}")
            kinds.add(record.get("kind", "profile" if "dram_gb_per_s" in record else "run"))
        self.assertEqual(kinds, {"run", "order", "sequence", "profile", "regret"})

    def test_faults_are_found(self):
        for good in (committed.GOOD, committed.GOOD_ORDER):
            self.assertTrue(self.validator.is_valid(good), [e.message for e in self.validator.iter_errors(good)])
            for path, value in (("threads", "1"), ("threads", None), ("git.sha", "abc"), ("matrix.n", 0), ("schema", 3),
                                ("matrix.kind", "unreal"), ("matrix.sha256", "abc"), ("host", ""), ("cpu", None),
                                ("status", "well"), ("samples_s", [-1.0]), ("result.nnz_l", 1.5), ("time_utc", "now")):
                self.assertFalse(self.validator.is_valid(committed.changed(path, value, good)), (path, value))
            self.assertFalse(self.validator.is_valid(copy.deepcopy(good) | {"colour": "red"}))
        self.assertTrue(self.validator.is_valid(committed.GOOD_SEQUENCE))
        step = committed.GOOD_STEP
        for wrong in (committed.changed("update_operations", None, step), step | {"change": "turned"}, step | {"colour": "red"}, step | {"update_s": 0}):
            self.assertFalse(self.validator.is_valid(committed.GOOD_SEQUENCE | {"steps": [step, wrong]}), wrong)
        self.assertFalse(self.validator.is_valid(committed.GOOD | {"kind": "other"}))

    def test_headers(self):
        header = committed.HEADER
        self.assertTrue(self.validator.is_valid(header), [e.message for e in self.validator.iter_errors(header)])
        for wrong in (header | {"schema": 1}, header | {"threads": 1}, committed.changed("git", None, header)):
            self.assertFalse(self.validator.is_valid(wrong), wrong)


def main():
    program = unittest.main(exit=False)
    if not program.result.wasSuccessful():
        return 1
    for _, reason in program.result.skipped:
        print(f"skipped: {reason}")
    return SKIPPED if program.result.skipped else 0


if __name__ == "__main__":
    sys.exit(main())
