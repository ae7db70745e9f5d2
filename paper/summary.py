"""What the page of results begins with: do the variants agree, which is the fastest, and what the paper says.

All three functions take runs as records.read_runs() gives them, or their files.
"""

import collections
import json
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "plots"))

import claims  # noqa: E402
import records  # noqa: E402

BASELINE = "peer_superlu_dist"
ORDER = "metis"
SMALLEST = 100  # rows; below, times are those of a call
MODES = {"oracle": "by Gaussian elimination (up to 1,500 rows)", "certificate": "by the certificate",
         "digest": "by digests of a verified result"}


def several(number, noun):
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def exact(runs):
    """Runs whose result was verified."""
    return [r for r in runs if r["status"] == "pass"]


def entries(run):
    """(entries of L, of U) of a run."""
    return run["result"].get("nnz_l"), run["result"].get("nnz_u")


def input_of(run):
    """A matrix in one order."""
    return run["matrix"]["name"], run.get("ordering", {}).get("digest", "")


def disagreeing(runs):
    """Lines on inputs of which verified results of two variants differ."""
    found = collections.defaultdict(lambda: collections.defaultdict(dict))
    for r in exact(runs):
        found[input_of(r)][entries(r)][r["variant"]] = None
    return [f"{name}, entries of L and U: " + "; ".join(f"{l} and {u} by {records.few(who)}" for (l, u), who in of.items())
            for (name, _), of in found.items() if len(of) > 1]


def agreement(runs):
    """(sentences, whether all is well): how many variants agree on how many matrices, how that was checked, and by name what
    failed, differs or is not verified."""
    ran = [r for r in runs if r["status"] != "skipped"]
    good, bad = exact(ran), [r for r in ran if r["status"] not in ("pass", "unverified")]
    differ = disagreeing(ran)
    faulty = {r["variant"] for r in bad}
    well = {r["variant"] for r in good} - faulty
    generated = {r["matrix"]["name"] for r in good if r["matrix"]["name"].startswith("gen:")}
    given = {r["matrix"]["name"] for r in good} - generated
    where = " and ".join(filter(None, (several(len(given), "matrix").replace("matrixs", "matrices") if given else "",
                                       several(len(generated), "generated pattern") if generated else "")))
    if not good:
        lines = ["No result was verified."]
    elif bad or differ:
        lines = [f"{len(well)} of {several(len(well | faulty), 'variant')} pass every case on {where}."]
    else:
        lines = [f"All {several(len(well), 'variant')} whose results could be verified agree on {where}."]
    modes = collections.Counter(r.get("verify", {}).get("mode", "") for r in good)
    checked = [f"{modes[mode]:,} {text}" for mode, text in MODES.items() if modes[mode]]
    if checked:
        lines.append(f"Results of {several(len(good), 'case')} were checked: {', '.join(checked)}.")
    failed = collections.defaultdict(dict)
    for r in bad:
        failed[r["variant"], r["status"], r["reason"]][r["matrix"]["name"]] = None
    lines += [f"Failed: {variant} on {records.few(names)} ({status}{': ' + reason if reason else ''})."
              for (variant, status, reason), names in failed.items()]
    lines += [f"Different results: {line}." for line in differ]
    loose = {r["variant"] for r in ran if r["status"] == "unverified"} - {r["variant"] for r in good}
    if loose:
        lines.append(f"Not verified, because they give totals alone or a superset of the fill: {', '.join(sorted(loose))}.")
    return lines, bool(good) and not bad and not differ


def fastest(runs):
    """Rows for matrices that were not generated, the smallest first, each in the order that most of its cases have: matrix; the
    variant with the least median among the variants with a verified result; its ms; BASELINE's ms; how many times as fast
    the variant is; n; entries of L + U."""
    times, sizes, base, cases = collections.defaultdict(dict), {}, {}, collections.Counter()
    for r in runs:
        key = input_of(r)
        if r["counting"] or not r["samples_s"] or r["matrix"]["n"] < SMALLEST or "pattern" in r["wants"] or \
                r["matrix"]["name"].startswith("gen:") or not records.is_usable(r):
            continue
        cases[key] += 1
        if r["variant"] == BASELINE:
            base[key] = min(records.seconds(r), base.get(key, float("inf")))
        if r["status"] == "pass":
            times[key][r["variant"]] = min(records.seconds(r), times[key].get(r["variant"], float("inf")))
            sizes[key] = r["matrix"], sum(entries(r))
    usual = {key[0]: key for key in sorted(times, key=lambda k: cases[k])}
    rows = []
    for key in sorted(usual.values(), key=lambda k: (sizes[k][0]["n"], k)):
        matrix, size = sizes[key]
        variant = min(times[key], key=times[key].get)
        mine = times[key][variant]
        name = matrix["name"] + ("*" if matrix["stand_in"] else "")
        there = (f"{1e3 * base[key]:.3g}", f"{base[key] / mine:.3g}") if key in base else ("", "")
        rows.append((name, variant, f"{1e3 * mine:.3g}", *there, f"{matrix['n']:,}", f"{size:,}"))
    return rows


def statements(sources):
    """(rows, rest): what the paper says, its number, this machine's by kind of matrix; and how many statements of the questions
    and the appendix these records do not answer."""
    with tempfile.TemporaryDirectory() as folder:
        # The paper's matrices are in one order: an order of another kind has other fill.
        usual = Path(folder) / "usual.jsonl"
        usual.write_text("".join(json.dumps(r) + "\n" for r in records.read_runs(sources)
                                 if r.get("ordering", {}).get("col", ORDER) == ORDER))
        judge = claims.Judge({"judgement": [usual]})
    all_of_them = [s for q in judge.questions for s in q["statements"]] + judge.appendix
    rows = [(s["says"], claims.paper_text(s), "; ".join(f"{k} {claims.value_text(f, s)}, n = {f.n}" for k, f in s["kinds"].items()
                                                        if k != "original" or "real" not in s["kinds"]))
            for s in all_of_them if s["kinds"]]
    return rows, len(all_of_them) - len(rows)
