"""Every timed variant on every matrix of the records, one panel for each machine: median time (dots) with the fastest and the
slowest sample (lines), and the ratio of the medians to the medians of a baseline with its 95 % interval. Accepts any records.
An arrow is a bound from a run that exceeded its limit; a hollow mark is a run that was not verified, or that used more threads
than the machine has; an asterisk marks a stand-in. compare.csv has all points, also those that the picture has no room for."""

import collections
import dataclasses
import math
import statistics
import sys
import textwrap

import numpy
from matplotlib import ticker

import records
import records_ratios as ratios
import style
import style_dots as dots
from style import plt

BASELINES = ("gpu_maxid", "cpu_maxid")
FEW = len(dots.MARKERS)  # series that markers tell apart in grey; more have rows of their own
MOST_SERIES, MOST_ROWS, MOST_COLUMNS, MOST_MACHINES = 30, 30, 5, 6
ROW = 0.17  # inches
HEADER = ("machine", "matrix", "n", "variant", "settings", "status", "samples", "median_s", "fastest_s", "slowest_s", "bound",
          "ratio", "ratio_low", "ratio_high", "baseline")
TRIED = ("pass", "unverified", "timeout")


class Case:
    """A variant with its settings on a matrix: samples, or the seconds after which it was ended."""

    def __init__(self, runs):
        timed = [r for r in runs if r["status"] != "timeout"]
        self.run = records.pooled(timed) if timed else runs[-1]
        self.late = not timed
        self.verified = not timed or all(records.is_usable(r) for r in timed)
        if self.late:
            self.samples = ()
            self.time = ratios.at_least(max(map(records.limit_of, runs)))
        else:
            self.samples = self.run["samples_s"]
            self.time = ratios.of_samples(self.samples, records.case_name(self.run))
        self.ratio = None


class Machine:
    """What one machine measured: cases by series and matrix, the baseline, and what was left out."""

    def __init__(self, runs, baseline):
        last = runs[-1]
        gpus = collections.Counter(g["name"] for g in max(runs, key=lambda r: len(r["gpus"]))["gpus"])
        self.name = ", ".join([f"{k} x {name}" for name, k in gpus.items()] + [last["cpu"], f"host {last['host']}"])
        self.identity = last.get("machine", {}).get("id", "")
        self.cases = {(s, m): Case(records.of_last(those)) for (s, m), those in grouped(runs).items()}
        self.matrices = sorted({m for _, m in self.cases}, key=lambda m: (self.order(m), m))
        self.baseline = self.chosen(baseline)
        for (_, m), case in self.cases.items():
            base = self.cases.get((self.baseline, m))
            if base:
                case.ratio = ratios.over(case.time, base.time)
        self.series = sorted({s for s, _ in self.cases}, key=lambda s: (-len(self.on(s)), self.typical(s), s))

    def order(self, matrix):
        return next(c.run["matrix"]["n"] for (_, m), c in self.cases.items() if m == matrix)

    def on(self, series):
        return [m for s, m in self.cases if s == series]

    def chosen(self, baseline):
        """The series of the named variant, or of the first of BASELINES, or of any, that is on most matrices."""
        known = {s: len([m for m in self.on(s) if not self.cases[s, m].late]) for s in {s for s, _ in self.cases}}
        wanted = [baseline] if baseline else [b for b in BASELINES if any(variant == b for variant, _ in known)]
        among = [s for s in known if not wanted or s[0] == wanted[0]]
        return min(among, key=lambda s: (-known[s], s), default=None)

    def typical(self, series):
        """What series are ordered by: geometric mean of the ratios, or of the times where there are none."""
        mine = [self.cases[series, m] for m in self.on(series)]
        numbers = [c.ratio.number for c in mine if c.ratio] or [c.time.number for c in mine]
        return statistics.geometric_mean(numbers)


def grouped(runs):
    """{(series, matrix): runs}. A series is a variant with the settings in which its runs on one matrix differ; a matrix is
    named with its order where it was run in several."""
    orders = collections.defaultdict(set)
    for r in runs:
        orders[r["matrix"]["name"]].add(r["ordering"]["col"])

    def matrix(r):
        name = r["matrix"]["name"]
        return name + ("*" if r["matrix"]["stand_in"] else "") + (f" ({r['ordering']['col']})" if len(orders[name]) > 1 else "")
    values = collections.defaultdict(lambda: collections.defaultdict(set))
    for r in runs:
        for key, value in everything(r).items():
            values[r["variant"], matrix(r)][key].add(value)
    differ = collections.defaultdict(set)
    for (variant, _), settings in values.items():
        differ[variant] |= {key for key, several in settings.items() if len(several) > 1}
    out = collections.defaultdict(list)
    for r in runs:
        mine = everything(r)
        named = ", ".join(f"{key}={mine[key]}" for key in sorted(differ[r["variant"]]) if key in mine)
        out[(r["variant"], named), matrix(r)].append(r)
    return out


