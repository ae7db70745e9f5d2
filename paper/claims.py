#!/usr/bin/env python3
"""Does the paper hold? Ten questions and an appendix, judged from the committed records.

questions.toml and claims.toml say what is compared, measure.py how it is measured, rules.py how it is judged, evidence.toml which
records count. Exit status 1 if --check finds that answers.json, what README and report print, is not what the records say.
"""

import argparse
import json
import math
import os
import shutil
import sys
import textwrap
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path[:0] = [str(HERE), str(ROOT / "plots")]

import measure  # noqa: E402
import records  # noqa: E402
import rules  # noqa: E402
from terminal_text import printable  # noqa: E402

OK, DIFFERS, BAD_INPUT, FAILED = 0, 1, 2, 4
ANSWERS = HERE / "answers.json"
KEYS = {"id", "says", "where", "item", "paper", "unit", "direction", "effect", "combine", "quantity", "over", "under", "matrix",
        "named", "untested", "records"}
COLOURS = dict(zip(rules.WORDS, ("32", "33", "31", "2")))  # of a terminal
WITHOUT = "the paper's matrix is not here"


def checked(s, place):
    """Refused if a statement lacks something or has something unknown."""
    quantity = s.get("quantity", "")
    judged = not {"untested", "named"} & set(s)
    for fault, why in ((set(s) - KEYS, f"unknown key '{min(set(s) - KEYS, default='')}'"),
                       (not {"id", "says"} <= set(s), "no 'id' or 'says'"), (judged and not quantity, "no 'quantity'"), (quantity and "over" not in s, "no 'over'"),
                       (quantity and quantity not in measure.FORMULAS and quantity.partition(":")[0] not in measure.OF_LINES,
                        f"no quantity '{quantity}'"),
                       (any(isinstance(s.get(side, {}).get("best_of"), str) for side in ("over", "under")), "'best_of' is no list"),
                       (s.get("effect", "ratio") not in rules.EFFECTS, "no such effect"),
                       (s.get("combine", "median") not in measure.COMBINE, "no such combination"),
                       (judged and quantity == "simulated", "a simulated value has no verdict: 'untested' is needed"),
                       (judged and ("paper" in s) == ("direction" in s), "either 'paper' or 'direction' is needed")):
        if fault:
            raise records.Refused(f"{place}: statement '{s.get('id', '?')}': {why}")


def sources_of(path=HERE / "evidence.toml"):
    """{entry of [records]: files and folders}; a pattern may have no match yet."""
    table = records.read_toml(path).get("records", {})
    return {name: [p for pattern in table.get(name, ()) for p in sorted(ROOT.glob(pattern))]
            for name in ("judgement", "simulator")}


class Judge:
    """Questions and appendix, judged. sources: {entry: files and folders}, by default those of evidence.toml."""

    def __init__(self, sources=None, questions=HERE / "questions.toml", claims=HERE / "claims.toml"):
        self.measured = {name: measure.Measured(files) for name, files in (sources_of() if sources is None else sources).items()}
        known = {name: kind for m in self.measured.values() for name, kind in m.kinds.items()}
        large = {name for m in self.measured.values() for name in m.large}
        for m in self.measured.values():
            m.kinds, m.large = known, large  # profiles and simulated schedules name matrices alone
        self.questions, appendix = [], records.read_toml(claims)
        for q in records.read_toml(questions)["question"]:
            statements = [self.statement(s, questions) for s in q.pop("statement")]
            self.questions.append(q | {"word": rules.weakest([s["word"] for s in statements]), "statements": statements})
        self.appendix = [self.statement(c, claims) for c in appendix["claim"]]

    def statement(self, s, place):
        """The statement with its Found by kind, a word and the reason for it."""
        checked(s, place)
        kinds, untested = {}, WITHOUT if "named" in s else s.get("untested", "")
        measured = self.measured.get(s.get("records", "judgement"))
        if measured and "quantity" in s:
            try:
                kinds = self.by_kind(s, measured)
            except records.Refused as e:
                untested = untested or str(e)
        s = s | {"kinds": kinds}
        return s | dict(zip(("word", "reason"), (rules.UNTESTED, untested) if untested else by_numbers(s)))

    @staticmethod
    def by_kind(s, measured):
        """{kind: Found}; "real" has the original, too, and LARGE the large ones of these. A statement about bcsstk18 has it and its
        stand-in alone."""
        values, out = measured.values(s), {}
        names = {m for _, m in values if "matrix" not in s or m in measure.PAIR}
        for kind in rules.KINDS:
            of = {m for m in names if (k := measured.kinds.get(m, "real")) == kind or (kind, k) == (rules.JUDGED, "original") and "matrix" not in s}
            widen = measure.pair_factor(s, values) if kind == "stand-in" and s.get("effect", "ratio") in ("ratio", "size") else 1
            if of and (found := measure.combined(s, values, of, widen)).n:
                out[kind] = found
            if kind == rules.JUDGED and 0 < len(of & measured.large) < len(of):
                out[rules.LARGE] = measure.combined(s, values, of & measured.large)
        return out

    def as_json(self):
        """Questions and appendix as plain data."""
        def plain(s):
            return {k: v for k, v in s.items() if k != "kinds"} | {"kinds": {k: f.as_json() for k, f in s["kinds"].items()}}
        return {"table": ten_rows(self.questions), "count": count_text(self.questions),
                "questions": [q | {"statements": [plain(s) for s in q["statements"]]} for q in self.questions],
                "appendix": [plain(s) for s in self.appendix]}


