#!/usr/bin/env bash
# Builds, checks and times the GPU variants on a bare machine with one NVIDIA GPU: CUDA, CMake, ninja, Eigen,
# doctest, CLI11, fmt, nlohmann-json and zlib are there; METIS, SuiteSparse, toml++ and a network are not. The
# prepared matrices travel with the tree in inputs/ (made by make_inputs.sh).
set -uo pipefail

usage() {
  cat <<'TEXT'
Usage: experiments/device_session.sh OUT [STAGES [SECONDS]]

OUT receives records.jsonl (timed runs), race100.jsonl, counting.jsonl, pattern.jsonl, ncu.csv, bandwidth.json,
log.txt and summary.txt; records are appended, so that one folder can serve several calls.
STAGES (in one argument, default "build check time"), in the order given:
  build      configure and compile
  unit       ctest but the slow ones and, without METIS, those that need it
  check      gsofa check --suite small of every GPU variant and of the planted GPU faults
  check_full the same with --suite full
  sanitize   compute-sanitizer memcheck and racecheck of gsofa check on a few patterns
  race100    100 runs each on bcsstk18 and g7jac040sc, all verified
  limits     no device, budgets from too small to ample, tiny queues: answers and exit statuses
  time       median of 5 runs after 2, every variant and matrix, and the CPU variants beside them
  counting   work counters of the counting build
  pattern    delivery of the patterns of L and U, 3 runs
  ncu        DRAM and L2 throughput of the traversal, and the bandwidth of a plain copy
  all        every one of them
SECONDS limits each stage (default 300). A stage that fails or runs out of time does not stop the next.

Environment:
  GSOFA_COMMIT        commit that the tree is of (40 digits, -dirty appended if it was changed); needed for
                      records that can be published when the tree is not a git checkout
  GSOFA_TOTAL         seconds for all stages together (default: no limit)
  GSOFA_VARIANTS      variants to use (default: all GPU variants of the program)
  GSOFA_CPU_VARIANTS  CPU variants timed beside them (default: cpu_fill2_parallel cpu_gilbert_peierls)
  GSOFA_MATRICES      names in inputs/ (default: the seven of the speed table, then the others)
  GSOFA_RUN_LIMIT     seconds for one run of one variant (default 15)
  GSOFA_INPUTS        folder of the packed inputs (default: inputs/)
  GSOFA_BUILD         build folder (default: build/device)
  GSOFA_WITH_CUDA, GSOFA_CUDA_ARCH, GSOFA_CMAKE_ARGS   for CMake (default: ON, 90, none)
  GSOFA_JOBS          compile and test jobs (default: one for each processor)
  CHECK_JOBS          variants checked at a time (default 4), each in a process of its own;
                      CHECK_THREADS: host threads of each (default 1); CHECK_PATTERNS: patterns of each kind;
                      CHECK_ROTATE: random patterns with so many settings in turn (default 0: with all)
  SANITIZE_PATTERNS   patterns of each kind under the sanitizer (default 4)
  NCU_VARIANTS, NCU_MATRICES, NCU_KERNEL, NCU_LAUNCHES   (default: the three main ones, bcsstk18 and grid7_40,
                      the traversal kernels, the first 32 launches)
Exit status: 0 if every stage passed, 1 if one failed or ran out of time, 2 for a wrong call.
TEXT
}

all_stages="build unit check check_full sanitize race100 limits time counting pattern ncu"
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# Commands go into the records: paths relative to the tree, which mean something elsewhere too.
cd "$root" || exit 2
self=$root/experiments/device_session.sh
tools=$root/experiments/gpu_single/tools.py
say() { printf '%s\n' "$*"; }
die() { printf 'device_session: error: %s\n' "$1" >&2; exit "${2:-1}"; }

build=${GSOFA_BUILD:-build/device}
gsofa=$build/gsofa
counting=$build/gsofa_counting
inputs=$build/inputs
run_limit=${GSOFA_RUN_LIMIT:-15}
processors=$(nproc)
export GSOFA_ROOT=$root
command -v nvcc >/dev/null || PATH=$PATH:/usr/local/cuda/bin

