#!/usr/bin/env python3
"""Draws every figure that records have something for, and makes one page of them with the table of cases.

  results.py --records FILE... --figures FOLDER [--page FILE.html]

The page needs no other file. Exit status 1 if records do not allow a figure that they have runs for (the others are drawn
all the same), 2 for bad input, 3 if there is nothing to draw.
"""

import argparse
import base64
import collections
import contextlib
import io
import sys
from pathlib import Path

from build import html_environment

import records
import style


def draw_all(sources, folder):
    """(drawn, absent, refused): each {figure: its description, or why not}."""
    drawn, absent, refused = {}, {}, {}
    for name in style.figures():
        try:
            with contextlib.redirect_stderr(io.StringIO()):
                drawn[name] = style.draw_figure(name, sources, folder)
        except records.Absent as e:
            absent[name] = str(e)
        except records.Refused as e:
            refused[name] = str(e)
        except (ArithmeticError, LookupError, TypeError, ValueError) as e:
            refused[name] = f"{type(e).__name__}: {e}"
    return drawn, absent, refused


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
        rows.append((r["experiment"], m["name"] + ("*" if m["stand_in"] else ""), str(m["n"]), r["variant"], named,
                     milliseconds(r), str(r["result"].get("fill", "")), r["status"], r["reason"]))
    return rows


def page(sources, folder, drawn, absent, refused):
    """The page as text."""
    runs = records.read_runs(sources)
    skipped = collections.defaultdict(dict)
    for r in runs:
        if r["status"] == "skipped":
            skipped[r["reason"]][r["variant"]] = None
    images = {name: base64.b64encode((folder / f"{name}.png").read_bytes()).decode() for name in drawn}
    return html_environment().get_template("results.html.j2").render(
        title="Results", sources=records.named(sources), drawn=drawn, absent=absent, refused=refused, images=images,
        statuses=sorted(collections.Counter(r["status"] for r in runs).items()), rows=case_rows(runs),
        skipped=[(", ".join(variants), reason) for reason, variants in skipped.items()],
        machines=sorted({f"{r['host']}, {r['cpu']}" + "".join(f", {g['name']}" for g in r["gpus"]) for r in runs}),
        commits=sorted({r["git"]["sha"][:12] + (" (changed)" if r["git"].get("dirty") else "") for r in runs}))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--records", required=True, type=Path, nargs="+")
    p.add_argument("--figures", required=True, type=Path)
    p.add_argument("--page", type=Path)
    args = p.parse_args()
    try:
        records.read(args.records)
        drawn, absent, refused = draw_all(args.records, args.figures)
        if args.page:
            args.page.write_text(page(args.records, args.figures, drawn, absent, refused), encoding="utf-8")
    except (records.Refused, OSError) as e:
        print(f"results.py: error: {e}", file=sys.stderr)
        return 2
    print(f"figures drawn: {', '.join(drawn) or 'none'}", file=sys.stderr)
    if absent:
        print(f"not drawn, for want of records: {', '.join(absent)}", file=sys.stderr)
    for name, why in refused.items():
        print(f"results.py: error: {name} cannot be drawn: {why}", file=sys.stderr)
    return 1 if refused else 0 if drawn else 3


if __name__ == "__main__":
    sys.exit(main())
