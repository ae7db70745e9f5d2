#!/usr/bin/env python3
"""Builds a static site from the committed records: leaderboard, a page for each matrix, growth, figures next to their
claims, and where each number comes from.

  site.py --out FOLDER [--figures NAME[,NAME...]|none]

Plain HTML, one style sheet, one script: it needs no server and no network. FOLDER is replaced as a whole, and only if it
does not exist, is empty, or is such a site. Drawing takes most of the time: --figures draws some or none, and the claims of
the others stand without one. Exit status 2 if the records cannot be used or the folder must not be replaced.
"""

import argparse
import contextlib
import csv
import io
import json
import re
import shutil
import signal
import statistics
import struct
import sys
import tempfile
from pathlib import Path

import jinja2
import markupsafe

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import cases as data  # noqa: E402
import pictures  # noqa: E402
import records  # noqa: E402
import build  # noqa: E402
import claims  # noqa: E402
from terminal_text import printable  # noqa: E402

ROOT = data.ROOT
RECORDS = ROOT / "experiments" / "records"
MARK = ".gsofa-site"  # a file of every site, by which its folder is known
ENDS = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
SYMBOLS = {claims.REPRODUCED: "✓", claims.SHAPE_ONLY: "≈", claims.DIRECTION_ONLY: "↗", claims.UNDECIDED: "?",
           claims.NOT_REPRODUCED: "✗", claims.INCOMPLETE: "…", claims.NOT_RUN: "–", claims.ELSEWHERE: "⌂"}
FAMILIES = (("gen:grid7:", "7-point grid"), ("gen:grid27:", "27-point grid"), ("gen:circuit:", "circuit"),
            ("gen:elasticity3d:", "elasticity"))


def seconds_text(seconds):
    """Milliseconds with four digits."""
    ms = 1e3 * seconds
    return f"{ms:,.0f}" if ms >= 1e4 else f"{ms:.4g}"


def commas(number):
    return f"{number:,}" if number is not None else "–"


def times_text(ratio):
    return f"{ratio:,.0f}" if ratio >= 100 else f"{ratio:.3g}"


class Machine:
    """What records say of one machine. key: data.machine_key()."""

    def __init__(self, key, run):
        self.key, self.identified = key, bool(run.get("machine", {}).get("id"))
        self.cpu = run["cpu"]
        self.gpus, self.drivers, self.threads, self.hosts = {}, set(), set(), set()

    def add(self, run):
        names = [g["name"] for g in run["gpus"]]
        for name in names:
            self.gpus[name] = max(self.gpus.get(name, 0), names.count(name))
        self.drivers.update(g.get("driver_version") or f"CUDA {g['driver']}" for g in run["gpus"])
        self.threads.add(run.get("machine", {}).get("threads_online"))

    def gpu_text(self):
        return ", ".join(f"{count} × {name}" for name, count in sorted(self.gpus.items())) or "no GPU"

    def short(self):
        """What a column has room for: "64d6a5fb Intel"."""
        if not self.identified:
            return self.key.replace("2026-", "", 1)
        return f"{self.key[:8]} {re.match('[A-Za-z0-9]*', self.cpu)[0]}".strip()

    def text(self):
        return f"{self.short()}: {self.gpu_text()}, {self.cpu}"


def machines_of(runs):
    """{key: Machine}, in the order of the keys."""
    found = {}
    for run in runs:
        found.setdefault(data.machine_key(run), Machine(data.machine_key(run), run)).add(run)
    return dict(sorted(found.items()))


def fill_of(runs):
    """The result of a run whose counts are exact: no peer's, if there is another."""
    exact = [r for r in runs if r["device"] != "peer" and "fill" in r["result"]]
    return (exact or [r for r in runs if "fill" in r["result"]] or [None])[-1]


def by_digest(runs):
    """{digest of the prepared matrix: its runs}."""
    found = {}
    for run in runs:
        found.setdefault(run["ordering"]["digest"], []).append(run)
    return found


