#!/usr/bin/env bash
# Runs the GPU and CPU cases of the paper's figures and tables on a host with NVIDIA GPUs, a job on each GPU at a time.
# Usage: experiments/paper_session.sh OUT "STEP..." [SECONDS]     No job starts after SECONDS (default 500).
# Steps, in the order given:
#   small     the matrices that take up to a second: every comparison on one GPU
#   pairs     the same with two GPUs: schedules, page faults, chunk sizes
#   faults    page faults and repeated fill-ins alone (counting build)
#   profile   memory throughput of the traversal (ncu), in profile.jsonl
#   large     PR HM DI AU: one run of each
#   budgets   PR HM DI AU within 1 GB and 5 GB of device memory, the shortest first
#   cpu       one-thread variants and fill2 on 16 threads; goes on beside all the others
# OUT receives timed.*.jsonl and counting.*.jsonl (joined to records.jsonl and counting.jsonl), a log of each job and jobs.txt.
# Environment: GSOFA_BUILD (default build/device, with gsofa and gsofa_counting built), GSOFA_PREPARED (default
# GSOFA_BUILD/prepared: NAME.metis.bin, e.g. AU.metis.bin, as `gsofa experiment --prepared` keeps them), PAPER_SMALL, PAPER_LARGE: matrices.
# Exit status: 0 if every job passed. Calling it again with the same OUT goes on where it stopped.
set -uo pipefail
[[ $# -ge 2 && $# -le 3 ]] || { sed -n '2,16p' "$0" | sed 's/^# \?//'; exit 2; }
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root" || exit 2
# shellcheck source=experiments/gpu_queue.sh
source experiments/gpu_queue.sh
mkdir -p "$1" || exit 2
# Commands go into the records: paths relative to the tree, which mean something elsewhere too.
out=$(realpath --relative-to="$root" "$1")
end=$((SECONDS + ${3:-500}))
build=${GSOFA_BUILD:-build/device}
prepared=${GSOFA_PREPARED:-$build/prepared}
small=${PAPER_SMALL:-BC EP G7 LH MK RM BB ST TT}
large=${PAPER_LARGE:-PR HM DI AU}
[[ -x $build/gsofa && -x $build/gsofa_counting ]] || { echo "paper_session: error: $build has no gsofa" >&2; exit 2; }
mapfile -t gpus < <(nvidia-smi --list-gpus | awk '{ print NR - 1 }')
pair=$(IFS=,; echo "${gpus[*]:0:2}")

run() { # PROGRAM PREFIX DEVICES SPEC MATRIX
  local devices=()
  for d in $3; do devices+=(--device "$d"); done
  "$build/$1" experiment "experiments/$4/spec.toml" --group paper "${devices[@]}" --matrix "$5" --prepared "$prepared" \
    --out "$out/$2.$5.jsonl" --resume
}

job() { # STEP MATRIX, or cpu SPEC MATRIX
  local spec failed=0
  case $1 in
    small) for spec in fig10_fill2 fig14_maxid_init fig20_line95 table2_space beyond fig15_dynamic_allocation fig16_memory_budget; do
        [[ $spec == fig1[56]* && $2 != ST && $2 != TT ]] || run gsofa timed gpu $spec "$2" || failed=$?
      done
      [[ $2 != ST && $2 != TT ]] || run gsofa_counting counting gpu table3_queues "$2" || failed=$? ;;
    faults)
      run gsofa_counting counting mpi fig18_page_faults "$2" || failed=$?
      run gsofa_counting counting gpu fig20_line95 "$2" || failed=$? ;;
    pairs) for spec in fig12_superlu fig18_page_faults fig21_chunk_size; do run gsofa timed mpi $spec "$2" || failed=$?; done
      [[ $2 == ST ]] || run gsofa_counting counting mpi fig18_page_faults "$2" || failed=$? ;;
    profile)
      # Replaying the program instead of the kernel leaves the large arena alone between the passes.
      ncu --clock-control none --replay-mode application --csv --print-units base --kernel-name regex:traverse --launch-count 32 \
        --metrics gpu__time_duration.sum,dram__bytes.sum,lts__t_bytes.sum --log-file "$out/ncu.$2.csv" \
        "$build/gsofa" run --matrix "$prepared/$2.metis.bin" --variant gpu_maxid --warmup 0 --repeat 1 --verify none &&
        python3 experiments/gpu_single/tools.py throughput "$2" gpu_maxid "$out/ncu.$2.csv" "$out/bandwidth.json" \
          "${GSOFA_COMMIT:-$(git rev-parse HEAD)}" >>"$out/profile.jsonl" || failed=$?
      ;;
    large) for spec in beyond fig14_maxid_init fig20_line95 table2_space; do run gsofa timed gpu $spec "$2" || failed=$?; done
      run gsofa_counting counting gpu table3_queues "$2" || failed=$? ;;
    budgets) for spec in fig15_dynamic_allocation fig16_memory_budget; do run gsofa timed gpu $spec "$2" || failed=$?; done ;;
    cpu) run gsofa timed "cpu peer" "$2" "$3" || failed=$? ;;
  esac
  return $failed
}

cpu_jobs() {
  local m spec
  for m in $small $large; do
    for spec in table1_datasets fig12_superlu fig11_glu3; do echo "cpu $spec $m"; done
  done
}

: >>"$out/jobs.txt"
beside=()
for step in $2; do
  case $step in
    small | profile)
      if [[ $step == profile && ! -s $out/bandwidth.json ]]; then
        nvcc -O2 -std=c++17 -arch=native -o "$build/copy_bandwidth" experiments/gpu_single/copy_bandwidth.cu &&
          "$build/copy_bandwidth" >"$out/bandwidth.json" || exit 1
      fi
      for m in $small; do echo "$step $m"; done | run_queue "$out" $end "${gpus[@]}"
      ;;
    large | budgets) for m in $large; do echo "$step $m"; done | run_queue "$out" $end "${gpus[@]}" ;;
    pairs | faults) for m in $small; do echo "$step $m"; done | run_queue "$out" $end "$pair" ;;
    cpu)
      cpu_jobs | run_queue "$out" $end none none none & beside+=($!)
      for m in $small; do echo "cpu fig10_fill2 $m"; done | run_queue "$out" $end none & beside+=($!)
      ;;
    *) echo "paper_session: error: unknown step '$step'" >&2; exit 2 ;;
  esac
done
((${#beside[@]} == 0)) || wait "${beside[@]}"
for kind in timed counting; do
  compgen -G "$out/$kind.*.jsonl" >/dev/null || continue
  cat "$out/$kind".*.jsonl >"$out/$([[ $kind == timed ]] && echo records || echo counting).jsonl"
done
sort "$out/jobs.txt"
! grep -qv 'exit status 0,' "$out/jobs.txt"
