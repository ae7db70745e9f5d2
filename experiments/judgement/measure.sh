#!/usr/bin/env bash
# Measures groups of spec.toml on an idle machine: measure.sh BUILD INPUTS OUT GROUP...
#
# BUILD: folder with gsofa and gsofa_counting. INPUTS: folder with real/, fem/, fem_small/ and kkt/ (README.md); receives
# kept/, the prepared matrices. OUT: receives GROUP.jsonl. The group `profile` needs ncu and nvcc. Paths are relative to the
# root of the tree, so that records name files of the tree.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
[ $# -ge 4 ] || { sed -n '2,7s/^# \?//p' "$0" >&2; exit 2; }
build=$1 inputs=$2 out=$3
shift 3
mkdir -p "$inputs/kept" "$out"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none

folders() {  # GROUP: where @real, @fem and @kkt are
  local fem=fem_small
  case $1 in panels | threads | ranks_*) fem=fem ;; esac
  local kkt=kkt
  [ $fem = fem ] || kkt=kkt_small
  echo --real "$inputs/real" --fem "$inputs/$fem" --kkt "$inputs/$kkt" --prepared "$inputs/kept"
}

experiment() {  # PROGRAM GROUP [ARGUMENT...]
  local program=$1 group=$2
  shift 2
  # shellcheck disable=SC2046
  ${ranks:+mpirun -np "$ranks"} "$build/$program" experiment experiments/judgement/spec.toml --group "$group" $(folders "$group") --out "$out/$group.jsonl" "$@"
}

profile() {  # ncu over every launch of the search
  nvcc -O2 -std=c++17 -arch=native -o "$build/copy_bandwidth" experiments/gpu_single/copy_bandwidth.cu
  "$build/copy_bandwidth" > "$out/bandwidth.json"
  local metrics=gpu__time_duration.sum,dram__bytes.sum,lts__t_bytes.sum commit m
  metrics+=,dram__bytes.sum.pct_of_peak_sustained_elapsed,lts__t_bytes.sum.pct_of_peak_sustained_elapsed
  commit=$("$build/gsofa" --version | grep -oE '[0-9a-f]{40}')
  for m in bcsstk18 $(cd "$inputs" && sed 's/$/.mtx*/' "$OLDPWD/experiments/judgement/profiled.txt" | xargs -I F sh -c 'ls -d F'); do
    [ "$m" = bcsstk18 ] || m=$inputs/$m
    timeout 60 ncu --clock-control none --replay-mode application --csv --print-units base --kernel-name regex:traverse \
      --metrics "$metrics" --log-file "$out/ncu.csv" "$build/gsofa" run --matrix "$m" --variant gpu_maxid --warmup 0 --repeat 1 \
      --verify none >&2 || { echo "$m: no profile" >&2; continue; }
    python3 experiments/gpu_single/tools.py throughput "$(basename "${m%.gz}" .mtx)" gpu_maxid "$out/ncu.csv" "$out/bandwidth.json" "$commit" complete
  done > "$out/profile.jsonl"
}

for group; do
  begin=$SECONDS
  case $group in
    profile) profile ;;
    prepare)  # in parallel: what the other groups then find in kept/
      { printf '%s\n' "$inputs"/{fem,kkt}/*.mtx*; grep -o 'gen:[^"]*' experiments/judgement/spec.toml | sort -u; } |
        xargs -P "$(nproc)" -I F "$build/gsofa" experiment experiments/judgement/spec.toml --group prepare --matrix F \
          --fem "$inputs/fem" --kkt "$inputs/kkt" --prepared "$inputs/kept" > /dev/null ;;
    ranks_*) ranks=${group#*_} experiment gsofa "$group" ;;
    counting | edges | page_faults) experiment gsofa_counting "$group" ;;
    *) experiment gsofa "$group" ;;
  esac > "$out/$group.log" 2>&1 || echo "$group: exit status $?"
  echo "$group: $((SECONDS - begin)) s"
done