speed_matrices="bcsstk18 g7jac040sc onetone1 epb3 wang3 cage11 grid7_40"
other_matrices="memplus bayer10 FEM_3D_thermal1 G2_circuit grid7_64"
matrices=${GSOFA_MATRICES:-$speed_matrices $other_matrices}
cpu_variants=${GSOFA_CPU_VARIANTS-cpu_fill2_parallel cpu_gilbert_peierls}

# --- services ----------------------------------------------------------------------------------

gpu_variants() {
  if [[ -n ${GSOFA_VARIANTS:-} ]]; then
    printf '%s\n' $GSOFA_VARIANTS
  else
    python3 "$tools" variants "$gsofa"
  fi
}

need_build() { [[ -x $gsofa ]] || { say "there is no $gsofa: run the stage build"; return 1; }; }

input() { # NAME: the unpacked file
  [[ -f $inputs/$1.bin ]] || { say "input $1 is absent: make it with make_inputs.sh" >&2; return 1; }
  printf '%s\n' "$inputs/$1.bin"
}

with_flag() { # FLAG WORD...: FLAG WORD FLAG WORD...
  local flag=$1 word
  shift
  for word in "$@"; do printf '%s\n%s\n' "$flag" "$word"; done
}

# run_matrix PROGRAM OUT NAME "VARIANTS" ARGUMENTS...: one call for all variants; after a crash, one for each.
run_matrix() {
  local program=$1 records=$2 name=$3 variants=$4 file code=0 v failed=0
  shift 4
  file=$(input "$name") || return 1
  local flags
  mapfile -t flags < <(with_flag --variant $variants)
  "$program" run --matrix "$file" "${flags[@]}" --out "$records" --resume --timeout "$run_limit" "$@" ||
    code=$?
  case $code in
    0 | 1 | 4) ;; # the records tell
    2 | 3) failed=1 ;;
    *)
      say "$name: exit status $code; each variant by itself"
      failed=1
      for v in $variants; do
        "$program" run --matrix "$file" --variant "$v" --out "$records" --resume \
          --timeout "$run_limit" "$@" || say "$name $v: exit status $?"
      done
      ;;
  esac
  return $failed
}

# in_parallel JOBS FUNCTION ITEM...: FUNCTION ITEM for all, some at a time; fails if one failed.
in_parallel() {
  local jobs=$1 function=$2 item failed=0 running=0
  shift 2
  for item in "$@"; do
    if ((running >= jobs)); then
      wait -n || failed=1
      running=$((running - 1))
    fi
    "$function" "$item" &
    running=$((running + 1))
  done
  while ((running > 0)); do
    wait -n || failed=1
    running=$((running - 1))
  done
  return $failed
}

# --- stages ------------------------------------------------------------------------------------

stage_build() {
  local jobs=${GSOFA_JOBS:-$processors} log=$build/session_build.log
  mkdir -p "$build"
  cmake --version | head -n 1
  nvcc --version 2>/dev/null | tail -n 1
  nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader 2>/dev/null
  cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release \
    -DGSOFA_WITH_CUDA="${GSOFA_WITH_CUDA:-ON}" -DCMAKE_CUDA_ARCHITECTURES="${GSOFA_CUDA_ARCH:-90}" \
    ${GSOFA_CMAKE_ARGS:-} >"$log" 2>&1 || { tail -n 40 "$log"; return 1; }
  if ! ninja -C "$build" -j "$jobs" >>"$log" 2>&1; then
    grep -nE 'error|FAILED' "$log" | head -n 30
    tail -n 40 "$log"
    return 1
  fi
  "$gsofa" --version
  unpack
}

unpack() {
  local from=${GSOFA_INPUTS:-$root/inputs}
  if [[ ! -d $from ]]; then
    say "$from is absent: stages that need matrices will fail"
    return 1
  fi
  python3 "$tools" unpack "$from" "$inputs"
}

