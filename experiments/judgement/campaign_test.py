#!/usr/bin/env python3
"""Tests of the campaign: its slices measure what the ten questions compare, or exceptions.tsv says why not."""
import csv
import functools
import re
import sys
import tomllib
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
MATRICES = ROOT / "experiments" / "matrices"
sys.path.append(str(HERE.parent))

from specs import read_tables  # noqa: E402


def read(name):
    return (HERE / name).read_text(encoding="utf-8")


def rows(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


@functools.cache
def slices():
    """{slice: its groups} of campaign.sh."""
    return {name: groups.split() for name, groups in re.findall(r'^    (\w+)\) .*groups="?([\w ]+)"? ;;$', read("campaign.sh"), re.M)}


@functools.cache
def machines():
    """{slice: its machine} of the table in campaign.md."""
    return {name: machine for machine, name in re.findall(r"^\| (\w+) \| `(\w+)` \|", read("campaign.md"), re.M)}


def settings(case, variant):
    """{setting: values} that a case gives to a variant; a setting that is absent has its default."""
    found = {"threads": [str(case.get("threads", 1))], "ranks": [str(case.get("ranks", 1))]}
    found["chunk_size"] = list(map(str, case.get("chunk_sizes", [])))
    for option in case.get("options", []):
        name, _, values = option.rpartition("=")
        of, _, key = name.rpartition(".")
        if of in ("", variant):
            found[key] = values.split(",")
    return found


def has(case, side, variant):
    """True if the case runs the variant in the setting of a side of a statement."""
    given = settings(case, variant)
    return variant in case["variants"] and all(str(v) in given[k] for k, v in side.items() if given.get(k) and k != "variant")


def measured(side, groups):
    """True if cases of the groups run every variant of a side."""
    variants = [side["variant"]] if isinstance(side["variant"], str) else side["variant"]
    cases = [c for c in read_tables(read("spec.toml")) if set(groups) & set(c.get("groups", ()))]
    return all(any(has(c, side, v) for c in cases) for v in variants)


def statements():
    questions = tomllib.loads((ROOT / "paper" / "questions.toml").read_text(encoding="utf-8"))["question"]
    return [s for q in questions for s in q["statement"]]


def covered(statement):
    """True if one machine measures both sides."""
    sides = [statement[k] for k in ("over", "under") if k in statement]
    if statement.get("quantity", "").startswith("profile:"):
        return "profile" in slices()["profile"]
    groups = {m: [g for name, of in slices().items() if machines()[name] == m for g in of] for m in machines().values()}
    return bool(sides) and statement.get("records", "judgement") == "judgement" and \
        any(all(measured(side, of) for side in sides) for of in groups.values())


class Campaign(unittest.TestCase):
    def test_every_statement_is_measured_or_excepted(self):
        excepted = {row["what"] for row in rows(HERE / "exceptions.tsv")}
        for s in statements():
            with self.subTest(statement=s["id"]):
                self.assertNotEqual(covered(s), s["id"] in excepted)

    def test_a_statement_that_no_slice_measures_is_found(self):
        side = {"variant": "cpu_fill2_parallel", "threads": 16}
        self.assertTrue(measured(side, slices()["search"]))
        self.assertFalse(measured(side | {"threads": 42}, slices()["search"]))
        self.assertFalse(measured(side, slices()["unions"]))

    def test_slices_of_the_program_and_of_the_page_agree(self):
        self.assertEqual(set(slices()), set(machines()))
        tables = read_tables(read("spec.toml")) + tomllib.loads(read("commands.toml"))["command"]
        known = {g for t in tables for g in t["groups"]}
        self.assertLessEqual({g for of in slices().values() for g in of}, known)

    def test_exceptions_name_records(self):
        for row in rows(HERE / "exceptions.tsv"):
            for name in row["rests on"].split():
                self.assertTrue(name == "-" or (ROOT / "experiments" / name).exists(), name)

    def test_profiled_files_are_listed(self):
        lists = {"real": HERE / "real.tsv", "fem_small": MATRICES / "fem" / "made.tsv", "kkt_small": MATRICES / "kkt.tsv"}
        for line in read("profiled.txt").splitlines():
            _, folder, name = line.split("/")
            self.assertIn(name.removesuffix(".mtx.gz"), {r["name"] for r in rows(lists[folder])})


if __name__ == "__main__":
    unittest.main()