def everything(run):
    """All that makes runs of a variant on a matrix different cases, as text."""
    return ({key: records.as_text(value) for key, value in records.settings(run).items()} |
            {"want": "+".join(sorted(run["wants"]))})


def shown(series):
    variant, settings = series
    return f"{variant} ({settings})" if settings else variant


def narrow(series, width=42):
    """The same for a legend or an axis, in lines."""
    return "\n".join(textwrap.wrap(shown(series), width, break_on_hyphens=False))


def drawn(axis, case, y, value, colour, marker, notes, size=dots.SIZE):
    """A point at y with its line, or an arrow; value: a ratios.Value in the unit of the axis, spread: its line."""
    found, spread = value
    if found.bound:
        side = 11 if found.bound > 0 else -11
        axis.annotate("", xy=(found.number, y), xytext=(side, 0), textcoords="offset points", gid="bound",
                      arrowprops={"arrowstyle": "<-", "color": colour, "linewidth": 1, "shrinkA": 0, "shrinkB": 0})
        notes.add("arrow: at least, or at most (limit passed)")
    elif spread and spread[0] < spread[1]:
        axis.plot(spread, [y, y], color=colour, linewidth=1.1, solid_capstyle="butt", gid="spread")
    if not case.verified:
        notes.add("hollow: unverified, or more threads than the machine has")
    axis.plot([found.number], [y], marker=marker, color=colour, markerfacecolor=colour if case.verified else "white",
              markersize=size, markeredgewidth=1, linestyle="none", gid="value")


def unit_of(cases):
    """(factor, name) for the times of a machine."""
    middle = statistics.median(c.time.number for c in cases)
    return (1e6, "µs") if middle < 1e-4 else (1e3, "ms") if middle < 1 else (1, "s")


def limits(axis, numbers, also=(), ticks=9):
    """A logarithmic x axis that has room for numbers and their arrows; ticks: maximum number, if the axis spans decades."""
    numbers = [x for x in (*numbers, *also) if x > 0 and math.isfinite(x)]
    least, most = math.log10(min(numbers)), math.log10(max(numbers))
    room = max(0.08 * (most - least), 0.05)
    axis.set_xscale("log")
    axis.set_xlim(10 ** (least - room), 10 ** (most + 1.4 * room))
    dots.plain_log(axis.xaxis)
    if most - least > ticks / 4:
        axis.xaxis.set_major_locator(ticker.LogLocator(numticks=ticks))
        axis.xaxis.set_major_formatter(ticker.FuncFormatter(lambda v, _: plain(v)))
    axis.tick_params(axis="x", labelsize=dots.TEXT)


def plain(value):
    """A power of ten in little room."""
    return f"{value:g}" if 1e-3 <= value < 1e4 else style.power(round(math.log10(value)))


def spread_of(case, factor):
    return (factor * min(case.samples), factor * max(case.samples)) if len(case.samples) > 1 else None


def scaled(found, factor):
    return dataclasses.replace(found, values=found.values * factor)


def high(label):
    """Height of a row with such a name, in rows."""
    return 1 + 0.62 * label.count("\n")


def rows_axis(axis, labels, first):
    """Rows from the top, as high as their names are, which stand at the first axis. Returns where each is."""
    ends = numpy.cumsum([high(text) for text in labels])
    at = [float(end - high(text) / 2) for end, text in zip(ends, labels)]
    axis.set_ylim(ends[-1], 0)
    axis.set_yticks(at, labels if first else [""] * len(labels), fontsize=dots.TEXT, linespacing=0.95)
    axis.tick_params(axis="y", length=0)
    return at


def baseline_line(axis):
    axis.axvline(1, color="black", linewidth=0.8, zorder=1)


