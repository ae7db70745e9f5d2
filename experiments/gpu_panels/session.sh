#!/usr/bin/env bash
# Checks and times gpu_bitmap_panels on all GPUs of a host, a job on each at a time: prepared inputs travel with the
# tree (../make_inputs.sh and make_inputs.sh). Usage: experiments/gpu_panels/session.sh OUT [SECONDS]
# OUT receives time.jsonl, counting.jsonl, pattern.jsonl and so on, kernels/ (ncu), a log of each job and jobs.txt, the verdicts.
# No job starts after SECONDS (default 300). Environment: GSOFA_BUILD (default build/device, with gsofa and
# gsofa_counting built), GSOFA_INPUTS (default inputs/), PANELS_SETTINGS ("--set KEY=A,B ...", timed one by one),
# PANELS_JOBS (default: check time count kernels pattern sanitize; also cpu counts kernels_pattern growth real natural tuned
# cudss; without a GPU: symbfact parallel allcores), PANELS_MATRICES, PANELS_DEVICES (default: every GPU; none: no GPU).
# Exit status: 0 if every job passed.
set -uo pipefail
[[ $# -ge 1 && $# -le 2 ]] || { sed -n '2,9p' "$0" | sed 's/^# \?//'; exit 2; }
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$root" || exit 2
# shellcheck source=experiments/gpu_queue.sh
source experiments/gpu_queue.sh
mkdir -p "$1" || exit 2
# Commands go into the records: paths relative to the tree, which mean something elsewhere too.
out=$(realpath --relative-to="$root" "$1")
end=$((SECONDS + ${2:-300}))
build=${GSOFA_BUILD:-build/device}
from=${GSOFA_INPUTS:-inputs}
inputs=$build/inputs
gsofa=$build/gsofa
variant=gpu_bitmap_panels
read -ra settings <<<"${PANELS_SETTINGS:-}"
matrices=${PANELS_MATRICES:-bcsstk18 g7jac040sc onetone1 epb3 wang3 cage11 grid7_40 grid7_64 G2_circuit memplus bayer10 FEM_3D_thermal1
  circuit300k TT ST up56 HM PR g27_80 g7_100 DI AU}
[[ -x $gsofa ]] || { echo "session: error: there is no $gsofa" >&2; exit 2; }
mkdir -p "$inputs/check" "$inputs/real" "$out/kernels"

# Unpacking and preparing goes on beside the first jobs.
unpack() { # FILE TO
  [[ -f $2 ]] || { xz -dc "$1" >"$2.part" && mv "$2.part" "$2"; }
}
for f in "$from"/*.bin.xz "$from"/panels/*.bin.xz "$from"/paper/*.bin.xz; do
  [[ -f $f ]] && unpack "$f" "$inputs/$(basename "$f" .xz)" &
done
for part in check real; do
  for f in "$from/$part"/*.bin.xz; do [[ -f $f ]] && unpack "$f" "$inputs/$part/$(basename "$f" .xz)"; done
done
if [[ -f $from/panels/generated ]]; then
  while read -r name spec; do
    [[ -f $inputs/$name.bin ]] && continue
    (xz -dc "$from/panels/$name.perm.xz" >"$inputs/$name.perm" &&
      "$gsofa" prepare --matrix "$spec" --order "$inputs/$name.perm" --out "$inputs/$name.bin") >/dev/null &
  done <"$from/panels/generated"
fi

input() { # NAME: waits for its file; fails if there will be none
  local f=$inputs/$1.bin
  while [[ ! -f $f ]] && ((SECONDS < end)); do sleep 0.5; done
  [[ -f $f ]] && echo "$f"
}

job() { # KIND NAME
  local f
  case $1 in
    check) "$gsofa" check --suite full --variant $variant --rotate 1 --prepared "$inputs/check" --save "$out/counterexamples" ;;
    repeat) f=$(input "$2") && "$gsofa" run --matrix "$f" --variant $variant --warmup 0 --repeat 100 --verify digest --out "$out/race100.jsonl" ;;
    memcheck | racecheck)
      mkdir -p "$out/nothing"
      compute-sanitizer --tool "$1" --error-exitcode 86 "$gsofa" check --in-process --suite small --variant $variant --patterns 2 \
        --prepared "$out/nothing" --save "$out/counterexamples" ;;
    time) f=$(input "$2") && "$gsofa" run --matrix "$f" --variant $variant "${settings[@]}" --verify digest --warmup 3 --repeat 7 \
      --timeout 30 --out "$out/time.$2.jsonl" ;;
    counts) f=$(input "$2") && "$gsofa" run --matrix "$f" --variant $variant --want counts --verify none --warmup 3 --repeat 7 \
      --timeout 30 --out "$out/counts.$2.jsonl" ;;
    real) export gsofa variant out
      find "$inputs/real" -name '*.bin' -print0 | xargs -0 -P 8 -I F sh -c '"$gsofa" run --matrix F --variant $variant --verify digest \
        --warmup 0 --repeat 2 --timeout 60 --out "$out/real.$(basename F .bin).jsonl"' ;;
    natural) find "$inputs/check" -name '*.natural.bin' -exec "$gsofa" run --matrix {} --variant $variant --variant gpu_fill2_bitparallel \
      --want counts --verify digest --warmup 2 --repeat 5 --timeout 30 --out "$out/natural.jsonl" \; ;;
    tuned) f=$(input "$2") && "$gsofa" run --matrix "$f" --variant gpu_maxid_tuned --want counts --verify none --warmup 2 --repeat 5 \
      --timeout 60 --out "$out/tuned.$2.jsonl" ;;
    cudss) f=$(input "$2") && "$gsofa" run --matrix "$f" --variant peer_cudss --verify none --warmup 2 --repeat 5 --timeout 30 \
      --out "$out/cudss.$2.jsonl" ;;
    symbfact) f=$(input "$2") && "$gsofa" run --matrix "$f" --variant peer_superlu_dist --threads 1 --want counts --verify none \
      --warmup 1 --repeat 3 --timeout 90 --out "$out/symbfact.$2.jsonl" ;;
    parallel) f=$(input "$2") || return 1
      for ranks in 1 2 4 8 16; do
        mpirun --allow-run-as-root --bind-to none --oversubscribe -np $ranks "$gsofa" run --matrix "$f" --variant peer_superlu_dist_parallel \
          --verify none --warmup 1 --repeat 3 --timeout 60 --out "$out/parallel.$2.jsonl" || return 1
      done ;;
    allcores) f=$(input "$2") && "$gsofa" run --matrix "$f" --variant cpu_bitmap_panels --threads 16 --want counts --verify none \
      --warmup 2 --repeat 5 --timeout 60 --out "$out/allcores.$2.jsonl" ;;
    cpu) f=$(input "$2") && "$gsofa" run --matrix "$f" --variant cpu_bitmap_panels --variant cpu_gilbert_peierls --threads 1 \
      --want counts --verify digest --warmup 1 --repeat 3 --timeout 60 --out "$out/cpu.$2.jsonl" ;;
    count) f=$(input "$2") && "$build/gsofa_counting" run --matrix "$f" --variant $variant --verify none --timeout 30 \
      --out "$out/counting.$2.jsonl" ;;
    pattern) f=$(input "$2") && "$gsofa" run --matrix "$f" --variant $variant --want pattern --want digest --verify digest \
      --warmup 2 --repeat 3 --timeout 60 --out "$out/pattern.$2.jsonl" ;;
    kernels_pattern) f=$(input "$2") && ncu --clock-control none --cache-control none --replay-mode application --csv --print-units base \
      --metrics gpu__time_duration.sum --log-file "$out/kernels/$2.pattern.csv" \
      "$gsofa" run --matrix "$f" --variant $variant --want counts --want pattern --warmup 1 --repeat 1 --verify none ;;
    kernels) f=$(input "$2") && ncu --clock-control none --cache-control none --replay-mode application --csv --print-units base \
      --metrics gpu__time_duration.sum --log-file "$out/kernels/$2.csv" \
      "$gsofa" run --matrix "$f" --variant $variant --want counts --warmup 1 --repeat 1 --verify none ;;
  esac
}

for kind in ${PANELS_JOBS:-check time count kernels pattern sanitize}; do
  case $kind in
    check) echo "check all"; echo "repeat bcsstk18"; echo "repeat g7jac040sc" ;;
    sanitize) echo "memcheck all"; echo "racecheck all" ;;
    kernels) for m in bcsstk18 onetone1 cage11 up56 PR g27_80 AU; do echo "kernels $m"; done ;;
    kernels_pattern) for m in cage11 g27_80; do echo "kernels_pattern $m"; done ;;
    pattern) for m in bcsstk18 cage11 g27_80; do echo "pattern $m"; done ;;
    growth) while read -r m _; do [[ -n $m ]] && echo "time $m"; done <experiments/gpu_panels/growth.txt ;;
    real | natural) echo "$kind all" ;;
    time | counts | cpu | count | tuned | cudss | symbfact | parallel | allcores) for m in $matrices; do echo "$kind $m"; done ;;
    *) echo "session: error: unknown job '$kind'" >&2; exit 2 ;;
  esac
done >"$out/queue.txt"
: >"$out/jobs.txt"
if [[ -n ${PANELS_DEVICES:-} ]]; then
  read -ra gpus <<<"$PANELS_DEVICES"
else
  mapfile -t gpus < <(nvidia-smi --list-gpus | awk '{ print NR - 1 }')
fi
run_queue "$out" $end "${gpus[@]}" <"$out/queue.txt"
rm -f "$out/queue.txt"
for kind in time counts cpu counting pattern real tuned cudss symbfact parallel allcores; do
  compgen -G "$out/$kind.*.jsonl" >/dev/null && cat "$out/$kind".*.jsonl >"$out/$kind.jsonl"
done
sort "$out/jobs.txt"
! grep -qv 'exit status 0,' "$out/jobs.txt"