stage_unit() {
  local left_out=()
  if ! "$gsofa" run --help | grep -q 'order: metis'; then
    left_out=(-E '^(common/preprocess|harness/commands/experiment|cli/program)$')
    say "without METIS, BTF and toml++ these are left out: ${left_out[1]}"
  fi
  ctest --test-dir "$build" -LE slow "${left_out[@]}" -j "${GSOFA_JOBS:-$processors}" --output-on-failure \
    --timeout 240
}

check_one() {
  local begin=$SECONDS
  local log=$logs/check.$suite.$1.txt code=0
  "$gsofa" check --suite "$suite" --variant "$1" --prepared "$inputs/check" \
    ${CHECK_PATTERNS:+--patterns "$CHECK_PATTERNS"} --rotate "${CHECK_ROTATE:-0}" --jobs "${CHECK_THREADS:-1}" --save "$logs/counterexamples" >"$log" 2>&1 ||
    code=$?
  say "== $1, suite $suite: exit status $code, $((SECONDS - begin)) s"
  tail -n "$([[ $code == 0 ]] && echo 3 || echo 30)" "$log"
  return $code
}

check_suite() {
  need_build || return 1
  suite=$1
  local names planted
  names=$(gpu_variants) || return 1
  planted=$(python3 "$tools" variants "$gsofa" planted) || planted=
  [[ -n ${GSOFA_VARIANTS:-} ]] && planted=
  in_parallel "${CHECK_JOBS:-4}" check_one $names $planted
}

stage_check() { check_suite small; }
stage_check_full() { check_suite full; }

