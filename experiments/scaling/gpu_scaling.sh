#!/usr/bin/env bash
# Times mpi_maxid on the GPUs of one host: GPUs x ranks, schedules, means of sharing, chunk sizes.
# Usage: experiments/scaling/gpu_scaling.sh OUT "STEP..."     appends to OUT/scaling.jsonl
# Steps:
#   single    one GPU, the base of every speedup
#   pair      2 GPUs: one rank with two, and two ranks with one
#   one_rank  one rank with all GPUs: dynamic, intra_node and, of the short runs, inter_node and block, which are the same there
#   ranks     a rank for each GPU: dynamic and, of the short runs, inter_node and block
#   two_ranks two ranks with half of the GPUs each: all schedules
#   sharing   rows interleaved over all GPUs: peer access, managed memory with and without advice
#   faults    the same in the counting build: GPU page faults (never timed)
#   chunks    chunk_size 64, 128, 256, 512
#   series    the counting build on one GPU: edges of every source, for the simulator, in OUT/series.NAME.jsonl
# Environment: GSOFA_BUILD (default build/device) with the programs and inputs/NAME.bin; GPUS (default: all that
# nvidia-smi lists); SCALING_MATRICES (default: those below that are there); SCALING_TIMEOUT (seconds for a run, default
# 200); MPIRUN. Several calls may go on at once on different GPUs (CUDA_VISIBLE_DEVICES).
set -uo pipefail
[[ $# == 2 ]] || { sed -n '2,16p' "$0" | sed 's/^# \?//'; exit 2; }
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$root" || exit 2
mkdir -p "$1" || exit 2
out=$(cd "$1" && pwd)/scaling.jsonl
build=${GSOFA_BUILD:-build/device}
gpus=${GPUS:-$(nvidia-smi --list-gpus | wc -l)}
mpirun=${MPIRUN:-mpirun --allow-run-as-root --oversubscribe --bind-to none}
matrices=${SCALING_MATRICES:-TT grid7_64 ST PR HM DI AU}
timeout=${SCALING_TIMEOUT:-200}
failed=0

short() { case $1 in TT | grid7_64 | ST) true ;; *) false ;; esac; }

# Long runs are made once.
repeats() { case $1 in TT | grid7_64) echo --warmup 1 --repeat 3 ;; ST) echo --warmup 0 --repeat 2 ;;
  *) echo --warmup 0 --repeat 1 ;; esac; }

# run RANKS GPUS_PER_RANK MATRIX ARGUMENTS...
run() {
  local ranks=$1 each=$2 m=$3
  shift 3
  local launch=()
  ((ranks > 1)) && read -ra launch <<<"$mpirun -np $ranks"
  [[ -f $build/inputs/$m.bin ]] || { echo "$m: no input"; failed=1; return; }
  # shellcheck disable=SC2046
  "${launch[@]}" "$build/gsofa" run --matrix "$build/inputs/$m.bin" --variant mpi_maxid --set gpus_per_rank="$each" \
    $(repeats "$m") --verify digest --timeout "$timeout" --out "$out" --resume "$@" ||
    { echo "$m, $ranks ranks x $each GPUs, $*: exit status $?"; failed=1; }
}

# count OUT MATRIX ARGUMENTS...
count() {
  local to=$1 m=$2
  shift 2
  "$build/gsofa_counting" run --matrix "$build/inputs/$m.bin" --variant mpi_maxid --verify digest --timeout "$timeout" \
    --out "$to" --resume "$@" || { echo "$m, counting, $*: exit status $?"; failed=1; }
}

for step in $2; do
  for m in $matrices; do
    case $step in
      single) run 1 1 "$m" --set schedule=dynamic ;;
      pair)
        run 1 2 "$m" --set schedule=dynamic
        short "$m" && run 2 1 "$m" --set schedule=dynamic
        ;;
      one_rank)
        if short "$m"; then
          run 1 "$gpus" "$m" --set schedule=dynamic,intra_node,inter_node,block
        else
          run 1 "$gpus" "$m" --set schedule=dynamic,intra_node
        fi
        ;;
      ranks)
        if short "$m"; then
          run "$gpus" 1 "$m" --set schedule=dynamic,inter_node,block
        else
          run "$gpus" 1 "$m" --set schedule=dynamic
        fi
        ;;
      two_ranks) run 2 $((gpus / 2)) "$m" --set schedule=dynamic,intra_node,inter_node,block ;;
      sharing)
        short "$m" && run 1 "$gpus" "$m" --set schedule=intra_node --set sharing=peer,managed_advised,managed,managed_shared_fill \
          --set concurrent_sources=256
        ;;
      faults)
        short "$m" && count "${out%.jsonl}_faults.jsonl" "$m" --set gpus_per_rank="$gpus" --set schedule=intra_node \
          --set sharing=managed_advised,managed,managed_shared_fill --set concurrent_sources=256
        ;;
      chunks)
        short "$m" || continue
        for c in 64 128 256 512; do run 1 "$gpus" "$m" --set schedule=intra_node,dynamic --chunk-size $c; done
        ;;
      series) count "${out%/*}/series.$m.jsonl" "$m" --set gpus_per_rank=1 --set schedule=dynamic --series ;;
      *) echo "unknown step '$step'"; exit 2 ;;
    esac
  done
done
exit $failed