class Site:
    """Everything that the pages show."""

    def __init__(self):
        self.files = data.counted_files()
        self.runs = records.read(self.files)[0]
        self.orders = records.read_orders(self.files)
        self.cases = data.cases_of(self.runs)
        self.machines = machines_of(self.runs)
        self.known = dict(self.machines)  # and those of other records
        self.ratios = data.ratios(self.cases)
        self.by_matrix = {}
        for run in sorted(self.runs, key=lambda r: (r["matrix"]["n"], r["matrix"]["name"])):
            self.by_matrix.setdefault(run["matrix"]["name"], []).append(run)
        self.slugs = data.slugs(self.by_matrix)
        self.stale = self.read_stale()

    @staticmethod
    def read_stale():
        """{(file, commit, variant): sources that changed since}."""
        path = RECORDS / "stale.tsv"
        try:
            with open(path, encoding="utf-8", newline="") as lines:
                rows = list(csv.reader(lines, delimiter="\t"))
        except OSError as e:
            raise records.Refused(f"{path}: {e.strerror}") from e
        found = {}
        for number, row in enumerate(rows[1:], 2):
            if len(row) != 5:
                raise records.Refused(f"{path}:{number}: not five columns")
            found[f"experiments/records/{row[0]}", row[1], row[2]] = row[4]
        return found

    def stale_of(self, run):
        """Sources of its variant that changed since a run, as text; "" if none did."""
        changed = self.stale.get((data.place(run)[0], run["git"]["sha"][:12], run["variant"]), "")
        return f"{changed} sources changed since" if changed.isdigit() else changed

    def leaderboard(self):
        """The data of the index, lists in place of objects; site.js has their columns."""
        machines, commits, configs, groups = list(self.machines), [], {}, {}
        rows, matrices = [], {}
        problems = {}  # what differs where a stand-in changed, or an order
        for name, runs in self.by_matrix.items():
            matrices[name] = [name, self.slugs[name], records.KINDS.index(records.kind(runs[-1]["matrix"]))]
            for digest, mine in by_digest(runs).items():
                matrix, exact = mine[-1]["matrix"], fill_of(mine)
                problems[name, digest] = [matrix["n"], matrix["nnz"], *(
                    (exact["result"]["nnz_l"] + exact["result"]["nnz_u"], exact["result"]["fill"]) if exact else (None, None))]
        order = {name: k for k, name in enumerate(matrices)}
        for c in self.cases:
            if c.commit not in commits:
                commits.append(c.commit)
            config = configs.setdefault((c.variant, c.label), len(configs))
            group = groups.setdefault(c.group, len(groups))
            low, high = c.interval or (None, None)

            def ms(x):
                return None if x is None else float(f"{1e3 * x:.6g}")
            rows.append([group, config, ms(c.seconds), ms(low), ms(high), len(c.samples), ms(c.compact), ms(c.limit),
                         int(c.status == "unverified"), int(bool(self.stale_of(c.last)))])
        devices = {(c.variant, c.label): c.device for c in self.cases}
        return {
            "baseline": data.BASELINE, "kinds": records.KINDS,
            "machines": [[k, self.machines[k].short(), self.machines[k].text()] for k in machines],
            "commits": commits, "matrices": list(matrices.values()),
            "configs": [[v, label, devices[v, label]] for v, label in configs],
            "groups": [[order[m], machines.index(k), commits.index(sha), *problems[m, digest]] for m, digest, k, sha in groups],
            "cases": rows}

    def structure(self, name):
        """(what, value) rows of a matrix."""
        runs = self.by_matrix[name]
        matrix = runs[-1]["matrix"]
        kind = records.kind(matrix)
        abbr = records.abbreviation(name)
        entry = records.datasets().get(abbr, {})
        rows = [("order n", f"{matrix['n']:,}")]
        file = data.bundled_file(name)
        if file:
            n, i, j = data.read_pattern(file)
            percent = 100 * data.symmetry(i, j)
            rows.append(("structural symmetry", f"{percent:.3g} % of the entries off the diagonal have a mirror image"))
        elif entry:
            rows.append(("structural symmetry", f"{entry['symmetry']:g} of the original, by the paper"))
        sources = list(dict.fromkeys(r["matrix"]["source"] for r in runs))
        rows.append(("source", "; ".join(sources)))
        rows.append(("kind", kind + (f", in place of {entry.get('original', name)} of the paper, n = {entry['order']:,}, nnz = "
                                     f"{entry['nnz']:,}" if kind == "stand-in" and entry else "")))
        if abbr:
            rows.append(("in the paper", abbr))
        rows.append(("sha256 of the source", ", ".join(dict.fromkeys(r["matrix"]["sha256"] for r in runs))))
        return rows

    def prepared(self, name):
        """Rows of a matrix as it was prepared, one for each digest."""
        rows = []
        for digest, mine in by_digest(self.by_matrix[name]).items():
            m, o, exact = mine[-1]["matrix"], mine[-1]["ordering"], fill_of(mine)
            r = exact["result"] if exact else {}
            library = f" ({o['library']})" if o["library"] else ""
            rows.append({
                "digest": digest, "order": f"rows {o['row']}, columns {o['col']}{library}",
                "nnz": m["nnz"], "prepared": m["nnz_prepared"], "l": r.get("nnz_l"), "u": r.get("nnz_u"),
                "lu": r["nnz_l"] + r["nnz_u"] if r else None, "fill": r.get("fill"),
                "ratio": f"{r['fill'] / m['nnz_prepared']:.3g}" if r else "–", "supernodes": r.get("supernodes"),
                "chunk": exact["chunk_size"] if exact else None, "runs": len(mine)})
        return rows

    def case_row(self, case):
        command, note = data.command(case.last)
        places = [data.place(r) for r in case.runs]
        last = case.last
        return {
            "variant": case.variant, "label": case.label, "device": case.device, "status": last["status"],
            "reason": last["reason"], "machine": self.machines[case.machine].short(), "commit": case.commit[:7],
            "ms": seconds_text(case.seconds) if case.seconds is not None else f"> {seconds_text(case.limit)}",
            "sort_ms": 1e3 * (case.seconds if case.seconds is not None else case.limit),
            "interval": f"{seconds_text(case.interval[0])} – {seconds_text(case.interval[1])}" if case.interval else
                        "ended" if case.seconds is None else "not repeated",
            "bare": seconds_text(case.bare) if case.bare is not None else "–",
            "samples": " ".join(seconds_text(s) for s in case.samples), "count": len(case.samples),
            "ratio": times_text(self.ratios[case]) if case in self.ratios else "–",
            "sort_ratio": self.ratios.get(case, ""), "stale": self.stale_of(last),
            "places": places, "command": command, "note": note}

    def chart(self, mine):
        """(SVG, its group in words) of the group with most variants: the fastest case of each variant."""
        groups = {}
        for c in mine:
            if c.seconds is not None:
                groups.setdefault(c.group, {}).setdefault(c.variant, []).append(c)
        if not groups:
            return None
        group, by_variant = max(groups.items(), key=lambda item: len(item[1]))
        best = sorted((min(v, key=lambda c: c.seconds) for v in by_variant.values()), key=lambda c: c.seconds)
        rows = [(c.variant, 1e3 * c.seconds, *(1e3 * x for x in c.interval or ()), seconds_text(c.seconds) + " ms")
                if c.interval else (c.variant, 1e3 * c.seconds, None, None, seconds_text(c.seconds) + " ms") for c in best]
        where = self.machines[group[2]].text()
        return pictures.time_dots(rows, f"Median times of variants on {group[0]}"), f"machine {where}; commit {group[3][:7]}"

    def matrix_page(self, name):
        mine = [c for c in self.cases if c.matrix == name]
        used = {id(r) for c in mine for r in c.runs}
        rest = [r for r in self.by_matrix[name] if id(r) not in used]
        counting = sum(r["counting"] for r in rest)
        others = [{"variant": r["variant"], "status": r["status"], "place": data.place(r), "command": data.command(r)[0],
                   "reason": data.why_not(r), "ms": " ".join(seconds_text(s) for s in r["samples_s"]) or "–"} for r in rest if not r["counting"]]
        file, picture = data.bundled_file(name), None
        if file:
            picture = pictures.pattern_png(*data.read_pattern(file))
        return {"name": name, "kind": records.kind(self.by_matrix[name][-1]["matrix"]), "structure": self.structure(name),
                "prepared": self.prepared(name),
                "chart": self.chart(mine), "cases": [self.case_row(c) for c in mine], "others": others, "counting": counting,
                "picture": picture, "baseline": data.BASELINE,
                "orders": [self.order_row(o) for o in self.orders if o["matrix"]["name"] == name]}

    @staticmethod
    def order_row(line):
        """A line of `gsofa order`."""
        r = line["result"]
        return {"order": line["order"], "ms": seconds_text(statistics.median_low(line["samples_s"])),
                "count": len(line["samples_s"]), "fill": r["fill"], "flops": f"{r['flops']:.4g}", "height": r["height"],
                "threads": line["threads"], "machine": Machine(data.machine_key(line), line).short(), "place": data.place(line)}

    def growth(self):
        """Panels of time against order and against nnz(L+U), one for each family, machine and commit."""
        files = [f for f, names in self.files.items() if {"growth", "families"} & set(names)]
        wanted = {f.relative_to(ROOT).as_posix() for f in files}
        panels = {}
        for c in self.cases:
            if data.place(c.last)[0] not in wanted or c.seconds is None or "fill" not in c.last["result"]:
                continue
            family = next((title for start, title in FAMILIES if c.matrix.startswith(start)), None)
            if family is None:
                continue
            if "oneway" in c.matrix:
                family += ", one-way"
            r = c.last["result"]
            point = c.last["matrix"]["n"], r["nnz_l"] + r["nnz_u"], 1e3 * c.seconds, c
            panels.setdefault((family, c.machine, c.commit), {}).setdefault(c.name, []).append(point)
        variants = sorted({name for p in panels.values() for name in p})
        out = []
        for (family, machine, commit), series in sorted(panels.items(), key=lambda p: (p[0][1], p[0][0])):
            series = {name: points for name, points in series.items() if len({p[0] for p in points}) > 2}
            if not series:
                continue
            pictures_of = {}
            for k, x_label in enumerate(("order n", "nnz(L+U)")):
                drawn = [(variants.index(name), name, [(p[k], p[2], f"{x_label} {p[k]:,}: {p[2]:.4g} ms") for p in points])
                         for name, points in sorted(series.items())]
                label = f"{family}: time against {x_label}"
                pictures_of[("n", "lu")[k]] = pictures.lines(drawn, x_label, "median time, ms", label)
            rows = [(name, n, lu, f"{ms:.4g}", self.slugs[c.matrix]) for name, points in sorted(series.items())
                    for n, lu, ms, c in sorted(points, key=lambda p: p[:3])]
            out.append({"family": family, "machine": self.machines[machine].text(), "commit": commit[:7],
                        "pictures": pictures_of, "rows": rows, "keys": [(pictures.key(variants.index(name)), name) for name in sorted(series)]})
        return out

    def made(self):
        """Folders of committed records with what each file has."""
        folders = {}
        for file in sorted(RECORDS.rglob("*.jsonl")):
            lines = records.lines_of(file, file.stat().st_mtime_ns)[0]
            runs = [line for line in lines if "git" in line]
            relative = file.relative_to(ROOT).as_posix()
            for key in {data.machine_key(r) for r in runs}:
                if key not in self.known:
                    self.known[key] = Machine(key, runs[0])
            for r in runs:
                self.known[data.machine_key(r)].add(r)
            stale = {key[2]: text for key, text in self.stale.items() if key[0] == relative}
            commits = sorted({r["git"]["sha"][:7] for r in runs} | {x["commit"][:7] for x in lines if "commit" in x})
            folders.setdefault(file.parent.relative_to(RECORDS).as_posix(), []).append({
                "file": file.name, "lines": len(lines), "commits": commits,
                "machines": sorted({data.machine_key(r) for r in runs}), "used": self.files.get(file, []),
                "dates": sorted({r["time_utc"][:10] for r in runs}), "stale": sorted(stale.items())})
        return folders

    def write(self, out, figures):
        """Writes all pages into a folder. figures: names of the figures to draw; None: all."""
        env = jinja2.Environment(loader=jinja2.FileSystemLoader(HERE / "templates"), undefined=jinja2.StrictUndefined,
                                 trim_blocks=True, lstrip_blocks=True, autoescape=True)
        env.filters["text"] = build.in_html
        env.filters["commas"] = commas

        def page(template, target, **content):
            depth = "../" * target.count("/")
            (out / target).parent.mkdir(parents=True, exist_ok=True)
            (out / target).write_text(env.get_template(template).render(root=depth, here=target, **content), encoding="utf-8")
        for name in ("site.css", "site.js"):
            shutil.copyfile(HERE / name, out / name)
        leaderboard = json.dumps(self.leaderboard(), ensure_ascii=False, separators=(",", ":"))
        (out / "leaderboard.json").write_text(leaderboard + "\n", encoding="utf-8")
        summary = sorted(data.summary(self.cases).items(), key=lambda item: -item[1][0])
        used = [r for c in self.cases for r in c.runs]
        page("index.html.j2", "index.html", json=markupsafe.Markup(leaderboard.replace("<", "\\u003c")), summary=[
            (name, self.machines[k].short(), sha[:7], times_text(g), times_text(low), times_text(high), count)
            for (name, k, sha), (g, low, high, count) in summary], counts={
                "runs": len(used), "cases": len(self.cases), "matrices": len({c.matrix for c in self.cases}),
                "machines": len({c.machine for c in self.cases}),
                "variants": len({c.variant for c in self.cases})}, slugs=self.slugs, baseline=data.BASELINE, headline=headline())
        for name in self.by_matrix:
            page("matrix.html.j2", f"matrix/{self.slugs[name]}.html", **self.matrix_page(name))
        page("growth.html.j2", "growth.html", panels=self.growth())
        folders = self.made()
        page("made.html.j2", "made.html", folders=folders, machines=dict(sorted(self.known.items())))
        page("figures.html.j2", "figures.html", **figures_page(out / "figures", figures))
        (out / MARK).write_text("A site of the gSoFa testbed: ./testbed site replaces this folder.\n", encoding="utf-8")


