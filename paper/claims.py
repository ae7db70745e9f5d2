#!/usr/bin/env python3
"""Scoreboard: every statement of the paper against the records.

claims.toml says what is measured and what the paper states, rules.py how that is judged. Both were frozen on 22 November
2026, after a first set of measurements of 21 November and before those of 22 November (frozen.txt has a digest of each claim,
frozen_rules.txt the rules of then). evidence.toml has what came after:
which records count, the verdict that each claim got, why it differs, and every change of the judgement since, with its time
and the claims that it touched.
"""

import argparse
import collections
import json
import os
import shutil
import sys
import textwrap
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "plots"))

import records  # noqa: E402
import junit  # noqa: E402
from claim_files import ClaimFile, Evidence, judgement, read_frozen  # noqa: E402
from language import documentation  # noqa: E402
from rules import (BASES, DIRECTION_ONLY, ELSEWHERE, INCOMPLETE, NOT_REPRODUCED, NOT_RUN, REPRODUCED, RULES,  # noqa: E402
                   SHAPE_ONLY, UNDECIDED, VERDICTS, WEIGHED)
from terminal_text import printable  # noqa: E402
from verdicts import judge, number_text, shown  # noqa: E402

ROOT = HERE.parent
OK, DIFFERS, BAD_INPUT, FAILED = 0, 1, 2, 4
WIDE, WIDEST, ID = 140, 180, 36  # columns: least for a claim on one line; least for its id, too; of the id
COLOURS = {REPRODUCED: "32", SHAPE_ONLY: "33", DIRECTION_ONLY: "35", UNDECIDED: "33", NOT_REPRODUCED: "31", INCOMPLETE: "2",
           NOT_RUN: "2", ELSEWHERE: "2", "bold": "1"}  # of a terminal


