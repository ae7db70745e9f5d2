"""Fill-reducing orders judged on each kind of inputs: performance profiles (Dolan & More 2002) of the exact operations of the
factorization over the virtual best, which is the least of the anchors. An order's operations on an input are the median over
the numberings of the input that were run. Records: lines of `gsofa order`, also of several machines, since an order needs the
same operations everywhere; times are compared with METIS's on one machine. Writes order_kinds.md too, a table for each kind."""

import csv
import math
import statistics
import sys
from pathlib import Path

import records
import style
from matplotlib import ticker
from orderings import geomean
from style import plt

BASE = "metis"
ANCHORS = (BASE, "metis:nseps=5", "metis:ufactor=400", "metis:nseps=5,ufactor=400", "metis:no2hop=1", "amd", "amf", "scotch")
BETTER = (BASE, "amd")  # the better of these is a second yardstick
LEFT_OUT = ("natural",)  # not fill-reducing
KINDS = ("real", "finite elements", "power grid", "circuit", "generated")
FOLDERS = {"fem": "finite elements", "kkt": "power grid", "circuits": "circuit"}  # of files, by the name of their folder
TABLE = records.ROOT / "experiments" / "orderings" / "kinds.tsv"
NEAR = 1.05  # as good as the virtual best, up to 5 %
LIMITS = 0.5, 4  # of the drawn ratios
# What is drawn, in this order: the orders under judgement as solid lines, some anchors as dashed lines.
DRAWN = {"tournament": "#a02860", "automatic": "#d08a00", "gpu_nested_dissection": "#1a8a85", "cpu_nested_dissection": "#1b2a6b",
         BASE: "#333333", "amd": "#b5651d", "amf": "#5b8c2a", "scotch": "#8a8a8a"}
POINTS = ("kind", "input", "n", "order", "numberings", "operations", "over virtual best", "over better of METIS and AMD",
          "least over median", "most over median", "time over METIS", "threads")


def kind_of(line, table):
    """The kind of the input of a record: by its name in the table, else by the folder of its file."""
    matrix = line["matrix"]
    folder = FOLDERS.get(Path(matrix.get("source", "")).parent.name)
    made = "generated" if matrix["name"].startswith("gen:") else "real"
    return table.get(matrix["name"]) or folder or made


def read_table(path):
    """{name: kind} of a table with these two columns; Refused if a kind is unknown."""
    with open(path, encoding="utf-8", newline="") as f:
        table = {row["name"]: row["kind"] for row in csv.DictReader(f, delimiter="\t")}
    if unknown := set(table.values()) - set(KINDS):
        raise records.Refused(f"{path}: unknown kind '{min(unknown)}', known: {', '.join(KINDS)}")
    return table


class Input:
    """What the orders of one matrix cost. The last record of an order of one numbering counts."""

    def __init__(self, line, kind):
        self.kind = kind
        self.name, self.n, self.nnz = (line["matrix"][key] for key in ("name", "n", "nnz"))
        self.flops = {}  # {order: {shuffle: operations}}
        self.times = {}  # {machine: {order: (seconds, threads) of the fastest record}}

    def add(self, line):
        if (line["matrix"]["n"], line["matrix"]["nnz"]) != (self.n, self.nnz):  # not the sha256: files may lack values
            raise records.Refused(f"{line.place}: another matrix is named {self.name} too")
        self.flops.setdefault(line["order"], {})[line.get("shuffle", 0)] = line["result"]["flops"]
        on = self.times.setdefault((line["machine"]["id"], line.get("cpu", "")), {})
        on[line["order"]] = min(on.get(line["order"], (math.inf, 0)), (records.seconds(line), line["threads"]))

    def operations(self, order):
        return statistics.median(self.flops[order].values())

    def least(self, orders):
        """The fewest operations of several orders, those without a record aside."""
        return min((self.operations(o) for o in orders if o in self.flops), default=0)

    def time(self, order):
        """(time over METIS's, threads) on the last machine that has both, or None."""
        both = [on for on in self.times.values() if order in on and BASE in on]
        return (both[-1][order][0] / both[-1][BASE][0], both[-1][order][1]) if both else None

    def spread(self, order):
        """Least and most operations over their median, of several numberings, or None."""
        found = self.flops[order].values()
        return (min(found) / self.operations(order), max(found) / self.operations(order)) if len(found) > 1 else None


