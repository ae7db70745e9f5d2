"""Tests of the artifact: the container runs what the README shows."""

import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent


class Container(unittest.TestCase):
    def test_it_runs_the_commands_of_the_readme(self):
        shown = (ROOT / "README.md").read_text(encoding="utf-8").split("```console\n")[1].split("```")[0].replace("\\\n", " ")
        commands = [" ".join(line.split("#")[0].split())[2:] for line in shown.splitlines() if line.startswith("$ ")]
        text = (HERE / "Containerfile").read_text(encoding="utf-8")
        run = [" ".join(line.removeprefix("RUN ").split()) for line in text.splitlines() if line.startswith("RUN ./testbed gsofa")]
        self.assertEqual(len(commands), 2)
        self.assertEqual(run, commands)


if __name__ == "__main__":
    unittest.main()
