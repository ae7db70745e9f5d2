#!/usr/bin/env python3
"""Draws every figure that records have something for, and makes one page of them with the table of cases.

  results.py --records FILE... --figures FOLDER [--page FILE.html]

The page needs no other file. Exit status 1 if records do not allow a figure that they have runs for (the others are drawn
all the same), 2 for bad input, 3 if there is nothing to draw.
"""

import argparse
import collections
import contextlib
import io
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "plots"), str(HERE.parent / "plots" / "site")]

import summary  # noqa: E402
import pages  # noqa: E402
import records  # noqa: E402
import style  # noqa: E402
from terminal_text import printable  # noqa: E402


COMPARISON, HEADLINE = "compare", "headline"
COMMITTED = records.ROOT / "experiments" / "records"
NO_RUNS = ("race100",)  # a hundred runs each, to provoke races


def draw_all(sources, folder, baseline=""):
    """(drawn, absent, refused): each {figure: its description, or why not}. The headline comes first, the comparison of all
    variants and settings last; baseline: its own; Refused if there are no runs of it."""
    drawn, absent, refused = {}, {}, {}
    for name in sorted(style.figures(), key=lambda name: (name == COMPARISON, name != HEADLINE, name)):
        try:
            with contextlib.redirect_stderr(io.StringIO()):
                drawn[name] = style.draw_figure(name, sources, folder, **({"baseline": baseline} if name == COMPARISON else {}))
        except records.Absent as e:
            absent[name] = str(e)
        except records.Refused as e:
            if name == COMPARISON and baseline:
                raise
            refused[name] = str(e)
        except (ArithmeticError, LookupError, TypeError, ValueError) as e:
            refused[name] = f"{type(e).__name__}: {e}"
    return drawn, absent, refused


def grouped(reasons, sources):
    """[(reason, [figures])] of {figure: reason}, the commonest first; the names of the records are removed from the reasons."""
    out = collections.defaultdict(list)
    for name, why in reasons.items():
        out[re.sub(rf"{re.escape(records.named(sources))}(: | has )", "", why)].append(name)
    return sorted(out.items(), key=lambda item: -len(item[1]))


def same_case(run):
    """What two runs must share so that they can be compared, in addition to the settings that both have."""
    m = run["matrix"]
    return m["name"], m["n"], m["nnz"], run.get("ordering", {}).get("col", ""), run["variant"], tuple(sorted(run["wants"]))


def beside_committed(runs, committed):
    """Rows: each case of this machine and the last committed run of the same case: matrix, n, variant, settings, ms here, ms there,
    here over there, folder there. Settings that both runs name must be equal; threads are compared only for variants on
    processors. A committed run must use the same order of the matrix, by the name of the order."""
    known = collections.defaultdict(list)
    for r in committed:
        if records.is_usable(r) and r["samples_s"] and not r["counting"]:
            known[same_case(r)].append(r)
    differ, rows = varying(runs), {}
    for r in runs:
        if not r["samples_s"] or r["counting"] or not records.is_usable(r):
            continue
        mine = records.settings(r)
        if r["device"] != "cpu":
            mine.pop("threads")
        there = next((c for c in reversed(known[same_case(r)])
                      if all(records.settings(c).get(k, v) == v for k, v in mine.items())), None)
        if there:
            named = ", ".join(f"{k}={records.as_text(mine[k])}" for k in differ[r["variant"]] if k in mine)
            name = r["matrix"]["name"] + ("*" if r["matrix"]["stand_in"] else "")
            folder = Path(there.place.rpartition(":")[0]).parent.name
            rows[name, r["variant"], named] = (name, f"{r['matrix']['n']:,}", r["variant"], named, milliseconds(r),
                                               milliseconds(there), f"{records.seconds(r) / records.seconds(there):.3g}",
                                               folder)
    return list(rows.values())


def committed_runs():
    """Runs of the committed records of H200s."""
    return records.read_runs(p for p in sorted(COMMITTED.glob("*h200*/*.jsonl")) if p.stem not in NO_RUNS)


