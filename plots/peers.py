"""gpu_bitmap_panels and every peer on all inputs, with the time to read the matrix and write the result, and a
table of times and of the peers' times over ours. Records: runs with digests, which are verified; peers; and counts.csv, runs
for counts only, whose entries must equal those of the verified runs."""

import collections
import csv
import math
import statistics
import sys

import records
import style
import style_dots as dots
import style_paper as paper

OURS = "gpu_bitmap_panels"
COPY = 4.267e12  # bytes per second, read and written: experiments/records/2026-11-21_h200_x4/bandwidth.json
OWN = "peer_cudss, own order"
SERIES = ((OURS, "gpu_bitmap_panels"), ("gpu_maxid_tuned", "gpu_maxid_tuned"), (OWN, "cuDSS symbolic,\nown order"),
          ("peer_cudss", "cuDSS symbolic,\nMETIS order given"),
          ("peer_superlu_dist", "SuperLU_DIST, 1 core"),
          ("peer_superlu_dist_parallel", "SuperLU_DIST,\n1 to 16 ranks"),
          ("cpu_bitmap_panels", "cpu_bitmap_panels,\n16 threads"))
FAMILIES = {"grid7": "7-point", "grid27": "27-point", "circuit": "circuit"}
COLUMNS = ("matrix", "n", "nnz (L+U)", "panels", "with digests", "maxid tuned", "cuDSS, own order",
           "cuDSS, order given", "1 core", "on ranks", "ranks",
           "16 threads", "1 core / ours", "best CPU / ours", "cuDSS, own order / ours")


def seconds(record):
    """Lower median; of cuDSS the symbolic phase, its reordering phase left out; of the maxId search without digests."""
    if record["variant"] == "peer_cudss":
        return record["phases_s"].get("traverse", records.seconds(record))
    return records.seconds(record)


def series_of(record):
    """The variant; cuDSS in an order of its own is a series by itself."""
    return OWN if record["variant"] == "peer_cudss" and record["options"].get("order") == "own" else record["variant"]


def label_of(name, stand_in):
    """A name for an axis and a narrow column: a generated input of FAMILIES by family and size, any other by its own name."""
    family, _, given = name.removeprefix("gen:").partition(":")
    if name.startswith("gen:") and family in FAMILIES:
        sizes = dict(part.partition("=")[::2] for part in given.split(","))
        size = f"{sizes['nx']}^3" if "nx" in sizes else sizes.get("n")
        if size:
            return f"{FAMILIES[family]} {size}" + (" one-way" if "oneway" in sizes else "")
    return name.removeprefix("gen:") + ("*" if stand_in else "")


def labels_of(matrices):
    """{name: its label} of {name: whether it is a stand-in}; the names themselves where labels would be the same."""
    labels = {m: label_of(m, stand_in) for m, stand_in in matrices.items()}
    several = collections.Counter(labels.values())
    return {m: label if several[label] == 1 else m for m, label in labels.items()}


def digits(value):
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def draw(args):
    tables = [path for path in args.records if path.suffix == ".csv"]
    read = [r for r in records.read_runs(path for path in args.records if path not in tables) if r["samples_s"]]
    times, full, exact, ranks, size, stand_in = {}, {}, {}, {}, {}, {}
    for r in style.accept([r for r in read if r["variant"] == OURS and "pattern" not in r["wants"]], args):
        m = r["matrix"]["name"]
        stand_in[m] = r["matrix"]["stand_in"]
        full[m] = min(seconds(r), full.get(m, math.inf))
        exact[m] = (r["matrix"]["n"], r["result"]["nnz_l"] + r["result"]["nnz_u"])
        size[m] = r["mem"]["device"].get("matrix", 0) + r.get("derived", {}).get("positions", 0) * 24
    for r in read:
        key = (series_of(r), r["matrix"]["name"])
        if r["device"] == "peer" and records.is_usable(r) and seconds(r) < times.get(key, math.inf):
            times[key] = seconds(r)
            ranks[key] = r["mpi"]["ranks"]
    for path in tables:
        with open(path, encoding="utf-8") as f:
            for row in csv.DictReader(f):
                m = row["matrix"]
                if m in exact and int(row["nnz_lu"]) != exact[m][1]:
                    raise records.Refused(f"{m}: {row['variant']} found {row['nnz_lu']} entries, {OURS} {exact[m][1]}")
                times[row["variant"], m] = float(row["ms"]) / 1e3
    matrices = sorted((m for m in exact if (OURS, m) in times), key=lambda m: exact[m][1])
    if not matrices:
        raise records.Absent(f"no runs of {OURS} for counts alone (a counts.csv next to the records)")
    labels = labels_of({m: stand_in[m] for m in matrices})

    fig, (axis,) = paper.figure(height=4.6)
    starts = []
    for k, (variant, label) in enumerate(SERIES):
        points = [(x, 1e3 * times[variant, m]) for x, m in enumerate(matrices) if (variant, m) in times]
        if points:
            cpu = not variant.startswith(("gpu", "peer_cudss"))
            line = "none" if len(points) < len(matrices) else ":" if cpu else "-"
            colour = dots.COLOURS[k % 4]
            axis.plot([x for x, _ in points], [t for _, t in points], marker=style.MARKERS[k % 7], color=colour,
                      markerfacecolor="white" if cpu else colour, linestyle=line, linewidth=0.8, markersize=4)
            starts.append((*points[0], label, colour))
    axis.plot(range(len(matrices)), [1e3 * size[m] / COPY for m in matrices], color="black", linewidth=1, linestyle="--")
    starts.append((0, 1e3 * size[matrices[0]] / COPY, "matrix and result\nat copy bandwidth", "black"))
    axis.set_yscale("log")
    axis.set_ylabel("ms")
    axis.set_xticks(range(len(matrices)), [labels[m] for m in matrices], rotation=90, fontsize=dots.TEXT)
    axis.set_xlim(-0.38 * len(matrices), len(matrices) - 0.5)
    axis.grid(False, axis="x")
    dots.names(axis, starts, left=True)

    def ms(variant, m):
        return digits(1e3 * times[variant, m]) if (variant, m) in times else ""

    rows = []
    one_core, best, own = {}, {}, {}
    for m in matrices:
        ours = times[OURS, m]
        cpus = [times[v, m] for v in ("peer_superlu_dist", "peer_superlu_dist_parallel", "cpu_bitmap_panels")
                if (v, m) in times]
        if ("peer_superlu_dist", m) in times:
            one_core[m] = times["peer_superlu_dist", m] / ours
        if cpus:
            best[m] = min(cpus) / ours
        if (OWN, m) in times:
            own[m] = times[OWN, m] / ours
        rows.append((labels[m], exact[m][0], f"{exact[m][1]:.3g}", ms(OURS, m), digits(1e3 * full[m]), ms("gpu_maxid_tuned", m),
                     ms(OWN, m), ms("peer_cudss", m), ms("peer_superlu_dist", m), ms("peer_superlu_dist_parallel", m),
                     ranks.get(("peer_superlu_dist_parallel", m), ""), ms("cpu_bitmap_panels", m),
                     digits(one_core[m]) if m in one_core else "", digits(best[m]) if m in best else "",
                     digits(own[m]) if m in own else ""))
    means = [f"{statistics.geometric_mean(found.values()):.3g}" if found else "" for found in (one_core, best, own)]
    rows.append(("geometric mean", *[""] * (len(COLUMNS) - 4), *means))
    style.save(fig, args.out, "peers", COLUMNS, rows)


if __name__ == "__main__":
    sys.exit(style.main(draw, __doc__))
