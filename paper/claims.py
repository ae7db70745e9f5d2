#!/usr/bin/env python3
"""Does the paper hold? Five sentences, ten questions and an appendix, judged from the committed records.

questions.toml and claims.toml say what is compared, measure.py how it is measured, rules.py how it is judged, evidence.toml which
records count. Exit status 1 if --check finds that answers.json, what README and report print, is not what the records say.
"""

import argparse
import json
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
WITHOUT = "cannot be tested without the matrix"


def checked(statement, place):
    """A statement; Refused names what it lacks or has too much."""
    def fail(why):
        raise records.Refused(f"{place}: statement '{statement.get('id', '?')}': {why}")
    if unknown := sorted(set(statement) - KEYS):
        fail(f"unknown key '{unknown[0]}'")
    if missing := [k for k in ("id", "says") if k not in statement]:
        fail(f"without '{missing[0]}'")
    quantity = statement.get("quantity")
    if quantity is None:
        if "untested" not in statement and "named" not in statement:
            fail("without 'quantity'")
        return statement
    if quantity not in measure.FORMULAS and quantity.partition(":")[0] not in measure.OF_LINES:
        fail(f"no quantity '{quantity}'")
    if "over" not in statement:
        fail("without 'over'")
    if statement.get("effect", "ratio") not in rules.EFFECTS or statement.get("combine", "median") not in measure.COMBINE:
        fail("no such effect or combination")
    if not {"untested", "named"} & set(statement) and ("paper" in statement) == ("direction" in statement):
        fail("either 'paper' or 'direction' is needed")
    return statement


def sources_of(path=HERE / "evidence.toml"):
    """{entry of [records]: files and folders}; a pattern may have no match yet."""
    table = records.read_toml(path).get("records", {})
    return {name: [p for pattern in table.get(name, ()) for p in sorted(ROOT.glob(pattern))] for name in ("judgement", "simulator")}


class Judge:
    """Questions and appendix, judged. sources: {entry: files and folders}, by default those of evidence.toml."""

    def __init__(self, sources=None, questions=HERE / "questions.toml", claims=HERE / "claims.toml"):
        sources = sources or sources_of()
        self.measured = {name: measure.Measured(files) for name, files in sources.items()}
        self.simulated = self.measured.get("simulator")
        self.questions = [self.question(q, questions) for q in records.read_toml(questions)["question"]]
        appendix = records.read_toml(claims)
        self.appendix = [self.statement(c, claims) for c in appendix["claim"]]
        self.findings = appendix.get("finding", [])

    def question(self, table, place):
        statements = [self.statement(s, place) for s in table["statement"]]
        counted = [s["word"] for s in statements]
        return {k: table[k] for k in ("id", "text", "where", "says")} | {"word": rules.weakest(counted), "statements": statements}

    def statement(self, s, place):
        """The statement with its Found by kind, a word and the reason for it."""
        checked(s, place)
        kinds, fault = {}, ""
        measured = self.measured.get(s.get("records", "judgement"))
        if measured and "quantity" in s:
            try:
                kinds = self.by_kind(s, measured)
            except records.Refused as e:
                fault = str(e)
        found = kinds.get("original" if "matrix" in s else rules.JUDGED)
        if "named" in s:
            word, reason = rules.UNTESTED, WITHOUT
        elif "untested" in s:
            word, reason = rules.UNTESTED, s["untested"]
        elif fault:
            word, reason = rules.UNTESTED, fault
        else:
            word, reason = rules.word(found, s.get("paper"), s.get("direction"), s.get("effect", "ratio"), s.get("combine") == "all",
                                      1 if "matrix" in s else rules.LEAST_MATRICES)
        return s | {"word": word, "reason": reason, "kinds": kinds}

    def by_kind(self, s, measured):
        """{kind: Found}; "real" has the original, too."""
        values, out = measured.values(s), {}
        names = {m for _, m in values}
        for kind in rules.KINDS:
            of = {m for m in names if (k := measured.kinds.get(m, "real")) == kind or (kind, k) == (rules.JUDGED, "original")}
            widen = measured.pair if kind == "stand-in" else 1 + rules.SIMULATED if s.get("quantity") == "simulated" else 1
            if s.get("effect", "ratio") not in ("ratio", "size"):
                widen = 1
            if of and (found := measure.found(s, values, of, widen)).n:
                out[kind] = found
        return out

    def as_json(self):
        """Questions and appendix as plain data."""
        def plain(s):
            return {k: v for k, v in s.items() if k != "kinds"} | {"kinds": {k: f.as_json() for k, f in s["kinds"].items()}}
        return {"sentences": five_sentences(self.questions),
                "questions": [q | {"statements": [plain(s) for s in q["statements"]]} for q in self.questions],
                "appendix": [plain(s) for s in self.appendix]}

    def answers(self):
        """What README, report and site print of the questions."""
        return {"sentences": five_sentences(self.questions),
                "questions": [{"id": q["id"], "word": q["word"], "statements": [
                    {"id": s["id"], "word": s["word"], "reason": s["reason"]} | {"kinds": {k: f.as_json() for k, f in s["kinds"].items()}}
                    for s in q["statements"]]} for q in self.questions]}


