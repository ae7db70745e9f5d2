#!/usr/bin/env python3
"""Builds a static site from the committed records: a row for each variant, a page for each matrix, growth, figures next to
their claims, and where each number comes from.

  site.py --out FOLDER [--with FILE.jsonl]... [--figures NAME[,NAME...]|none]

Plain HTML, one style sheet, one script: it needs no server and no network. The program replaces FOLDER completely, and only if
FOLDER does not exist, is empty, or is such a site. Drawing the figures takes most of the time: --figures draws some or none, and
the claims of the other figures appear without a figure. Standard error names each page and figure. Exit status 2 if the records
cannot be used or FOLDER must not be replaced.
"""

import argparse
import csv
import functools
import shutil
import signal
import statistics
import sys
import tempfile
from pathlib import Path


HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import cases as data  # noqa: E402
import growth  # noqa: E402
import machines  # noqa: E402
import pages  # noqa: E402
import pictures  # noqa: E402
import records  # noqa: E402
import records_readme  # noqa: E402
import board  # noqa: E402
import build  # noqa: E402
import claims  # noqa: E402
import style  # noqa: E402
from terminal_text import printable  # noqa: E402

ROOT = data.ROOT
RECORDS = ROOT / "experiments" / "records"
MARK = ".gsofa-site"  # a file of every site, by which its folder is known
ENDS = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
FIGURE = ("gpu_bitmap_panels", "cpu_bitmap_panels", "gpu_maxid")  # variants in the figure of the first page
COLUMNS = ("matrix", "kind", "n", "nnz", "nnz_lu", "variant", "settings", "part", "machine", "commit", "ms", "low_ms", "high_ms",
           "runs", "ended_after_ms", "status", "times_symbfact")


def say(text):
    print(f"site: {text}", file=sys.stderr, flush=True)


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


def speeds():
    """{group: row of plots/headline_means.csv} of the fastest variant: the numbers of the project's README."""
    with open(ROOT / "plots" / "headline_means.csv", encoding="utf-8", newline="") as f:
        return {r["group"]: r for r in csv.DictReader(f) if r["variant"] == FIGURE[0]}


