#!/usr/bin/env bash
# Times mpi_maxid on the GPUs of one host: GPUs x ranks, schedules, means of sharing, chunk sizes.
# Usage: experiments/scaling/gpu_scaling.sh OUT "STEP..."     appends to OUT/scaling.jsonl
# Steps:
#   single    one GPU, the base of every speedup
#   multi     2 and 4 (8) GPUs as one rank with g GPUs and as g ranks with one; all schedules on the most GPUs
#   sharing   rows interleaved over all GPUs: peer access, managed memory with and without advice
#   faults    the same in the counting build: GPU page faults (never timed)
#   chunks    chunk_size 64, 128, 256, 512
# Environment: GSOFA_BUILD (default build/device) with the programs and inputs/NAME.bin; GPUS (default: all that
# nvidia-smi lists); SCALING_MATRICES (default: those below that are there); MPIRUN.
set -uo pipefail
[[ $# == 2 ]] || { sed -n '2,11p' "$0" | sed 's/^# \?//'; exit 2; }
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$root" || exit 2
mkdir -p "$1" || exit 2
out=$(cd "$1" && pwd)/scaling.jsonl
build=${GSOFA_BUILD:-build/device}
gpus=${GPUS:-$(nvidia-smi --list-gpus | wc -l)}
mpirun=${MPIRUN:-mpirun --allow-run-as-root --oversubscribe --bind-to none}
matrices=${SCALING_MATRICES:-TT grid7_64 ST PR HM}
failed=0

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
    $(repeats "$m") --verify digest --timeout 200 --out "$out" --resume "$@" ||
    { echo "$m, $ranks ranks x $each GPUs, $*: exit status $?"; failed=1; }
}

for step in $2; do
  for m in $matrices; do
    case $step in
      single) run 1 1 "$m" --set schedule=dynamic ;;
      multi)
        for ((g = 2; g < gpus; g *= 2)); do
          run 1 "$g" "$m" --set schedule=dynamic
          run "$g" 1 "$m" --set schedule=dynamic
        done
        run 1 "$gpus" "$m" --set schedule=dynamic,intra_node,inter_node,block
        run "$gpus" 1 "$m" --set schedule=dynamic,inter_node,block
        ((gpus >= 4)) && run 2 $((gpus / 2)) "$m" --set schedule=dynamic,intra_node,inter_node,block
        ;;
      sharing)
        case $m in PR | HM) continue ;; esac
        run 1 "$gpus" "$m" --set schedule=intra_node --set sharing=peer,managed_advised,managed,managed_shared_fill \
          --set concurrent_sources=256
        ;;
      faults)
        case $m in TT | grid7_64) ;; *) continue ;; esac
        "$build/gsofa_counting" run --matrix "$build/inputs/$m.bin" --variant mpi_maxid --set gpus_per_rank="$gpus" \
          --set schedule=intra_node --set sharing=managed_advised,managed,managed_shared_fill \
          --set concurrent_sources=256 --verify digest --timeout 100 --out "${out%.jsonl}_faults.jsonl" --resume ||
          { echo "$m, page faults: exit status $?"; failed=1; }
        ;;
      chunks)
        case $m in PR | HM) continue ;; esac
        for c in 64 128 256 512; do run 1 "$gpus" "$m" --set schedule=intra_node,dynamic --chunk-size $c; done
        ;;
      *) echo "unknown step '$step'"; exit 2 ;;
    esac
  done
done
exit $failed