def answers_text(judge):
    return json.dumps(judge.answers(), indent=1, ensure_ascii=False) + "\n"


def is_current(judge):
    """True if answers.json is what the records say."""
    return ANSWERS.exists() and ANSWERS.read_text(encoding="utf-8") == answers_text(judge)


def printed_sentences():
    """The five sentences of answers.json."""
    return json.loads(ANSWERS.read_text(encoding="utf-8"))["sentences"]


def number(x):
    """Three digits, four near 1, thousands with commas."""
    if 0.9 < x < 1.1:
        return f"{x:.4g}"
    return f"{x:.3g}" if abs(x) < 1000 else f"{x:,.0f}"


def value_text(found, s, interval=True):
    """12.6 (10.1 to 15.2), at least 16.6, 91 of 91."""
    if found is None:
        return "(not measured)"
    if s.get("combine") == "all":
        return f"{round(found.value * found.n)} of {found.n}"
    unit = f" {s['unit']}" if "unit" in s else ""
    text = {1: "at least ", -1: "at most ", 2: "about ", 0: ""}[found.bound] + number(found.value) + unit
    if not interval or found.low != found.low or found.low == found.high:
        return text
    return f"{text} ({'-' if found.bound < 0 else number(found.low)} to {'-' if found.high == float('inf') else number(found.high)})"


def paper_text(s):
    if s.get("combine") == "all":
        return "all"
    none = rules.EFFECTS[s.get("effect", "ratio")] or 0
    return number(s["paper"]) + (f" {s['unit']}" if "unit" in s else "") if "paper" in s else \
        {"above": f"> {none:g}", "below": f"< {none:g}", None: ""}[s.get("direction")]


def five_sentences(questions):
    """Does the paper hold? Five sentences, every number of them from the records."""
    of = {s["id"]: s for q in questions for s in q["statements"]}
    word = {q["id"]: q["word"] for q in questions}

    def here(name, interval=True):
        return value_text(of[name]["kinds"].get(rules.JUDGED), of[name], interval)

    def paper(name):
        return paper_text(of[name])
    def verb(n, text):  # "2 hold in size"
        return f"{n} {text}" if n == 1 else f"{n} {text.replace('holds', 'hold').replace('does', 'do')}"
    counts = ", ".join(verb(sum(w == each for w in word.values()), each) for each in rules.WORDS)
    exact = [f for k, f in of["exact"]["kinds"].items() if k != "original"]  # which is among the real ones
    verified = f"{sum(round(f.value * f.n) for f in exact)} of {sum(f.n for f in exact)}"
    real = of["fill2_gpu"]["kinds"].get(rules.JUDGED)
    on = f", on {real.n} real matrices" if real else ""
    return [
        f"Of ten questions about the paper, judged on real matrices, {counts}.",
        f"The relaxed search is exact ({word[1]}): its result was verified on {verified} inputs.",
        f"Compared with the search on one GPU{on}: fill2 on the same GPU takes {here('fill2_gpu')} times as long "
        f"(the paper: {paper('fill2_gpu')}; {word[2]}), fill2 on 16 threads {here('fill2_cores')} ({paper('fill2_cores')}; {word[3]}), "
        f"GLU 3.0's set union on one core {here('set_union')} ({paper('set_union')}; {word[4]}), and pruned Gilbert-Peierls on one core, "
        f"which the paper does not compare, {here('gilbert_peierls')}.",
        f"Four GPUs take {here('superlu_four_gpus')} times as long as SuperLU_DIST on its best number of ranks (the paper, six GPUs: "
        f"{paper('superlu_four_gpus')}; {word[5]}); 44 nodes, where the paper is {paper('superlu_44_nodes')} times as fast, "
        f"{word[6].removesuffix(' here')} here.",
        f"Without value ranges the search takes {here('value_ranges')} times as long (the paper: {paper('value_ranges')}), without atomic "
        f"operations {here('atomics')}, with a queue for each source {here('one_queue')}, with a thread for each frontier {here('warps')} "
        f"({word[9]}); a sixteenth of the memory takes {here('budget')} times as long ({paper('budget')}; {word[10]}), and the search uses "
        f"{here('bandwidth_percent')} of the bandwidth of DRAM ({paper('bandwidth_percent')}; {word[8]}).",
    ]