def by_matrix(figure, machine, series, matrices, notes):
    """Few series: a row for each matrix, a marker for each series."""
    factor, unit = unit_of(machine.cases.values())
    ratios = len(series) > 1 and any(machine.cases[k].ratio for k in machine.cases if k[0] != machine.baseline)
    axes = figure.subplots(1, 1 + ratios, squeeze=False, sharey=False)[0]
    for column, axis in enumerate(axes):
        numbers, at = [], rows_axis(axis, matrices, column == 0)
        for k, s in enumerate(series):
            shift = (k - (len(series) - 1) / 2) * 0.62 / len(series)
            colour = dots.COLOURS[k] if len(series) > 1 else "black"
            for y, m in zip(at, matrices):
                case = machine.cases.get((s, m))
                if not case or (column and (not case.ratio or s == machine.baseline)):
                    continue
                value = (case.ratio, case.ratio.interval()) if column else (scaled(case.time, factor), spread_of(case, factor))
                numbers += [value[0].number, *(value[1] or ())]
                drawn(axis, case, y + shift, value, colour, dots.MARKERS[k], notes)
        limits(axis, numbers, (1,) if column else ())
        if column:
            baseline_line(axis)
            axis.set_xlabel(f"time over that of {narrow(machine.baseline)}\n(left of 1: faster)", fontsize=dots.TEXT + 1)
        else:
            axis.set_xlabel(f"time of a run, {unit}", fontsize=dots.TEXT + 1)
    if len(series) > 1:
        handles = [plt.Line2D([], [], marker=dots.MARKERS[k], color=dots.COLOURS[k], linestyle="none", markersize=dots.SIZE,
                              label=narrow(s)) for k, s in enumerate(series)]
        axes[0].legend(handles=handles, loc="lower left", bbox_to_anchor=(0, 1), fontsize=dots.TEXT,
                       handletextpad=0.2, borderpad=0)


def by_series(figure, machine, series, matrices, notes):
    """Many series: a row for each, an axis for each of some matrices, and one of the ratios on all."""
    factor, unit = unit_of(machine.cases.values())
    ratios = any(machine.cases[k].ratio for k in machine.cases if k[0] != machine.baseline)
    columns, names = len(matrices) + ratios, [narrow(s) for s in series]
    axes = figure.subplots(1, columns, squeeze=False,
                           width_ratios=[1] * len(matrices) + [1.5] * ratios)[0]
    for column, (axis, m) in enumerate(zip(axes, matrices)):
        numbers, at = [], rows_axis(axis, names, column == 0)
        for y, s in zip(at, series):
            case = machine.cases.get((s, m))
            if not case:
                axis.annotate("–", (0.02, y), xycoords=axis.get_yaxis_transform(), fontsize=dots.TEXT, color=dots.GREY,
                              va="center", gid="missing")
                notes.add("–: not run, or not successfully")
                continue
            value = scaled(case.time, factor), spread_of(case, factor)
            numbers += [value[0].number, *(value[1] or ())]
            drawn(axis, case, y, value, dots.COLOURS[0] if s != machine.baseline else "black",
                  "o" if s != machine.baseline else "s", notes, 4)
        limits(axis, numbers, ticks=4)
        axis.set_title("\n".join(textwrap.wrap(m, 17)), fontsize=dots.TEXT)
        axis.set_xlabel(f"time, {unit}", fontsize=dots.TEXT)
    if ratios:
        axis, numbers = axes[-1], []
        at = rows_axis(axis, names, False)
        for y, s in zip(at, series):
            cases = [machine.cases[s, m] for m in machine.on(s)]
            found = [c for c in cases if c.ratio]
            if s == machine.baseline or not found:
                continue
            numbers += [c.ratio.number for c in found]
            for c in found:
                axis.plot([c.ratio.number], [y], marker={1: ">", -1: "<", 0: "o"}[c.ratio.bound], markersize=2.6,
                          color=dots.COLOURS[1], markerfacecolor=dots.COLOURS[1] if c.verified else "white",
                          markeredgewidth=0.5, linestyle="none", gid="each")
                if c.ratio.bound:
                    notes.add("triangle: a bound (limit passed)")
            if len(found) > 1 and not any(c.ratio.bound for c in found):
                mean = statistics.geometric_mean(c.ratio.number for c in found)
                axis.plot([mean], [y], marker="|", markersize=9, markeredgewidth=1.8, color="black", linestyle="none", gid="mean")
                notes.add("bar: geometric mean")
        limits(axis, numbers, (1,), ticks=5)
        baseline_line(axis)
        axis.set_title("ratio on each matrix" if len(machine.matrices) > 1 else "ratio", fontsize=dots.TEXT)
        axis.set_xlabel(f"time over that of\n{narrow(machine.baseline, 20)}\n(left of 1: faster)", fontsize=dots.TEXT)


def chosen_matrices(machine, series, most):
    """Those that most of the series ran on, of them the largest; in the order of their size."""
    count = collections.Counter(m for s, m in machine.cases if s in series)
    best = sorted(machine.matrices, key=lambda m: (-count[m], -machine.order(m), m))[:most]
    return [m for m in machine.matrices if m in best]