def answers_text(judge):
    """Table and questions, as answers.json has them."""
    return json.dumps({k: v for k, v in judge.as_json().items() if k != "appendix"}, indent=1, ensure_ascii=False) + "\n"


def is_current(judge):
    """True if answers.json is what the records say."""
    return ANSWERS.exists() and ANSWERS.read_text(encoding="utf-8") == answers_text(judge)


def printed(entry):
    """An entry of answers.json: the ten rows of its table, or the count of questions that do not hold."""
    return json.loads(ANSWERS.read_text(encoding="utf-8"))[entry]


def number(x):
    """Three digits, four near 1, thousands with commas."""
    if x == round(x) or abs(x) >= 1000:
        return f"{x:,.0f}"
    return f"{x:#.{4 if 0.9 < x < 1.1 else 3}g}".rstrip(".")


def value_text(found, s):
    """12.6 (10.1 to 15.2), at least 16.6 (from 9.0), 91 of 91."""
    return " ".join(filter(None, (center_text(found, s), f"({interval_text(found)})" if found and interval_text(found) else "")))


def center_text(found, s):
    if found is None:
        return "(not measured)"
    if s.get("combine") == "all":
        return f"{round(found.value * found.n)} of {found.n}"
    return ("", "at least ", "about ", "at most ")[found.bound] + number(found.value) + (f" {s['unit']}" if "unit" in s else "")


def interval_text(found):
    if math.isnan(found.low) or found.low == found.high or (found.low, found.high) == (0, math.inf):
        return ""
    return f"from {number(found.low)}" if found.high == math.inf else f"{number(found.low)} to {number(found.high)}"


def paper_text(s):
    """What the paper states: 13.01, all, > 1."""
    if s.get("combine") == "all" or "paper" not in s:
        sign = {"above": "> ", "below": "< "}.get(s.get("direction"))
        return "all" if "paper" in s else f"{sign}{rules.EFFECTS[s.get('effect', 'ratio')]:g}" if sign else ""
    return f"{s['paper']:,}" + (f" {s['unit']}" if "unit" in s else "")


def ten_rows(questions):
    """Does the paper hold? (question, the paper's number, ours on real matrices with its interval, word) of each question."""
    def row(q):
        text, name = q["row"]
        s = next(s for s in q["statements"] if s["id"] == name)
        found = main_found(s)
        three = float(f"{s.get('paper', 0):.3g}")
        paper = paper_text(s | ({"paper": int(three) if three >= 100 else three} if "paper" in s else {})) or "-"
        return f"{q['id']} {text}", paper, value_text(found, s) if found else "not measured", q["word"]
    return [row(q) for q in questions]


def by_numbers(s):
    """(word, reason) of a statement by its numbers alone: the lower word of the matrices that decide and of the large ones."""
    large, least = s["kinds"].get(rules.LARGE), 1 if "matrix" in s else rules.LEAST_MATRICES
    words = dict(rules.word(found, s.get("paper"), s.get("direction"), s.get("effect", "ratio"), s.get("combine") == "all", least)
                 for found in ([large] if large and large.n >= least else []) + [main_found(s)])
    return (word := rules.weakest(words)), words[word]


def count_text(questions):
    """Which questions do not hold, and which do not by their numbers alone."""
    def ids(found):
        return ", ".join(str(q["id"]) for q in found) or "none"
    bare = [q for q in questions if q["word"] == rules.NOT or q["word"] == rules.UNTESTED and any(
        {"paper", "direction"} & set(s) and s["kinds"] and by_numbers(s)[0] == rules.NOT for s in q["statements"])]
    return f"Questions that do not hold: {ids([q for q in questions if q['word'] == rules.NOT])}; by their numbers alone: {ids(bare)}."


def main_found(s):
    """What the verdict rests on."""
    return s["kinds"].get("original" if "matrix" in s else rules.JUDGED)


def row_of(s):
    """(what the paper says, its number, ours on real matrices, n, hosts, word, other kinds, reason) of a statement."""
    found = main_found(s)
    others = [f"{k} {value_text(f, s)}, n = {f.n}" for k, f in s["kinds"].items() if f is not found]
    return (s["says"], paper_text(s), value_text(found, s) if "quantity" in s else "", str(found.n) if found else "",
            str(found.hosts or "-") if found else "", s["word"], "; ".join(others), s["reason"])