def headline():
    """The real matrices of plots/headline_means.csv, which style_test.py compares with the records: all, and the large ones."""
    with open(ROOT / "plots" / "headline_means.csv", encoding="utf-8", newline="") as f:
        rows = [r for r in csv.DictReader(f) if "real" in r["group"] and r["variant"].startswith("gpu_bitmap_panels")]
    return {"real": rows[0], "large": rows[1]}


def png_size(path):
    """(width, height) in pixels."""
    return struct.unpack(">II", path.read_bytes()[16:24])


def claim_row(c):
    """A claim as a row of its table."""
    return {"id": c["id"], "where": c["where"], "says": c["says"], "paper": f"{build.number(c['paper'])} {c['unit']}".strip(),
            "here": build.measured_text(c), "verdict": c["verdict"],
            "mark": build.verdict_text(c).removeprefix(c["verdict"]).strip(", "),
            "symbol": SYMBOLS[c["verdict"]], "class": c["verdict"].replace(" ", "-"), "population": build.population_text(c),
            "why": build.why_text(c)}


def of_report():
    """Caption and name of each figure of the report."""
    return build.FIGURE.findall((ROOT / "paper" / "report.md").read_text(encoding="utf-8"))


def figures_page(out, chosen):
    """Figures of the report with their claims, claims without a figure last. chosen: names of figures that are drawn into the
    folder; None: all."""
    board = claims.Board()
    if problems := board.problems():
        raise records.Refused(f"paper/evidence.toml is not what the records say: {problems[0]}")
    content = build.Content(board, out)
    rest = {}
    for c in content.claims:
        rest.setdefault(c["item"], []).append(claim_row(c))
    items = []
    for caption, name in of_report():
        drawn = chosen is None or name in chosen
        if drawn:
            with contextlib.redirect_stderr(io.StringIO()):  # names of files in a folder that is still to be renamed
                content.draw(name)
        item = {"name": name, "caption": caption, "claims": rest.pop(name, []), "absent": content.absent.get(name, ""),
                "size": None}
        if drawn and not item["absent"]:
            item["size"] = png_size(out / f"{name}.png")
        items.append(item)
    items += [{"name": name, "caption": "", "claims": of, "absent": "", "size": None} for name, of in rest.items()]
    bases, _ = board.score()
    score = [(v, v.replace(" ", "-"), SYMBOLS[v], sum(bases[v].values())) for v in claims.VERDICTS if bases[v]]
    return {"items": items, "score": score, "total": len(content.claims)}