def plan(machine):
    """(series, matrices, height in inches, what is not in the picture) of a machine."""
    series = machine.series[:MOST_SERIES]
    if machine.baseline not in series:
        series = series[:-1] + [machine.baseline]
    few = len(series) <= FEW
    series.sort(key=lambda s: (machine.typical(s), s))
    matrices = chosen_matrices(machine, set(series), MOST_ROWS if few else MOST_COLUMNS)
    lines = max(2, len(matrices) * (0.7 + 0.45 * len(series))) if few else sum(high(narrow(s)) for s in series)
    left = []
    if len(series) < len(machine.series):
        gone = [s for s in machine.series if s not in series]
        left.append(f"{len(gone)} of {len(machine.series)} variants: {records.few(map(shown, gone))}")
    if len(matrices) < len(machine.matrices):
        gone = [m for m in machine.matrices if m not in matrices]
        left.append(f"{len(gone)} of {len(machine.matrices)} matrices: {records.few(gone)}" +
                    ("" if few else " (the ratios have all)"))
    return series, matrices, ROW * lines + (0.9 if few else 1.3), left


def timed(runs):
    """Runs with times, or ended at a known limit."""
    return [r for r in runs if not r["counting"] and r["status"] in TRIED and
            (r["samples_s"] if r["status"] != "timeout" else records.limit_of(r))]


def cells(found):
    """Number, interval and bound of a ratios.Value or None, for the CSV."""
    if found is None:
        return "", "", "", ""
    low, high = (f"{x:.6g}" for x in found.interval()) if found.interval() else ("", "")
    return f"{found.number:.6g}", low, high, {1: "at least", -1: "at most", 0: ""}[found.bound]


def rows_of(machine):
    """Rows of the CSV."""
    for s in machine.series:
        for m in machine.matrices:
            case = machine.cases.get((s, m))
            if case:
                number, low, high, bound = cells(case.ratio)
                ends = [f"{f(case.samples):.6g}" for f in (min, max)] if case.samples else ("", "")
                yield (machine.name, m, case.run["matrix"]["n"], *s, case.run["status"], len(case.samples),
                       f"{case.time.number:.6g}", *ends, "at least" if case.late else bound, number, low, high,
                       shown(machine.baseline) if number else "")


def add_options(parser):
    parser.add_argument("--baseline", metavar="VARIANT", default="", help="what ratios are to; default: "
                        f"{' or '.join(BASELINES)} if it is there, else the variant on most matrices")


def machines_of(args):
    """Machine objects, those with most runs first."""
    read = records.read_runs(args.records)
    runs, baseline = timed(read), getattr(args, "baseline", "")
    if not runs:
        raise records.Absent("no run with times")
    if baseline and all(r["variant"] != baseline for r in runs):
        raise records.Refused(f"no timed run of the baseline '{baseline}'; there are "
                              f"{records.few(sorted({r['variant'] for r in runs}), 12)}")
    several = collections.defaultdict(list)
    for r in runs:
        several[records.machine(r)].append(r)
    machines = [Machine(those, baseline) for those in sorted(several.values(), key=lambda those: -len(those))]
    alike = collections.Counter(m.name for m in machines)
    for k, m in enumerate(machines, 1):
        if alike[m.name] > 1:
            m.name += f", machine {m.identity or k}"
    return machines


def draw(args):
    machines = machines_of(args)
    plans = [plan(m) for m in machines[:MOST_MACHINES]]
    fig = plt.figure(figsize=(7.6, sum(p[2] + 0.25 for p in plans) + 0.3), layout="constrained")
    parts = numpy.atleast_1d(fig.subfigures(len(plans), 1, height_ratios=[p[2] for p in plans]))
    for part, machine, (series, matrices, _, left) in zip(parts, machines, plans):
        notes = set()
        (by_matrix if len(series) <= FEW else by_series)(part, machine, series, matrices, notes)
        below = ["; ".join(sorted(notes))] if notes else []
        if left:
            below.append("Not in the picture: " + "; ".join(left) + ". compare.csv has them.")
        if machine is machines[len(plans) - 1] and len(machines) > len(plans):
            below.append(f"{len(machines) - len(plans)} more machines are in compare.csv.")
        if machine is machines[len(plans) - 1]:
            below += records.left_out(args.records)
        part.suptitle(textwrap.fill(machine.name, 100), fontsize=dots.TEXT + 1, x=0.01, ha="left")
        if below:
            part.supxlabel("\n".join(textwrap.fill(text, 125) for text in below), fontsize=dots.TEXT - 0.5, x=0.01, ha="left",
                           color=dots.GREY)
    style.save(fig, args.out, "compare", HEADER, [row for m in machines for row in rows_of(m)])


if __name__ == "__main__":
    sys.exit(style.main(draw, __doc__, add_options))