def main_found(s):
    """What the verdict rests on."""
    return s["kinds"].get("original" if "matrix" in s else rules.JUDGED)


def row_of(s):
    """(what the paper says, its number, ours on real matrices, n, hosts, word, other kinds, reason) of a statement."""
    found = main_found(s)
    others = [f"{k} {value_text(f, s)}, n = {f.n}" for k, f in s["kinds"].items() if f is not found]
    return (s["says"], paper_text(s), value_text(found, s) if "quantity" in s else "", str(found.n) if found else "",
            str(found.hosts) if found else "", s["word"], "; ".join(others), s["reason"])


def rows_of(judge, kinds=False, only=None, appendix=False):
    """[(id, what, paper, here, n, hosts, word, reason)] of the terminal; a question first."""
    out = []
    for q in judge.questions if not appendix else ():
        if only in (None, q["id"]):
            out.append((str(q["id"]), q["text"], "", "", "", "", q["word"], ""))
            out += [row for s in q["statements"] for row in statement_rows(s, kinds)]
    for s in judge.appendix if appendix else ():
        out += statement_rows(s, kinds)
    return out


def statement_rows(s, kinds):
    row = row_of(s)
    others = [("", f"  {k}", "", value_text(f, s), str(f.n), str(f.hosts), "", "") for k, f in s["kinds"].items()
              if f is not main_found(s)]
    return [("", *row[:6], row[7])] + (others if kinds else [])


def table(rows, width, colour):
    """Lines of the terminal."""
    lines = [f"{'':<3}{'':<{max(20, width - 78)}} {'paper':>8}  {'real matrices':<25}{'n':>4}{'hosts':>6}  word"]
    for number_, what, paper, here, n, hosts, word, reason in rows:
        parts = textwrap.wrap(printable(what), max(20, width - 78)) or [""]
        if what.startswith("  "):
            parts = [what]
        text = f"\x1b[{COLOURS[word]}m{word}\x1b[0m" if colour and word else word
        lines += [""] * bool(number_)
        lines.append(f"{number_:<3}{parts[0]:<{max(20, width - 78)}} {paper:>8}  {here:<25}{n:>4}{hosts:>6}  {text}".rstrip())
        lines += [f"   {p}" for p in parts[1:]]
        if reason and word == rules.UNTESTED:
            lines += textwrap.wrap(printable(f"({reason})"), width, initial_indent="     ", subsequent_indent="     ")
    return lines


def text_of(judge, args, width, colour):
    """What the terminal shows."""
    lines = []
    if not args.appendix and args.question is None:
        for sentence in five_sentences(judge.questions):
            lines += textwrap.wrap(printable(sentence), width)
        lines.append("")
    lines += table(rows_of(judge, args.kinds or args.question is not None, args.question, args.appendix), width, colour)
    return "\n".join(lines) + "\n"


def main(arguments=None):
    p = argparse.ArgumentParser(description=__doc__, epilog=rules.text(), formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--kinds", action="store_true", help="all kinds of matrices, not real ones alone")
    p.add_argument("--question", type=int, metavar="N", help="one question, with all kinds")
    p.add_argument("--appendix", action="store_true", help="what else the paper states")
    p.add_argument("--records", type=Path, action="append", help="judge these files and folders instead of those of evidence.toml")
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
        if args.question is not None and args.question not in {q["id"] for q in judge.questions}:
            raise records.Refused(f"there is no question {args.question}")
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