def inputs_of(sources, table):
    """(inputs, names of those left out): an input counts if it has a record of every anchor that any input has."""
    found = {}
    for line in records.read_orders(sources):
        if line["order"] not in LEFT_OUT:
            found.setdefault(line["matrix"]["name"], Input(line, kind_of(line, table))).add(line)
    anchors = {o for i in found.values() for o in i.flops if o in ANCHORS}
    counted = {n: i for n, i in found.items() if anchors <= set(i.flops) and i.least(ANCHORS) > 0}
    if not counted:
        raise records.Absent("no input with a record of every anchor")
    return list(counted.values()), sorted(set(found) - set(counted))


def summary(inputs, order):
    """One row of the table of a kind: numbers by name, None where no input has one."""
    mine = [i for i in inputs if order in i.flops]
    ratios = {i.name: i.operations(order) / i.least(ANCHORS) for i in mine}
    worst = max(ratios, key=ratios.get)
    times = [t for i in mine if (t := i.time(order))]
    spreads = [s for i in mine if (s := i.spread(order))]
    return {"order": order, "inputs": len(mine), "mean": geomean(ratios.values()),
            "near": sum(r <= NEAR for r in ratios.values()) / len(mine), "worst": ratios[worst], "worst input": worst,
            "worst over better": max((i.operations(order) / i.least(BETTER) for i in mine if i.least(BETTER) > 0), default=None),
            "time": statistics.median(t for t, _ in times) if times else None, "threads": sorted({n for _, n in times}),
            "spread": (geomean(s for s, _ in spreads), geomean(s for _, s in spreads), max(s for _, s in spreads)) if spreads else None}


def overview(by_kind):
    """One table of all orders: the geometric mean of each kind, the worst input of all, and what the numbering changes."""
    lines = ["| order | " + " | ".join(f"{kind} ({len(mine)})" for kind, mine in by_kind.items()) +
             " | worst | worst / better of METIS and AMD | most / median numbering |", "|---" * (len(by_kind) + 4) + "|"]
    inputs = [i for mine in by_kind.values() for i in mine]
    for s in sorted((summary(inputs, o) for o in {o for i in inputs for o in i.flops}), key=lambda s: (s["mean"], s["order"])):
        means = [f"{summary(mine, s['order'])['mean']:.3f}" if any(s["order"] in i.flops for i in mine) else "" for mine in by_kind.values()]
        lines.append(f"| `{s['order']}` | {' | '.join(means)} | {s['worst']:.2f} | {digits(s['worst over better'])} | "
                     f"{digits(s['spread'] and s['spread'][1])} |")
    return [*lines, ""]


def digits(value):
    return "" if value is None else f"{value:.3g}"


def markdown(inputs):
    """The summaries as tables, of all kinds and of each kind, the fewest operations first."""
    by_kind = {kind: mine for kind in KINDS if (mine := [i for i in inputs if i.kind == kind])}
    lines = overview(by_kind)
    for kind, mine in by_kind.items():
        lines += [f"**{kind}** ({len(mine)})", "",
                  "| order | operations / virtual best | within 5 % | worst | worst / better of METIS and AMD | time / METIS | "
                  "least and most / median numbering (worst) |", "|---|---|---|---|---|---|---|"]
        for s in sorted((summary(mine, o) for o in {o for i in mine for o in i.flops}), key=lambda s: (s["mean"], s["order"])):
            threads = f", {'/'.join(map(str, s['threads']))} threads" if s["threads"] not in ([], [1]) else ""
            few = f" ({s['inputs']} inputs)" if s["inputs"] < len(mine) else ""
            spread = "{:.3f}, {:.3f} ({:.2f})".format(*s["spread"]) if s["spread"] else ""
            lines.append(f"| `{s['order']}`{threads}{few} | {s['mean']:.3f} | {s['near']:.0%} | {s['worst']:.2f} {s['worst input']} | "
                         f"{digits(s['worst over better'])} | {digits(s['time'])} | {spread} |")
        lines.append("")
    return "\n".join(lines)


