"""What the tests of the expressions share: records in a folder of their own."""

import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import language  # noqa: E402
import records  # noqa: E402
import records_example as example  # noqa: E402

SETS = {"all": ["BB", "BC", "TT"], "small": ["BB", "BC"], "large": ["TT"]}


class ExpressionTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    def measured(self, *runs):
        return records.Measured([example.write(self.folder / "records.jsonl", *runs)])

    def times(self):
        """time(x) of BB, BC: 1, 4; of TT nothing. time(y) is 2 everywhere; with k=7 it is 7."""
        y = {"variant": "y", "samples_s": [2], "options": {"k": 1}}
        return self.measured(example.run(matrix="BB", variant="x", samples_s=[1]),
                             example.run(matrix="BC", variant="x", samples_s=[4]),
                             *(example.run(matrix=m, **y) for m in SETS["all"]),
                             example.run(matrix="BB", variant="z", samples_s=[7], options={"k": 7}))

    def value(self, text, **definitions):
        return language.Expression(text, definitions, SETS).evaluate(self.times())

    def assert_refused(self, call, *mention):
        with self.assertRaises(records.Refused) as raised:
            call()
        for text in mention:
            self.assertIn(text, str(raised.exception))
        self.assertNotIn("\n", str(raised.exception))