def end(number, _):
    """A signal ends the program as an error does: what it has written so far is removed."""
    sys.exit(128 + number)


def put_in_place(made, out, before):
    """Renames a folder to `out`, whose content goes to `before`. No signal comes between: there is an old site or a new one."""
    waiting = signal.pthread_sigmask(signal.SIG_BLOCK, ENDS)
    try:
        if out.exists():
            out.rename(before)
        try:
            made.rename(out)
        except OSError:
            if before.exists():
                before.rename(out)
            raise
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, waiting)


def replaceable(folder):
    """True if a site may take the place of a folder."""
    return not folder.exists() or (folder.is_dir() and ((folder / MARK).is_file() or not any(folder.iterdir())))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--out", required=True, type=Path, help="folder of the site")
    p.add_argument("--figures", metavar="NAME,...", help="draw these alone; none: the claims without figures")
    args = p.parse_args()
    figures = None if args.figures is None else {name for name in args.figures.split(",") if name != "none"}
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, end)
    # A link is replaced in the folder that it leads to.
    out = args.out.resolve()
    try:
        if not replaceable(out):
            raise records.Refused(f"{args.out} is neither an empty folder nor a site")
        names = [name for _, name in of_report()]
        if unknown := sorted(set(figures or ()) - set(names)):
            raise records.Refused(f"the report has no figure {unknown[0]}: {', '.join(names)}")
        site = Site()
        out.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}.") as folder:
            made = Path(folder) / "site"
            made.mkdir()
            site.write(made, figures)
            if not replaceable(out):
                raise records.Refused(f"{args.out} is neither an empty folder nor a site")
            put_in_place(made, out, Path(folder) / "before")
    except (build.Fault, records.Refused, OSError) as e:
        print(f"site.py: error: {printable(e)}", file=sys.stderr)
        return 2
    print(out / "index.html")
    return 0


if __name__ == "__main__":
    sys.exit(main())