def sections(judge, item=None, question=None, appendix=False):
    """[(title, word, statements)]: questions, then items of the appendix."""
    out = [] if appendix else [(f"{q['id']}. {q['text']}", q["word"], q["statements"]) for q in judge.questions
                               if question in (None, q["id"]) and (item is None or item in q["items"])]
    items = dict.fromkeys(s["item"] for s in judge.appendix if (appendix or item) and item in (None, s["item"]))
    return out + [(name, "", [s for s in judge.appendix if s["item"] == name]) for name in items]


def table(parts, kinds, width, colour):
    """Lines of the terminal. kinds: those without a verdict, too."""
    room = width - 78

    def line(what, paper="", here="", n="", hosts="", word="", indent=0):
        first, *rest = textwrap.wrap(printable(what), room - 4, initial_indent=" " * indent) or [""]
        painted = f"\x1b[{COLOURS[word]}m{word}\x1b[0m" if colour and word else word
        return [f"{first:<{room}} {paper:>10}  {here:<25}{n:>4}{hosts:>6}  {painted}".rstrip(), *("    " + r for r in rest)]
    lines = line("", "paper", "real matrices", "n", "hosts", "verdict")
    for title, word, statements in parts:
        lines += ["", *line(title, word=word)]
        for s in statements:
            says, paper, here, n, hosts, word, _, reason = row_of(s)
            lines += line(says, paper, here, n, hosts, word, 2)
            if reason and word == rules.UNTESTED:
                lines += textwrap.wrap(printable(f"({reason})"), width, initial_indent="    ", subsequent_indent="    ")
            for kind, f in s["kinds"].items():
                if f is not main_found(s) and (kinds or kind == rules.LARGE):
                    lines += line(kind, "", value_text(f, s), str(f.n), str(f.hosts), indent=4)
    return lines


def text_of(judge, args, width, colour):
    """What the terminal shows."""
    if not (args.appendix or args.item or args.question or args.kinds):
        rows = [("question about the paper's search on a GPU", "paper", "here, real matrices", "", ""),
                *((*r[:3], COLOURS[r[3]] if colour else "", r[3]) for r in ten_rows(judge.questions))]
        said = "In detail: --question N, --kinds, --appendix. A value is followed by its 95 % interval; rules: --help."
        return "\n".join([*(f"{what:<70} {paper:>10}  {here:<27} " + (f"\x1b[{c}m{word}\x1b[0m" if c else word) for what, paper, here, c, word in rows),
                          "", count_text(judge.questions), said]) + "\n"
    parts = sections(judge, args.item, args.question, args.appendix)
    return "\n".join(table(parts, args.kinds or args.question, width, colour)) + "\n"


def main(arguments=None):
    p = argparse.ArgumentParser(description=__doc__, epilog=rules.text(), formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--kinds", action="store_true", help="every statement of the questions, on every kind of matrix")
    p.add_argument("--question", type=int, metavar="N", help="one question, with all kinds")
    p.add_argument("--item", metavar="NAME", help="questions and appendix of one experiment, as fig10_fill2")
    p.add_argument("--appendix", action="store_true", help="what else the paper states")
    p.add_argument("--records", type=Path, action="append", help="judge these files and folders, not those of evidence.toml")
    how = p.add_mutually_exclusive_group()
    how.add_argument("--json", action="store_true", help="everything as JSON")
    how.add_argument("--check", action="store_true", help="compare answers.json with the records")
    how.add_argument("--write", action="store_true", help="write answers.json")
    try:
        args = p.parse_args(arguments)
        sources = sources_of()
        if args.records:
            sources["judgement"] = args.records
        judge = Judge(sources)
        if not sections(judge, args.item, args.question, args.appendix):
            raise records.Refused(f"nothing belongs to '{args.item}'" if args.item else f"there is no question {args.question}")
        if args.write:
            ANSWERS.write_text(answers_text(judge), encoding="utf-8")
        if args.check and not is_current(judge):
            print("claims: error: answers.json is not what the records say; --write brings it up to date", file=sys.stderr)
            return DIFFERS
        if args.json:
            sys.stdout.write(json.dumps(judge.as_json(), indent=1, ensure_ascii=False) + "\n")
        else:
            colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
            sys.stdout.write(text_of(judge, args, max(100, min(shutil.get_terminal_size((140, 24)).columns, 160)), colour))
        sys.stdout.flush()
    except records.Refused as e:
        print(f"claims: error: {printable(e)}", file=sys.stderr)
        return BAD_INPUT
    except OSError as e:
        print(f"claims: error: {e.filename or 'standard output'}: cannot read or write", file=sys.stderr)
        sys.stdout = open(os.devnull, "w")
        return FAILED
    return OK


if __name__ == "__main__":
    sys.exit(main())
