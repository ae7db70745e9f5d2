"""Figure 4 of the paper: average frontier size of each source of the maxId search, 1,024 at a time, over the source ID on bcsstk18;
its rank correlation with the source, and the largest over the smallest source, on all matrices. All panels are of one set of
records of the counting build; the sizes of all sources may be in frontier.jsonl.gz next to them."""

import sys

from matplotlib import ticker

import records
import records_ratios as ratios
import style
import style_kinds as kinds

NAME = "fig04_frontier_size"
ANSWER = ("On real matrices the rank correlation of a source's frontier size with its ID is "
          "{rank correlation of frontier size and source}, and the largest source is {largest over smallest source} times the smallest")
WINDOW_SHARE = 0.02  # of all sources, for the moving average


def moving_average(values, half):
    """Mean over [k - half, k + half], cut at the ends."""
    sums = [0.0]
    for v in values:
        sums.append(sums[-1] + v)
    n = len(values)
    return [(sums[min(n, k + half + 1)] - sums[max(0, k - half)]) / (min(n, k + half + 1) - max(0, k - half)) for k in range(n)]


def statistic(number):
    """A quantity of the statistics of the frontier sizes of a run; None where no source has a frontier."""
    def of(run):
        stats = run.get("series_stats", {}).get("frontier_size", {})
        return number(stats) if {"most", "least_positive", "rank_correlation"} <= set(stats) else None
    return ratios.case("gpu_maxid", of, counting=True, concurrent_sources=1024)


def sources(axis, run):
    """Every source of a run as a dot, and their moving average; rows for the CSV."""
    sizes, name = run["series"]["frontier_size"], run["matrix"]["name"]
    half = max(1, round(len(sizes) * WINDOW_SHARE / 2))
    axis.plot(range(len(sizes)), sizes, color="#8fb8d6", rasterized=True, marker=".", markersize=1.6, linestyle="none")
    axis.plot(range(len(sizes)), moving_average(sizes, half), color="black")
    at_once = f"{run['options'].get('concurrent_sources') or 'all'}"
    axis.set_title(f"{name}, {run['ordering']['col'].upper()} order, #C = {at_once}; line: mean of {2 * half + 1:,} neighbours",
                   loc="left", fontsize=8.5)
    axis.set_xlabel("source ID", fontsize=8)
    axis.set_ylabel("frontier size", fontsize=8)
    axis.xaxis.set_major_formatter(ticker.EngFormatter(sep=""))
    axis.set_xlim(0, len(sizes) - 1)
    axis.set_ylim(0, 1.1 * max(sizes) or 1)
    return [("sources", "", name, k, f"{s:.6g}", "", "", "") for k, s in enumerate(sizes)]


def draw(args):
    table = ratios.Table(args)
    rank = table.quantity(lambda a: a, statistic(lambda s: s["rank_correlation"]))
    spread = table.quantity(lambda a: a, statistic(lambda s: s["most"] / s["least_positive"]))
    folders = sorted({source if source.is_dir() else source.parent for source in table.sources})
    kept = [path for folder in folders if (path := folder / "frontier.jsonl.gz").exists()]
    shown = [r for r in table.runs + records.accept(records.read_runs(kept), "leave out", True)
             if r["counting"] and r["variant"] == "gpu_maxid" and r.get("series", {}).get("frontier_size")]
    shown = [r for r in shown if table.kind(r["matrix"]["name"]) == "original"][-1:]
    if not rank.each and not shown:
        raise records.Absent(f"{records.named(args.records)}: no frontier sizes of gpu_maxid by the counting build")
    fig, axes = kinds.panels(len(shown) + 2 * bool(rank.each), len({v.kind for v in rank.each.values()}))
    rows = []
    for axis, run in zip(axes, shown):
        rows += sources(axis, run)
    if rank.each:
        rows += kinds.panel(axes[-2], rank, "rank correlation of frontier size and source", "correlation", how="median", log=False, line=0)
        rows += kinds.panel(axes[-1], spread, "largest over smallest source", "ratio", ((1265, "BC 1,265"), (6230, "TT 6,230")), "median",
                            line=None)
    kinds.save(fig, args, NAME, table, rows, answer=ANSWER)


if __name__ == "__main__":
    sys.exit(style.main(draw, __doc__))