sanitize_one() { # TOOL:VARIANT
  local tool=${1%%:*} variant=${1#*:} code=0
  local log=$logs/sanitize.$tool.$variant.txt
  compute-sanitizer --tool "$tool" --error-exitcode 86 "$gsofa" check --in-process \
    --suite small --variant "$variant" --patterns "${SANITIZE_PATTERNS:-4}" --prepared "$logs/nothing" \
    --save "$logs/counterexamples" >"$log" 2>&1 || code=$?
  say "$tool $variant: exit status $code, $(grep -E 'ERROR SUMMARY|RACECHECK SUMMARY' "$log" | tail -n 1)"
  [[ $code == 0 ]] || tail -n 20 "$log"
  return $code
}

stage_sanitize() {
  need_build || return 1
  command -v compute-sanitizer >/dev/null || { say "no compute-sanitizer"; return 1; }
  mkdir -p "$logs/nothing"
  local names
  names=$(gpu_variants) || return 1
  in_parallel "${CHECK_JOBS:-4}" sanitize_one $(for v in $names; do say "memcheck:$v"; done) \
    $(for v in $names; do say "racecheck:$v"; done)
}

stage_race100() {
  need_build || return 1
  local names m failed=0
  names=$(gpu_variants) || return 1
  for m in bcsstk18 g7jac040sc; do
    run_matrix "$gsofa" "$out/race100.jsonl" $m "$names" --warmup 0 --repeat 100 --verify digest ||
      failed=1
  done
  python3 "$tools" judge "$out/race100.jsonl" && return $failed
}

# expect STATUS TEXT COMMAND...: the command ends so, with one line on stderr if that is not 0.
expect() {
  local allowed=$1 what=$2 code=0 lines
  shift 2
  "$@" >"$logs/expect.out" 2>"$logs/expect.err" || code=$?
  lines=$(grep -c '^gsofa: error' "$logs/expect.err")
  say "$what: exit status $code: $(tail -n 1 "$logs/expect.err")"
  [[ " $allowed " == *" $code "* ]] || { say "  expected one of $allowed"; return 1; }
  [[ $code != 3 || $lines == 1 ]] || { say "  $lines error lines, expected 1"; return 1; }
}

stage_limits() {
  need_build || return 1
  local v failed=0 b q names
  names=$(gpu_variants) || return 1
  v=$(head -n 1 <<<"$names")
  local run=("$gsofa" run --variant "$v" --warmup 0 --repeat 1 --verify digest --timeout 60)
  if [[ $v == gpu_* ]]; then
    expect 3 "no device" env CUDA_VISIBLE_DEVICES= "${run[@]}" --matrix "$(input bcsstk18)" || failed=1
    # fill and maxId of one source of grid7_64 take 2 MiB
    expect 4 "budget too small" "${run[@]}" --matrix "$(input grid7_64)" --set memory_budget_mb=1 ||
      failed=1
    expect "0 4" "budget above the device" "${run[@]}" --matrix "$(input bcsstk18)" \
      --set memory_budget_mb=1048576 || failed=1
    for b in 4 16 64 256; do
      expect 0 "budget of $b MiB" "${run[@]}" --matrix "$(input bcsstk18)" \
        --set memory_budget_mb=$b || failed=1
    done
    for q in 1 2 3 31 32 33; do
      expect 0 "queues of $q" "${run[@]}" --matrix "$inputs/check/epb0.metis.bin" \
        --set queue_entries=$q || failed=1
    done
    for q in 1 2 31 32 33 1000; do
      expect 0 "$q sources at a time" "${run[@]}" --matrix "$inputs/check/epb0.metis.bin" \
        --set concurrent_sources=$q || failed=1
    done
  else
    expect 0 "plain run" "${run[@]}" --matrix "$(input bcsstk18)" || failed=1
  fi
  return $failed
}

stage_time() {
  need_build || return 1
  local names m failed=0 head
  names=$(gpu_variants) || return 1
  # The variants that the ratios need come first.
  head=$(head -n 4 <<<"$names")
  for m in $matrices; do
    run_matrix "$gsofa" "$out/records.jsonl" "$m" "$head $cpu_variants" --warmup 2 --repeat 5 \
      --verify digest --threads "$processors" || failed=1
  done
  for m in $matrices; do
    run_matrix "$gsofa" "$out/records.jsonl" "$m" "$names" --warmup 2 --repeat 5 \
      --verify digest --threads "$processors" || failed=1
  done
  python3 "$tools" judge "$out/records.jsonl" && return $failed
}

stage_counting() {
  [[ -x $counting ]] || { say "there is no $counting: run the stage build"; return 1; }
  local names m failed=0
  names=$(gpu_variants) || return 1
  for m in $matrices; do
    run_matrix "$counting" "$out/counting.jsonl" "$m" "$names" --verify digest || failed=1
  done
  python3 "$tools" judge "$out/counting.jsonl" && return $failed
}

stage_pattern() {
  need_build || return 1
  local names m failed=0
  names=$(gpu_variants | head -n 3) || return 1
  for m in bcsstk18 cage11; do
    run_matrix "$gsofa" "$out/pattern.jsonl" $m "$names" --warmup 1 --repeat 3 --want pattern \
      --want digest --verify digest || failed=1
  done
  # The rows of L and U take 206 MB; the device may use a third of that beside the matrix.
  run_matrix "$gsofa" "$out/pattern.jsonl" cage11 "$names" --warmup 0 --repeat 1 --want pattern \
    --want digest --verify digest --set memory_budget_mb=64 || failed=1
  python3 "$tools" judge "$out/pattern.jsonl" && return $failed
}

stage_ncu() {
  need_build || return 1
  local failed=0 m v file log metrics
  nvcc -O2 -std=c++17 -arch="sm_${GSOFA_CUDA_ARCH:-90}" -o "$build/copy_bandwidth" \
    "$root/experiments/gpu_single/copy_bandwidth.cu" || return 1
  "$build/copy_bandwidth" >"$logs/bandwidth.json" && mv "$logs/bandwidth.json" "$out/" || failed=1
  command -v ncu >/dev/null || { say "no ncu"; return 1; }
  metrics=gpu__time_duration.sum,dram__bytes.sum,dram__bytes.sum.per_second,lts__t_bytes.sum
  metrics+=,lts__t_bytes.sum.per_second,lts__t_sector_hit_rate.pct
  metrics+=,dram__throughput.avg.pct_of_peak_sustained_elapsed
  metrics+=,sm__warps_active.avg.pct_of_peak_sustained_active
  [[ -s $out/ncu.csv ]] || say "matrix,variant,launch,kernel,metric,unit,value" >"$out/ncu.csv"
  for m in ${NCU_MATRICES:-bcsstk18 grid7_40}; do
    file=$(input "$m") || { failed=1; continue; }
    for v in ${NCU_VARIANTS:-gpu_maxid gpu_maxid_tuned gpu_fill2_bitparallel}; do
      log=$logs/ncu.$m.$v.csv
      # Replaying the program instead of the kernel leaves the large arena alone between the passes.
      ncu --clock-control none --replay-mode application --csv --print-units base \
        --kernel-name "regex:${NCU_KERNEL:-traverse|windowed|bitparallel|fill2}" \
        --launch-count "${NCU_LAUNCHES:-32}" --metrics "$metrics" --log-file "$log" \
        "$gsofa" run --matrix "$file" --variant "$v" --warmup 0 --repeat 1 --verify none \
        >"$logs/ncu.txt" 2>&1 || { tail -n 5 "$logs/ncu.txt" "$log"; failed=1; continue; }
      python3 "$tools" ncu "$m" "$v" "$log" >>"$out/ncu.csv" || failed=1
    done
  done
  return $failed
}

# --- the session -------------------------------------------------------------------------------

if [[ ${1:-} == --stage ]]; then
  out=$2
  logs=$3
  cd "$root" || exit 1
  "stage_$4"
  exit
fi
case ${1:-} in
  "" | -h | --help)
    usage
    [[ -n ${1:-} ]] && exit 0
    exit 2
    ;;
