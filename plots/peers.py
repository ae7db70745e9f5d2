"""gpu_bitmap_panels and every peer on all inputs, with the time that reading the matrix and writing the result needs; and
the table of it: times, and the peers' over ours."""

import math
import statistics
import sys

import style
import style_paper as paper

OURS = "gpu_bitmap_panels"
COPY = 4.267e12  # bytes per second, read and written: experiments/records/2026-11-21_h200_x4/bandwidth.json
# Series: variant, label, condition on a record.
SERIES = ((OURS, "gpu_bitmap_panels", lambda r: "digest" not in r["wants"]),
          ("gpu_maxid_tuned", "gpu_maxid_tuned", None),
          ("peer_cudss", "cuDSS, symbolic phase", None),
          ("peer_superlu_dist", "SuperLU_DIST, 1 core", None),
          ("peer_superlu_dist_parallel", "SuperLU_DIST, best of 1 to 16 ranks", None),
          ("cpu_bitmap_panels", "cpu_bitmap_panels, 16 threads", lambda r: r["threads"] == 16))
COLUMNS = ("matrix", "n", "nnz(L+U)", "panels", "panels, digests", "maxid_tuned", "cuDSS", "1 core", "parallel", "ranks",
           "16 threads", "1 core / ours", "best CPU / ours")


def plain(record):
    """All options at their defaults, as the session's first jobs have them."""
    return "pattern" not in record["wants"] and not record["counting"] and record["samples_s"]


def seconds(record):
    """Lower median; of cuDSS the symbolic phase, its reordering phase left out; of the maxId search without digests."""
    if record["variant"] == "peer_cudss":
        return record["phases_s"]["traverse"]
    return statistics.median_low(record["samples_s"])


def name_of(record):
    label = record["matrix"]["name"].removeprefix("gen:").split(",seed")[0]
    return label + ("*" if record["matrix"]["stand_in"] else "")


def draw(args):
    sources = args.records if isinstance(args.records, list) else [args.records]
    records = [r for path in sources for r in style.read_records(path) if plain(r)]
    # Counts without digests cannot be compared with digests: the same runs with them, which are verified, stand beside.
    times, full, exact, ranks, size = {}, {}, {}, {}, {}
    for r in records:
        matrix = name_of(r)
        if r["variant"] == OURS and "digest" in r["wants"]:
            if r["status"] != "pass":
                raise style.Refused(f"{matrix}: an unverified run of {OURS}")
            full[matrix] = min(seconds(r), full.get(matrix, math.inf))
            exact[matrix] = (r["matrix"]["n"], r["result"]["nnz_l"] + r["result"]["nnz_u"])
            size[matrix] = r["mem"]["device"].get("matrix", 0) + r["derived"].get("positions", 0) * 24
            continue
        for variant, _, condition in SERIES:
            if r["variant"] == variant and (condition is None or condition(r)):
                t = seconds(r)
                if t < times.get((variant, matrix), math.inf):
                    times[variant, matrix] = t
                    if variant.endswith("_parallel"):
                        ranks[matrix] = r["mpi"]["ranks"]
    for r in records:
        matrix = name_of(r)
        if r["variant"] == OURS and matrix in exact:
            if r["result"]["nnz_l"] + r["result"]["nnz_u"] != exact[matrix][1]:
                raise style.Refused(f"{matrix}: runs of {OURS} disagree")
    matrices = sorted((m for m in exact if (OURS, m) in times), key=lambda m: exact[m][1])
    if not matrices:
        raise style.Absent(f"no runs of {OURS}")

    fig, (axis,) = paper.figure(height=4.6, width=7.2)
    for k, (variant, label, _) in enumerate(SERIES):
        points = [(x, 1e3 * times[variant, m]) for x, m in enumerate(matrices) if (variant, m) in times]
        if points:
            cpu = not variant.startswith("gpu") and variant != "peer_cudss"
            axis.plot([x for x, _ in points], [t for _, t in points], marker=style.MARKERS[k % 7],
                      color=style.GREYS[k % 3], markerfacecolor="white" if cpu else style.GREYS[k % 3],
                      linestyle=":" if cpu else "-", linewidth=0.8, markersize=4.5, label=label)
    axis.plot(range(len(matrices)), [1e3 * size[m] / COPY for m in matrices], color="black", linewidth=1,
              linestyle="--", label="matrix and result at copy bandwidth")
    axis.set_yscale("log")
    axis.set_ylabel("ms")
    axis.set_xticks(range(len(matrices)), matrices, rotation=90, fontsize=6)
    axis.legend(fontsize=6.5, ncols=2, loc="lower left", bbox_to_anchor=(0, 1))

    def ms(variant, m):
        return f"{1e3 * times[variant, m]:.3g}" if (variant, m) in times else ""

    rows = []
    one_core, best = {}, {}
    for m in matrices:
        ours = times[OURS, m]
        cpus = [times[v, m] for v in ("peer_superlu_dist", "peer_superlu_dist_parallel", "cpu_bitmap_panels")
                if (v, m) in times]
        if ("peer_superlu_dist", m) in times:
            one_core[m] = times["peer_superlu_dist", m] / ours
        if cpus:
            best[m] = min(cpus) / ours
        rows.append((m, exact[m][0], f"{exact[m][1]:.3g}", ms(OURS, m), f"{1e3 * full[m]:.3g}", ms("gpu_maxid_tuned", m),
                     ms("peer_cudss", m), ms("peer_superlu_dist", m), ms("peer_superlu_dist_parallel", m),
                     ranks.get(m, ""), ms("cpu_bitmap_panels", m),
                     f"{one_core[m]:.3g}" if m in one_core else "", f"{best[m]:.3g}" if m in best else ""))
    means = [f"{math.exp(statistics.fmean(map(math.log, found.values()))):.3g}" if found else "" for found in (one_core, best)]
    rows.append(("geometric mean", *[""] * (len(COLUMNS) - 3), *means))
    style.save(fig, args.out, "peers", COLUMNS, rows)


if __name__ == "__main__":
    sys.exit(paper.main(draw, __doc__))