def profile(axis, inputs, ticks, width=1):
    """One curve for each drawn order: the share of the inputs within a factor of the virtual best. Returns {order: sorted factors}."""
    curves = {}
    for order, colour in DRAWN.items():
        if mine := sorted(i.operations(order) / i.least(ANCHORS) for i in inputs if order in i.flops):
            curves[order] = mine
            factors = [min(mine[0], LIMITS[0]), *mine, max(mine[-1], LIMITS[1])]
            shares = [0, *((k + 1) / len(mine) for k in range(len(mine))), 1]
            axis.plot(factors, shares, drawstyle="steps-post", color=colour, linewidth=width, linestyle="--" if order in ANCHORS else "-")
    axis.axvline(1, color="black", linewidth=0.6)
    axis.set(xscale="log", xlim=LIMITS, ylim=(0, 1.005))
    axis.xaxis.set_major_locator(ticker.FixedLocator(ticks))
    axis.xaxis.set_major_formatter(ticker.FormatStrFormatter("%g"))
    axis.xaxis.set_minor_locator(ticker.NullLocator())
    axis.yaxis.set_major_formatter(ticker.PercentFormatter(1))
    return curves


def names(axis, curves, inputs):
    """The name of each curve at a height of its own: left of the better half of the curves, right of the others."""
    ranked = sorted(curves, key=lambda order: geomean(curves[order]))
    better = (len(ranked) + 1) // 2
    for k, order in enumerate(ranked):
        left, count = k < better, len(curves[order])
        height = 0.93 - 0.08 * k - (0 if left else 0.1)
        crossing = min(max(curves[order][math.ceil(height * count) - 1], LIMITS[0]), LIMITS[1])
        edge = LIMITS[0] * 1.03 if left else LIMITS[1] / 1.03
        axis.plot([edge, crossing], [height, height], color=DRAWN[order], linewidth=0.5)
        axis.plot(crossing, height, "o", color=DRAWN[order], markersize=3)
        text = f"{order}: {geomean(curves[order]):.3f}" + (f" ({count} inputs)" if count < inputs else "")
        axis.text(edge, height, text, color=DRAWN[order], fontsize=8, va="center", ha="left" if left else "right",
                  bbox={"facecolor": "white", "edgecolor": "none", "pad": 1})


def points(inputs):
    """Rows of the CSV file."""
    def text(values):
        return ["" if v is None else f"{v:.6g}" for v in values]
    for i in sorted(inputs, key=lambda i: (KINDS.index(i.kind), i.name)):
        for order in sorted(i.flops):
            flops, better, time = i.operations(order), i.least(BETTER), i.time(order) or (None, None)
            yield (i.kind, i.name, i.n, order, len(i.flops[order]),
                   *text((flops, flops / i.least(ANCHORS), flops / better if better else None, *(i.spread(order) or (None, None)), *time)))


def draw(args):
    inputs, left_out = inputs_of(args.records, read_table(getattr(args, "kinds", TABLE)))
    fig, axes = plt.subplot_mosaic([["all"] * len(KINDS), KINDS], figsize=(7.4, 5.6), height_ratios=(2.6, 1), layout="constrained")
    axis = axes.pop("all")
    names(axis, profile(axis, inputs, (0.5, 0.7, 1, 1.4, 2, 2.8, 4), 1.6), len(inputs))
    axis.set(title=f"all {len(inputs)} inputs; next to each name the geometric mean", ylabel="share of inputs",
             xlabel="operations over the virtual best")
    for kind, axis in axes.items():
        mine = [i for i in inputs if i.kind == kind]
        profile(axis, mine, (0.5, 1, 2, 4))
        axis.set_title(f"{kind}: {len(mine)}", fontsize=8)
        axis.tick_params(labelsize=7, labelleft=kind == KINDS[0])
    anchors = [o for o in ANCHORS if any(o in i.flops for i in inputs)]
    style.caption(fig, [f"Virtual best: the least of the anchors (dashed: some of them), which are {'; '.join(anchors)}."] +
                  ([f"Left out, since an anchor has no record: {', '.join(left_out)}."] if left_out else []))
    style.save(fig, args.out, "order_kinds", POINTS, points(inputs))
    (args.out / "order_kinds.md").write_text(markdown(inputs), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(style.main(draw, __doc__, lambda p: p.add_argument(
        "--kinds", default=TABLE, type=Path, help="table (name, kind) of inputs whose kind their folder does not give")))