def varying(runs):
    """{variant: settings in which its runs differ}."""
    values = collections.defaultdict(lambda: collections.defaultdict(set))
    for r in runs:
        for name, value in records.settings(r).items():
            values[r["variant"]][name].add(records.as_text(value))
    return {v: sorted(name for name, several in settings.items() if len(several) > 1) for v, settings in values.items()}


def milliseconds(run):
    if run["counting"]:
        return "counters"
    return f"{1e3 * records.seconds(run):.4g}" if run["samples_s"] else ""


def case_rows(runs):
    """A row for each run that was not skipped."""
    differ = varying(runs)
    rows = []
    for r in runs:
        if r["status"] == "skipped":
            continue
        settings = records.settings(r)
        named = ", ".join(f"{k}={records.as_text(settings[k])}" for k in differ[r["variant"]] if k in settings)
        m = r["matrix"]
        rows.append((r["experiment"], m["name"] + ("*" if m["stand_in"] else ""), f"{m['n']:,}", r["variant"], named,
                     milliseconds(r), str(r["result"].get("fill", "")), r["status"], r["reason"]))
    return rows


def write_page(path, sources, folder, drawn, absent, refused):
    """Writes the page."""
    runs = records.read_runs(sources)
    skipped = collections.defaultdict(dict)
    for r in runs:
        if r["status"] == "skipped":
            skipped[r["reason"]][r["variant"]] = None
    images = {name: pages.data_uri(folder / f"{name}.png") for name in drawn}
    said, well = summary.agreement(runs)
    pages.write_alone(
        path, "results.html.j2", title="What this machine found", said=said, well=well, fastest=summary.fastest(runs), statements=summary.statements(sources),
        baseline=summary.BASELINE, beside=beside_committed(runs, committed_runs()), sources=records.named(sources), drawn=drawn,
        absent=[(why, ", ".join(names)) for why, names in grouped(absent, sources)], refused=refused, images=images,
        statuses=sorted(collections.Counter(r["status"] for r in runs).items()), rows=case_rows(runs),
        skipped=[(", ".join(variants), reason) for reason, variants in skipped.items()],
        machines=sorted({f"{r['host']}, {r['cpu']}" + "".join(f", {g['name']}" for g in r["gpus"]) for r in runs}) + records.load_of(runs),
        commits=sorted({r["git"]["sha"][:12] + (" (changed)" if r["git"].get("dirty") else "") for r in runs}))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--records", required=True, type=Path, nargs="+")
    p.add_argument("--figures", required=True, type=Path)
    p.add_argument("--page", type=Path)
    p.add_argument("--baseline", metavar="VARIANT", default="", help="what the comparison of all variants is with")
    args = p.parse_args()
    try:
        records.read(args.records)
        drawn, absent, refused = draw_all(args.records, args.figures, args.baseline)
        if args.page:
            write_page(args.page, args.records, args.figures, drawn, absent, refused)
    except (records.Refused, OSError) as e:
        print(f"results.py: error: {printable(e)}", file=sys.stderr)
        return 2
    print(f"figures drawn: {', '.join(drawn) or 'none'}", file=sys.stderr)
    for line in records.left_out(args.records):
        if not (args.page and line.startswith("skipped")):  # the page names them
            print(line, file=sys.stderr)
    if absent:
        reasons = grouped(absent, args.records)
        few = [f"{why} ({', '.join(names)})" for why, names in reasons if len(names) <= 3]
        many = [f"{why} ({len(names)}: {names[0]} to {names[-1]})" for why, names in reasons if len(names) > 3]
        print(printable(f"not drawn, {len(absent)}: {'; '.join(many + few)}"), file=sys.stderr)
    for why, names in grouped(refused, args.records):
        print(printable(f"results.py: error: {', '.join(names)} cannot be drawn: {why}"), file=sys.stderr)
    return 1 if refused else 0 if drawn else 3


if __name__ == "__main__":
    sys.exit(main())