class Site:
    """Everything that the pages show. own: files of the reader's records, for the board."""

    def __init__(self, own=()):
        self.board = board.content(own)
        self.files = data.counted_files()
        self.runs = records.read(self.files)[0]
        self.all_runs, orders, self.lines = [], [], {}
        for file in sorted(RECORDS.rglob("*.jsonl")):
            self.all_runs += records.read_runs([file])
            orders += records.read_orders([file])
            self.lines[file] = records.lines_of(file, file.stat().st_mtime_ns)[0]
        self.orders = data.latest_orders(orders, self.files)
        self.cases = data.cases_of(self.runs)
        self.machines = machines.machines_of(line for lines in self.lines.values() for line in lines if "git" in line)
        self.ratios = data.ratios(self.cases)
        self.standings = data.standings(self.cases)
        self.by_matrix = {}
        for run in self.runs:
            self.by_matrix.setdefault(run["matrix"]["name"], []).append(run)
        self.names = sorted({*self.by_matrix, *self.orders}, key=lambda name: (-self.matrix(name)["n"], name))
        self.slugs = data.slugs(self.names)
        self.stale = read_stale()

    def stale_of(self, run):
        """Sources of its variant that changed since a run, as text; "" if none did."""
        changed = self.stale.get((data.place(run)[0], run["git"]["sha"][:12], run["variant"]), "")
        return f"{changed} source files changed since" if changed.isdigit() else changed

    def matrix(self, name):
        """What the latest record says about a matrix."""
        return (self.by_matrix.get(name) or [next(iter(self.orders[name].values()))[0]])[-1]["matrix"]

    def kind(self, name):
        return data.kind_of(self.by_matrix.get(name), self.orders.get(name))

    def where(self, run):
        """Part of the machine and host: "1 × NVIDIA H200, host H"."""
        return f"{machines.part_of(run).text}, {self.machines[machines.key_of(run)].host}"

    def standing_row(self, s):
        last = s.cases[-1].last
        return {"variant": last["variant"], "label": s.cases[0].label, "mean": s.mean, "least": s.least, "most": s.most,
                "matrices": s.matrices, "real": s.real, "part": machines.part_of(last).text,
                "machine": self.machines[s.cases[0].machine], "commit": s.cases[0].commit[:7],
                "stale": any(self.stale_of(c.last) for c in s.cases)}

    def index(self):
        rows = [[self.standing_row(s) for s in of] for of in self.standings.values()]
        rows.sort(key=lambda of: (not of[0]["real"], -of[0]["mean"]))
        fast = self.standings[FIGURE[0]][0]
        leaders = [row for row, *_ in rows]
        return {"groups": [("real", [of for of in rows if of[0]["real"]]), ("few", [of for of in rows if not of[0]["real"]])],
                "scale": pictures.Scale([row[key] for row in leaders for key in ("least", "most")]),
                "fast": self.standing_row(fast), "means": speeds(), **dict(zip(("by_default", "at_best", "uploaded"), next(records_readme.speeds())[3:])),
                "answers": claims.printed("table"), "count": claims.printed("count"), "figure": self.headline(), "without": sorted({c.variant for c in self.cases} - set(self.standings)),
                "counts": {"cases": len(self.cases), "runs": sum(len(c.runs) for c in self.cases),
                           "variants": len({c.variant for c in self.cases}), "matrices": len(self.names)}}

    def headline(self):
        """Ratios of some leaders by the size of the result."""
        series = {}
        for k, variant in enumerate(FIGURE):
            points = []
            for c in self.standings[variant][0].cases:
                result = data.fill_of(self.by_matrix[c.matrix], c.group[1])
                if c in self.ratios and result:
                    x, y = result["nnz_l"] + result["nnz_u"], self.ratios[c]
                    points.append((x, y, f"{c.matrix}, {variant}: {style.short(y)} times", f"matrix/{self.slugs[c.matrix]}.html"))
            series[k] = points
        return {"svg": pictures.chart(series, "entries of L+U", "times as fast as symbfact", "Speed-up by entries of L+U", ratio=True),
                "keys": [(k, variant, machines.part_of(self.standings[variant][0].cases[0].last).text) for k, variant in enumerate(FIGURE)]}

    @functools.cached_property
    def cases_of(self):
        """{matrix: its cases}."""
        by_matrix = {}
        for c in self.cases:
            by_matrix.setdefault(c.matrix, []).append(c)
        return by_matrix

    @functools.cached_property
    def parts(self):
        """{matrix: data.by_part() of its main cases}."""
        return {name: data.by_part(data.main_cases(of)) for name, of in self.cases_of.items()}

    def matrix_rows(self):
        """A row for each matrix, with its fastest case."""
        rows = []
        for name in self.names:
            cases = [c for of in self.parts.get(name, {}).values() for c in of]
            fastest = min(cases, key=lambda c: c.seconds, default=None)
            first = next((self.orders[name][o][0] for o in data.three_orders(self.orders.get(name, {}))), None)
            result = data.fill_of(self.by_matrix.get(name, ())) or (first and first["result"])
            rows.append({"name": name, "kind": self.kind(name), "n": self.matrix(name)["n"], "nnz": self.matrix(name)["nnz"],
                         "lu": result and result["nnz_l"] + result["nnz_u"], "case": fastest,
                         "where": fastest and machines.part_of(fastest.last).text,
                         "ratio": max((self.ratios[c] for c in cases if c in self.ratios), default=None)})
        return rows

    def facts(self, name, pattern):
        """(what, value) rows of a matrix. pattern: (n, rows, columns) if the matrix is bundled."""
        matrix, kind = self.matrix(name), self.kind(name)
        abbr = records.abbreviation(name)
        entry = records.datasets().get(abbr, {})
        rows = [("order n", f"{matrix['n']:,}"), ("entries", f"{matrix['nnz']:,}")]
        if pattern:
            percent = 100 * data.symmetry(*pattern[1:])
            rows.append(("symmetry", f"{percent:.3g} % of the entries off the diagonal have a mirror image"))
        elif entry:
            rows.append(("symmetry", f"{100 * entry['symmetry']:g} % in the original, by the paper"))
        if kind == "stand-in" and entry:
            rows.append(("stands in for", f"{entry.get('original', name)} of the paper (n = {entry['order']:,}, {entry['nnz']:,} entries)"))
        if abbr:
            rows.append(("in the paper", abbr))
        if matrix["source"].startswith("gen:"):
            rows.append(("generated by", matrix["source"]))
        return [*rows, ("sha256", matrix["sha256"])]

    def order_row(self, name, order):
        line, timed = self.orders[name][order]
        r, metis = line["result"], self.orders[name].get("metis")
        machine = timed and self.machines.get(machines.key_of(timed))
        return {"order": order, "fill": r["fill"], "lu": r["nnz_l"] + r["nnz_u"], "flops": r["flops"], "height": r["height"],
                "ratio": r["flops"] / metis[0]["result"]["flops"] if metis and metis[0]["result"]["flops"] else None,
                "ms": timed and 1e3 * statistics.median_low(timed["samples_s"]), "threads": timed and timed["threads"],
                "machine": machine and machine.host, "place": data.place(timed or line), "commit": (timed or line)["git"]["sha"][:7]}

    def prepared(self, name):
        """Rows of a matrix as it was prepared for timed runs, one for each digest."""
        by_digest = {}
        for run in self.by_matrix.get(name, ()):
            by_digest.setdefault(run["ordering"]["digest"], []).append(run)
        rows = []
        for digest, mine in by_digest.items():
            m, o, r = mine[-1]["matrix"], mine[-1]["ordering"], data.fill_of(mine) or {}
            library = f" ({o['library']})" if o["library"] else ""
            rows.append({"digest": digest, "order": f"rows {o['row']}, columns {o['col']}{library}", "prepared": m["nnz_prepared"],
                         "l": r.get("nnz_l"), "u": r.get("nnz_u"), "lu": r["nnz_l"] + r["nnz_u"] if r else None,
                         "fill": r.get("fill"), "supernodes": r.get("supernodes"), "runs": len(mine)})
        return rows

    def time_row(self, case):
        command, note = data.command(case.last)
        return {"case": case, "load": records.load_of(case.runs), "part": machines.part_of(case.last).text, "machine": self.machines[case.machine], "ratio": self.ratios.get(case),
                "stale": self.stale_of(case.last), "places": [data.place(r) for r in case.runs], "command": command, "note": note}

    def matrix_page(self, name):
        runs, orders, parts = self.by_matrix.get(name, []), self.orders.get(name, {}), self.parts.get(name, {})
        mine = self.cases_of.get(name, [])
        used = {id(r) for c in mine for r in c.runs}
        rest = [r for r in runs if id(r) not in used]
        file = data.bundled_file(name)
        pattern = file and data.read_pattern(file)
        three = [self.order_row(name, o) for o in data.three_orders(orders)]
        ends = [1e3 * x for of in parts.values() for c in of for x in (c.seconds, *(c.interval or ()))]
        return {"name": name, "kind": self.kind(name), "facts": self.facts(name, pattern),
                "picture": pattern and pictures.pattern_png(*pattern),
                "three": three, "most": max((o["flops"] for o in three), default=0),
                "orders": [self.order_row(name, o) for o in sorted(orders)],
                "parts": [(group, [self.time_row(c) for c in of]) for group, of in parts.items()],
                "scale": ends and pictures.Scale([max(x, 1e-3) for x in ends]), "cases": [self.time_row(c) for c in mine],
                "commands": data.commands(self.matrix(name), self.kind(name), [o["order"] for o in three], [
                    of[0].variant for group, of in parts.items() if group.is_cpu or not group.several]),
                "bundled": not data.argument_of(self.matrix(name))[1],
                "prepared": self.prepared(name), "counting": sum(r["counting"] for r in rest), "others": [
                    {"run": r, "place": data.place(r), "command": data.command(r)[0], "reason": data.why_not(r)}
                    for r in rest if not r["counting"]]}

    def growth(self):
        """Panels of time against nnz(L+U), one for each family: of each variant the series of its latest commit. A point is a matrix, by
        its sha256, with a median of several samples."""
        runs = [r for r in map(records.warm, self.all_runs) if growth.family(r["matrix"]["name"]) is not None and "fill" in r["result"]]
        series = {}
        for c in data.cases_of(runs):
            if len(c.samples) > 1:
                key = growth.family(c.matrix), c.variant, c.machine, c.commit, c.label
                series.setdefault(key, {})[c.last["matrix"]["sha256"]] = c
        series = {key: list(of.values()) for key, of in series.items()}
        latest = {}
        for (family, variant, *_), of in sorted(series.items(), key=lambda item: max(c.last["time_utc"] for c in item[1])):
            if len({c.last["matrix"]["n"] for c in of}) > 2:
                latest.setdefault(family, {})[variant] = of
        looks = {v: k for k, v in enumerate(sorted({v for of in latest.values() for v in of}, key=lambda v: (v[:3] != "gpu", v)))}
        panels = []
        for family, by_variant in sorted(latest.items()):
            chosen = sorted(by_variant.items(), key=lambda item: looks[item[0]])
            rows = [(variant, c.last["matrix"]["n"], c.last["result"]["nnz_l"] + c.last["result"]["nnz_u"], 1e3 * c.seconds, c.matrix)
                    for variant, of in chosen for c in sorted(of, key=lambda c: c.last["matrix"]["n"])]
            drawn = {looks[variant]: [(lu, ms, f"{variant}, n = {n:,}: {ms:.4g} ms", self.address(matrix))
                                      for name, n, lu, ms, matrix in rows if name == variant] for variant, _ in chosen}
            panels.append({"family": family, "rows": rows, "keys": [
                (looks[variant], variant, ", ".join([self.where(of[0].last), f"commit {of[0].commit[:7]}",
                                                     *records.load_of(r for c in of for r in c.runs)])) for variant, of in chosen],
                "svg": pictures.chart(drawn, "entries of L+U", "median time, ms", f"{family}: time by entries of L+U", joined=True)})
        return panels

    def address(self, name):
        """The page of a matrix from the top of the site, or None if it has none."""
        return f"matrix/{self.slugs[name]}.html" if name in self.slugs else None

    def made(self):
        """Folders of committed records with the content of each file."""
        folders = {}
        for file, lines in self.lines.items():
            runs = [line for line in lines if "git" in line]
            relative = file.relative_to(ROOT).as_posix()
            stale = {key[2]: text for key, text in self.stale.items() if key[0] == relative}
            folders.setdefault(file.parent.relative_to(RECORDS).as_posix(), []).append({
                "file": file.name, "lines": len(lines),
                "commits": sorted({r["git"]["sha"][:7] for r in runs} | {x["commit"][:7] for x in lines if "commit" in x}),
                "machines": sorted({machines.key_of(r) for r in runs}), "used": self.files.get(file, []),
                "dates": sorted({r["time_utc"][:10] for r in runs}), "stale": sorted(stale.items())})
        return folders

    def write(self, out, figures):
        """Writes all pages into a folder. figures: names of the figures to draw; None: all."""
        env = pages.environment()
        env.globals |= {"css": "", "marks": [mark for _, mark in pictures.MARKS]}

        def page(template, target, **content):
            depth = "../" * target.count("/")
            (out / target).parent.mkdir(parents=True, exist_ok=True)
            (out / target).write_text(env.get_template(template).render(root=depth, here=target, **content), encoding="utf-8")
        for name in ("site.css", "site.js"):
            shutil.copyfile(HERE / name, out / name)
        say("index.html, matrices.html, cases.csv")
        page("index.html.j2", "index.html", **self.index())
        page("matrices.html.j2", "matrices.html", rows=self.matrix_rows(), slugs=self.slugs)
        write_cases(self, out / "cases.csv")
        say(f"matrix/: {len(self.names)} pages")
        for name in self.names:
            page("matrix.html.j2", f"matrix/{self.slugs[name]}.html", **self.matrix_page(name))
        say("board.html, growth.html, made.html")
        page("board.html.j2", "board.html", **self.board)
        page("growth.html.j2", "growth.html", panels=self.growth(), slugs=self.slugs)
        page("made.html.j2", "made.html", folders=self.made(), machines=self.machines)
        say("figures.html")
        judge = claims.Judge()
        if not claims.is_current(judge):
            raise records.Refused("paper/answers.json is not what the records say")
        (out / "figures").mkdir()
        content = build.content_of(judge, out / "figures", figures, say)
        images = {b["name"]: f"figures/{b['name']}.png" for b in content["blocks"] if b["kind"] == "figure"}
        page("report.html.j2", "figures.html", images=images, **content)
        (out / MARK).write_text("A site of the gSoFa testbed: ./testbed site replaces this folder.\n", encoding="utf-8")


def write_cases(site, path):
    """A CSV file with a row for each case."""
    def ms(seconds):
        return "" if seconds is None else f"{1e3 * seconds:.6g}"
    rows = []
    for c in site.cases:
        m, r = c.last["matrix"], data.fill_of(site.by_matrix[c.matrix], c.group[1])
        rows.append((c.matrix, records.kind(m), m["n"], m["nnz"], r["nnz_l"] + r["nnz_u"] if r else "", c.variant, c.label,
                     machines.part_of(c.last).text, site.machines[c.machine].text(), c.commit[:12], ms(c.seconds),
                     *map(ms, c.interval or (None, None)), len(c.samples), ms(c.limit), c.status,
                     f"{site.ratios[c]:.6g}" if c in site.ratios else ""))
    style.write_table(path, COLUMNS, rows)


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
    p.add_argument("--with", dest="own", action="append", type=Path, default=[], metavar="FILE.jsonl", help="your own records, for the board")
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
        names = build.figures()
        if unknown := sorted(set(figures or ()) - set(names)):
            raise records.Refused(f"the report has no figure {unknown[0]}: {', '.join(names)}")
        site = Site(args.own)
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
    print(out / ("board.html" if args.own else "index.html"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
