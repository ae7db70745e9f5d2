"""Tests of record.schema.json: it names the fields that experiments/records_test.py asks for, and every committed record
fits it. Exit status 77 if the records were not validated for lack of the Python package jsonschema."""

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
TYPES = {int: {"integer"}, str: {"string"}, bool: {"boolean"}, float: {"number"}, (int, float): {"number"}, list: {"array"},
         dict: {"object"}}


def resolved(part):
    """A part of the schema, that which it refers to."""
    while "$ref" in part:
        part = SCHEMA["$defs"][part["$ref"].removeprefix("#/$defs/")]
    return part


def types_of(part):
    """The types that a part allows."""
    values = part.get("enum", [part["const"]] if "const" in part else [])
    if "type" not in part:
        return {{int: "integer", str: "string"}[type(v)] for v in values}
    return {part["type"]} if isinstance(part["type"], str) else set(part["type"])


def differences(fields, schema, where):
    """What differs between a table of records_test.py and an object of the schema, which may name more fields that may be
    absent."""
    schema, found = resolved(schema), []
    required = {name for name in fields if not name.endswith("?")}
    # Of a committed one all is needed that one needs which passed.
    asked = {*schema.get("required", ()), *schema.get("then", {}).get("required", ())}
    if required != asked:
        found.append(f"{where}: required are {sorted(required)} and {sorted(asked)}")
    for name, spec in fields.items():
        name = name.rstrip("?")
        path = f"{where}.{name}"
        part = resolved(schema["properties"].get(name, {}))
        if not part:
            found.append(f"{path}: not in the schema")
        elif isinstance(spec, dict) and "type" not in spec:
            found += differences(spec, part, path)
        elif types_of(part) != TYPES[spec["type"] if isinstance(spec, dict) else spec]:
            found.append(f"{path}: {spec} and {types_of(part)}")
    return found


class Fields(unittest.TestCase):
    def test_the_schema_names_what_the_records_test_asks_for(self):
        for fields, name in ((committed.FIELDS, "run"), (committed.ORDER, "order"), (committed.SEQUENCE, "sequence"),
                             (committed.STEP, "step"), (committed.GPU, "gpu")):
            self.assertEqual(differences(fields, SCHEMA["$defs"][name], name), [])

    def test_differences_are_found(self):
        run = SCHEMA["$defs"]["run"]
        more = committed.FIELDS | {"colour": str}
        self.assertTrue(any("run.colour" in d for d in differences(more, run, "run")))
        other = committed.FIELDS | {"threads": str}
        self.assertTrue(any("run.threads" in d for d in differences(other, run, "run")))
        fewer = {k: v for k, v in committed.FIELDS.items() if k != "host"}
        self.assertTrue(any("required" in d for d in differences(fewer, run, "run")))

    def test_every_key_of_a_committed_record_is_described(self):
        for place, record in lines():
            part = SCHEMA["$defs"][record.get("kind", "run")]
            self.assertEqual(set(record) - set(part["properties"]), set(), place)


@functools.cache
def lines():
    """(place, record) of every committed line that is a record; profiles of throughput are not."""
    files = json_lines.files_below(ROOT / "experiments" / "records")
    return [(record.place, record) for path in files for record in json_lines.read(path) if "dram_gb_per_s" not in record]


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
            kinds.add(record.get("kind", "run"))
        self.assertEqual(kinds, {"run", "order", "sequence"})

    def test_faults_are_found(self):
        for good in (committed.GOOD, committed.GOOD_ORDER):
            self.assertTrue(self.validator.is_valid(good), [e.message for e in self.validator.iter_errors(good)])
            for path, value in (("threads", "1"), ("threads", None), ("git.sha", "abc"), ("matrix.n", 0), ("schema", 3),
                                ("matrix.kind", "unreal"),
                                ("status", "well"), ("samples_s", [-1.0]), ("result.nnz_l", 1.5), ("time_utc", "now")):
                self.assertFalse(self.validator.is_valid(committed.changed(path, value, good)), (path, value))
            self.assertFalse(self.validator.is_valid(copy.deepcopy(good) | {"colour": "red"}))
        self.assertTrue(self.validator.is_valid(committed.GOOD_SEQUENCE))
        step = committed.GOOD_STEP
        for wrong in (step | {"change": "turned"}, step | {"colour": "red"}, step | {"update_s": 0}):
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
