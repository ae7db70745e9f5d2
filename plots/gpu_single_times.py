"""Times of the GPU variants and their ablations on one GPU, one row of points per matrix."""

import statistics
import sys

import records
import style
import style_dots as dots
from style import plt

MAIN = ("gpu_fill2_naive", "gpu_maxid", "gpu_fill2_bitparallel", "cpu_fill2_parallel", "cpu_gilbert_peierls")
ABLATIONS = ("gpu_maxid_line95", "gpu_maxid_no_bubble_removal", "gpu_maxid_no_dynamic_allocation", "gpu_maxid_no_external_frontier",
             "gpu_maxid_no_range_reuse", "gpu_maxid_scan_enqueue", "gpu_maxid_separate_queues", "gpu_maxid_thread_centric")


def draw(args):
    runs = [r for r in records.read_runs(args.records)
               if r["samples_s"] and "pattern" not in r["wants"] and
               r["variant"] in MAIN + ABLATIONS]
    if not any(r["variant"] == "gpu_maxid" for r in runs):
        raise records.Absent(f"{records.named(args.records)} has no timed runs of GPU variants")
    last = {}
    for r in style.accept(runs, args):
        last[(r["matrix"]["name"], r["variant"])] = r
    matrices = list(dict.fromkeys(m for m, _ in last))
    by_time = {m: statistics.median(last[(m, "gpu_maxid")]["samples_s"])
               for m in matrices if (m, "gpu_maxid") in last}
    if not by_time:
        raise records.Absent(f"{records.named(args.records)} has no verified run of gpu_maxid")
    matrices = sorted(by_time, key=by_time.get)

    figure, (left, right) = plt.subplots(1, 2, figsize=(9.6, 3.4), layout="constrained",
                                         width_ratios=(3, 2))
    rows, ends = [], []
    for k, v in enumerate(MAIN):
        points = [(x, 1e3 * statistics.median(last[(m, v)]["samples_s"]))
                  for x, m in enumerate(matrices) if (m, v) in last]
        if not points:
            continue
        hollow = v.startswith("cpu_")
        colour = dots.COLOURS[k % 4]
        left.plot([x for x, _ in points], [ms for _, ms in points], linestyle=":", linewidth=0.6,
                  marker=style.MARKERS[k], color=colour, markerfacecolor="white" if hollow else colour)
        ends.append((*points[-1], v, colour))
        rows += [("time_ms", matrices[x], v, f"{ms:.6g}") for x, ms in points]
    left.set_yscale("log")
    left.set_ylabel("ms, median")
    labels = [m.removeprefix("gen:").split(",seed")[0].replace(",drop", ",\ndrop") for m in matrices]
    left.set_xticks(range(len(matrices)), labels, rotation=60, fontsize=7)
    left.set_xlim(-0.5, 1.5 * len(matrices))
    dots.names(left, ends)

    ablations = [v for v in ABLATIONS if any((m, v) in last for m in matrices)]
    for y, v in enumerate(ablations):
        ratios = []
        for m in matrices:
            if (m, v) in last:
                ratio = statistics.median(last[(m, v)]["samples_s"]) / by_time[m]
                ratios.append(ratio)
                rows.append(("over_gpu_maxid", m, v, f"{ratio:.6g}"))
        right.plot(ratios, [y] * len(ratios), "o", color=dots.COLOURS[1], markersize=4)
        mean = statistics.geometric_mean(ratios)
        right.plot([mean], [y], "D", color=dots.COLOURS[0], markersize=5)
        right.annotate(f"{mean:.2f}", (1.01, y), xycoords=right.get_yaxis_transform(), fontsize=7, va="center",
                       annotation_clip=False)
    right.axvline(1, color="black", linewidth=0.8)
    right.set_xscale("log")
    right.set_xticks((1, 1.5, 2, 3), ("1", "1.5", "2", "3"))
    right.minorticks_off()
    right.set_yticks(range(len(ablations)), [v.removeprefix("gpu_maxid_") for v in ablations])
    right.set_xlabel("time over gpu_maxid (diamond: geometric mean)")
    right.invert_yaxis()
    style.save(figure, args.out, "gpu_single_times", ("panel", "matrix", "variant", "value"), rows)


if __name__ == "__main__":
    sys.exit(style.main(draw, __doc__))