class Board:
    """All claims of a file, judged.

    item: only claims of this experiment, or of these experiments. given: {name: files and folders} that replace the records that
    [records] names. tests: a JUnit file of ctest that replaces the test results of this tree and of [tests].
    """

    def __init__(self, file=HERE / "claims.toml", item="", given=None, tests=None, evidence=None, frozen=None):
        given = given or {}
        self.file = ClaimFile(file)
        self.evidence = Evidence(self.file, evidence or self.file.path.parent / "evidence.toml")
        frozen = Path(frozen or self.file.path.parent / "frozen.txt")
        self.frozen = read_frozen(frozen)
        rules = frozen.with_name("frozen_rules.txt")
        self.frozen_rules = rules.read_text(encoding="utf-8") if rules.exists() else RULES
        for name in given:
            if name not in self.evidence.records:
                raise records.Refused(f"--records {name}=...: expected NAME=PATH with a NAME of [records]")
        self.sources = {name: given.get(name) or [ROOT / p for p in paths] for name, paths in self.evidence.records.items()}
        items = [item] if isinstance(item, str) else list(item)
        known = list(dict.fromkeys(c.item for c in self.file.claims))
        for name in filter(None, items):
            if name not in known:
                raise records.Refused(f"no claim belongs to '{name}'; there are {', '.join(known)}")
        claims = [c for c in self.file.claims if not any(items) or c.item in items]
        if not claims:
            raise records.Refused("there are no claims")
        if tests:
            self.tests = [junit.TestRun(tests)]
        else:
            self.tests = junit.of_this_tree(ROOT) + [junit.TestRun(ROOT / p) for p in self.evidence.tests]
        self.read = {}
        self.fixed_at = self.evidence.content.get("judgement", {}).get("fixed_at", "")
        self.judged = [self.judge(c) for c in claims]

    def judge(self, claim):
        measured = self.measured(claim.records) if claim.measure else None
        population = self.population(claim.records) if claim.measure else None
        try:
            j = judge(claim, measured, self.tests, population)
        except records.Refused as e:
            raise records.Refused(f"{self.file.path}: {e}") from e
        if measured and j.verdict in WEIGHED:
            j.changed = self.evidence.times_of(claim.id)
            fixed_at = max([self.fixed_at, *j.changed])
            j.older = [m for m in j.value.measured if j.value.machines[m].older(m, fixed_at)]
        j.why = " ".join(self.evidence.stated.get(claim.id, {}).get("why", "").split())
        return j

    def measured(self, name):
        """records.Measured of one entry of [records]."""
        if name not in self.read:
            self.read[name] = records.Measured(self.sources[name])
        return self.read[name]

    def population(self, name):
        """records.Measured of one entry of [population], or None."""
        if name not in self.evidence.population:
            return None
        key = f"population {name}"
        if key not in self.read:
            self.read[key] = records.Measured([ROOT / p for p in self.evidence.population[name]], population=True)
        return self.read[key]

    def numbers(self):
        """[numbers], evaluated over the records "paper"."""
        out = []
        for name, expression in sorted(self.evidence.numbers.items()):
            v = expression.evaluate(self.measured("paper"))
            line = {"number": name, "matrices": len(v.measured)}
            out.append(line | {"value": v.value} if isinstance(v.value, float) else line)
        return out

    def score(self):
        """{verdict: {basis: claims}}, and {verdict: claims} over the population, without those that our own plan of memory
        decides there too."""
        bases = collections.defaultdict(collections.Counter)
        for j in self.judged:
            bases[j.verdict][j.basis] += 1
        return bases, collections.Counter(j.over_verdict for j in self.judged
                                          if j.over_verdict and not j.claim.expression.planned)

    def older(self):
        """How many claims were judged at least partly on records that are older than the last change of their judgement."""
        return sum(1 for j in self.judged if j.older)

    def changed(self):
        """[(claim, what)] of those that are not judged as was frozen, whatever became of the rules; what: changed, new or
        dropped."""
        now = {c.id: c.digest(self.frozen_rules) for c in self.file.claims}
        gone = [(name, "dropped") for name in self.frozen if name not in now]
        return gone + [(name, "changed" if name in self.frozen else "new") for name, digest in now.items()
                       if self.frozen.get(name) != digest]

    def problems(self):
        """Lines that say where evidence.toml states another verdict than the records, or gives no reason where they differ,
        and which changes of the judgement it does not own up to."""
        found = []
        for j in self.judged:
            stated = self.evidence.stated.get(j.claim.id, {})
            for key, verdict, text in (("verdict", j.verdict, j.reason if j.claim.test and j.reason else j.measured_text()),
                                       ("population", j.over_verdict, shown(j.over) if j.over else "-")):
                if stated.get(key, "") != verdict:
                    found.append(f"{j.claim.id}: evidence.toml states the {key} '{stated.get(key, '')}', the records say "
                                 f"'{verdict}' ({text})")
            if not j.why and j.verdict in (SHAPE_ONLY, DIRECTION_ONLY, NOT_REPRODUCED):
                found.append(f"{j.claim.id} has no reason why it differs")
        owned = {c for change in self.evidence.changes for c in change["claims"]}
        changed = dict(self.changed())
        found += [f"{name} was {what} since the judgement was frozen, and no [[change]] says why"
                  for name, what in changed.items() if name not in owned]
        known = {c.id for c in self.file.claims} | set(self.frozen)
        found += [f"[[change]] names '{name}', which is no claim" for name in sorted(owned - known)]
        last = self.evidence.changes[-1].get("judgement", "") if self.evidence.changes else ""
        if (changed or self.frozen_rules != RULES) and last != judgement(self.file):
            found.append(f"rules or claims are not those of the last [[change]]: one with judgement = \"{judgement(self.file)}\" "
                         "has to say what was changed, why, and which claims it touched")
        return found

    def text(self, width=WIDE, colour=False):
        """Statements with verdicts, the verdicts by kind, and where the measurements come from; lines of `width` columns."""
        lines, item = [], ""
        if width >= WIDE:
            lines = [f"  {'verdict':<20}{'the paper says':<{statement_room(width)}} {'paper':>19}  {'here':<24} "
                     f"{'on real matrices':<21}{'claim' if width >= WIDEST else ''}"]
        for j in self.judged:
            if j.claim.item != item:
                item = j.claim.item
                lines += [""] * bool(lines) + [painted(printable(item), "bold", colour)]
            lines += statement(j, width, colour)
        bases, over = self.score()
        shown_bases = [b for b in BASES if any(counts[b] for counts in bases.values())]
        cell = max(len(b) for b in (*shown_bases, "population")) + 2
        cell = min(cell, max(5, (width - 28) // (len(shown_bases) + 1)))
        lines += ["", f"{len(self.judged)} claims", f"{'':<21}{'all':>5}" +
                  "".join(f"{b[:cell - 1]:>{cell}}" for b in (*shown_bases, "population"))]
        for verdict in VERDICTS:
            if bases[verdict] or over[verdict]:
                counts = [bases[verdict][b] or "" for b in shown_bases] + [over[verdict] or ""]
                lines.append(painted(f"{verdict:<21}", verdict, colour) + f"{sum(bases[verdict].values()):>5}" +
                             "".join(f"{n:>{cell}}" for n in counts))
        ends = [f"records '{name}': {self.measured(name).machine()}" for name in sorted(self.sources)
                if self.measured(name).runs]
        ends += [f"population '{name}': {len(self.population(name).matrices())} matrices, {self.population(name).machine()}"
                 for name in sorted(self.evidence.population)]
        ends += [f"tests: {origin}" for origin in dict.fromkeys(j.tested for j in self.judged if j.tested)]
        changed = self.changed()
        touched = sum(1 for j in self.judged if j.changed)
        ends.append(f"judgement: {len(changed)} claims changed, dropped or new since it was frozen; changes of claims, rules and the "
                    f"selection of records touched {touched}; {self.older()} rest at least partly on records that are older than "
                    "the last change of their judgement")
        lines += [""] + [line for text in ends for line in textwrap.wrap(printable(text), width, subsequent_indent="  ")]
        return "\n".join(line.rstrip() for line in lines) + "\n"


def shortened(text, width):
    """Text in `width` columns, cut at a word with an ellipsis."""
    text = printable(" ".join(text.split()))
    if len(text) <= width:
        return text
    cut = text[:max(1, width - 1)]
    return (cut.rsplit(" ", 1)[0] if " " in cut[width // 2:] else cut) + "…"


def painted(text, verdict, colour):
    """Text in the colour of a verdict; without colour as it is."""
    return f"\x1b[{COLOURS[verdict]}m{text}\x1b[0m" if colour and verdict in COLOURS else text


def statement(j, width, colour):
    """Lines of one claim: verdict, what the paper says, its number and the one measured; in two lines where there is little
    room. The id follows where there is room for it."""
    verdict = painted(f"{j.verdict:<20}", j.verdict, colour)
    unit = f" {j.claim.unit}" if j.claim.unit and not isinstance(j.claim.paper, str) else ""
    there = f"real matrices: {j.over_verdict}" if j.over_verdict else ""
    if width < WIDE:
        room = max(12, width - 22)
        numbers = f"paper {number_text(j.claim.paper)}{unit}, here {j.measured_text()}"
        return [f"  {verdict}{shortened(j.claim.says, room)}",
                *(f"{'':22}{line}" for line in textwrap.wrap(printable("; ".join(filter(None, (numbers, there)))), room))]
    numbers = f"{shortened(number_text(j.claim.paper) + unit, 19):>19}  {shortened(j.measured_text(), 24):<24}"
    name = shortened(j.claim.id, ID) if width >= WIDEST else ""
    room = statement_room(width)
    return [f"  {verdict}{shortened(j.claim.says, room):<{room}} {numbers} {j.over_verdict:<21}{name}"]


def statement_room(width):
    """Columns for the statement of the paper if a claim fits on one line."""
    return width - 22 - 47 - 22 - (ID if width >= WIDEST else 0)


def json_text(board):
    """One JSON line for each claim, then for each of [numbers]."""
    lines = [j.as_json() for j in board.judged] + board.numbers()
    return "".join(json.dumps(line, separators=(",", ":"), ensure_ascii=False) + "\n" for line in lines)


def stated_text(board):
    """The [[verdict]] tables that the records give, with the reasons that are known."""
    out = []
    for j in board.judged:
        out.append(f'[[verdict]]\nid = "{j.claim.id}"\nverdict = "{j.verdict}"')
        if j.over_verdict:
            out.append(f'population = "{j.over_verdict}"')
        if j.why:
            out.append(f"why = {json.dumps(j.why, ensure_ascii=False)}")
        out.append("")
    return "\n".join(out)


def on_terminal(board):
    """The text in the columns of the terminal, or of COLUMNS, in colour where it is one and NO_COLOR is not set."""
    terminal = sys.stdout.isatty()
    width = shutil.get_terminal_size((WIDEST, 24)).columns if terminal or os.environ.get("COLUMNS") else WIDEST
    colour = terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return board.text(max(60, width), colour)


class Parser(argparse.ArgumentParser):
    """An error is one line."""

    def error(self, message):
        raise records.Refused(message)


def main(arguments=None):
    """Exit status: 0, 1 if --check finds a verdict that is not what the records say, 2 for bad input."""
    p = Parser(prog="claims", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
               epilog="The rules:\n\n" + RULES + "\nThe language of `measure` in claims.toml:\n\n" + documentation())
    p.add_argument("--claims", metavar="FILE.toml", default=HERE / "claims.toml",
                   help="default: paper/claims.toml; evidence.toml and frozen.txt are read from the same folder")
    p.add_argument("--item", "--only", metavar="NAME", action="append", default=[],
                   help="only claims of this experiment; may be repeated")
    p.add_argument("--records", metavar="NAME=PATH", nargs="+", action="extend", default=[],
                   help="other records than those that evidence.toml names; may be repeated")
    p.add_argument("--tests", metavar="FILE.xml", help="JUnit file of ctest; default: build/*/tests.xml of this commit, "
                   "then the committed run that evidence.toml names")
    how = p.add_mutually_exclusive_group()
    how.add_argument("--json", action="store_true", help="one JSON line each")
    how.add_argument("--stated", action="store_true", help="the [[verdict]] tables of evidence.toml as the records have them")
    how.add_argument("--freeze", action="store_true", help="the lines of frozen.txt: a digest of how each claim is judged")
    p.add_argument("--check", action="store_true", help="fail if a stated verdict is not what the records say")
    try:
        args = p.parse_args(arguments)
        given = collections.defaultdict(list)
        for text in args.records:
            name, _, path = text.partition("=")
            given[name].append(path)
        if args.freeze:
            text = "".join(f"{c.id} {c.digest()}\n" for c in ClaimFile(args.claims).claims)
        else:
            board = Board(args.claims, args.item, given, args.tests)
            text = json_text(board) if args.json else stated_text(board) if args.stated else on_terminal(board)
    except records.Refused as e:
        print(f"claims: error: {printable(e)}", file=sys.stderr)
        return BAD_INPUT
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError:
        print("claims: error: standard output: cannot write", file=sys.stderr)
        return FAILED
    problems = board.problems() if args.check else []
    for line in problems:
        print(printable(line), file=sys.stderr)
    return DIFFERS if problems else OK


if __name__ == "__main__":
    sys.exit(main())