esac
[[ $# -le 3 ]] || die "too many arguments: the stages are one argument" 2
mkdir -p "$1" || die "$1: cannot be made" 2
out=$(cd "$1" && pwd)
stages=${2:-build check time}
stages=${stages//,/ }
[[ $stages == all ]] && stages=$all_stages
limit=${3:-300}
[[ $limit =~ ^[1-9][0-9]*$ ]] || die "SECONDS is '$limit', not a positive whole number" 2
for stage in $stages; do
  [[ " $all_stages " == *" $stage "* ]] || die "unknown stage '$stage': one of $all_stages, all" 2
done
command -v python3 >/dev/null || die "python3 was not found" 3
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT

begin=$SECONDS
failures=0
results=()
for stage in $stages; do
  seconds=$limit
  if [[ -n ${GSOFA_TOTAL:-} ]]; then
    left=$((GSOFA_TOTAL - (SECONDS - begin)))
    ((left < seconds)) && seconds=$left
  fi
  start=$SECONDS code=0
  if ((seconds < 1)); then
    code=125
  else
    timeout --kill-after=10 "$seconds" "$self" --stage "$out" "$logs" "$stage" \
      >"$logs/$stage.stage" 2>&1 </dev/null || code=$?
  fi
  case $code in
    0) result=passed ;;
    124 | 137) result="out of time" ;;
    125) result="not begun" ;;
    *) result=FAILED ;;
  esac
  [[ $code == 0 ]] || failures=$((failures + 1))
  results+=("$(printf '%-10s %-11s %4d s' "$stage" "$result" $((SECONDS - start)))")
  if [[ -f $logs/$stage.stage ]]; then
    { printf '\n##### %s: %s, %s\n' "$stage" "$result" "$(date -u +%FT%TZ)"
      tail -c 400000 "$logs/$stage.stage"; } >>"$out/log.txt"
    if [[ $code != 0 ]]; then
      printf -- '--- %s: %s\n' "$stage" "$result"
      tail -n 12 "$logs/$stage.stage" | cut -c 1-240
    fi
  fi
done

{
  printf '%s\n' "${results[@]}" | paste -d '|' - - - | sed 's/|/   /g'
  if [[ -s $out/records.jsonl ]]; then
    python3 "$root/experiments/gpu_single/summarize.py" "$out"
  fi
} 2>&1 | tee "$out/summary.txt"
[[ $failures == 0 ]]
