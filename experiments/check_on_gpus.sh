#!/usr/bin/env bash
# gsofa check of every GPU variant on all GPUs of a host, one process for each GPU at a time: processes that share a GPU
# take turns in milliseconds and slow each other down many times over.
# Usage: experiments/check_on_gpus.sh OUT [SUITE [SECONDS]]     SUITE: small or full (default); SECONDS: in all (default 400)
# Writes OUT/check.SUITE.VARIANT.txt and OUT/checks.txt, the verdicts. Environment: GSOFA_BUILD (default build/device),
# GSOFA_VARIANTS (default: all GPU variants and planted GPU faults), CHECK_ROTATE (default 1: random patterns with the defaults
# and one other setting in turn; 0: with all settings), GPUS.
# Exit status: 0 if all passed (planted ones: were rejected), 1 otherwise, also if time ran out.
set -uo pipefail
[[ $# -ge 1 && $# -le 3 ]] || { sed -n '2,10p' "$0" | sed 's/^# \?//'; exit 2; }
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root" || exit 2
mkdir -p "$1" || exit 2
out=$(cd "$1" && pwd)
suite=${2:-full}
end=$((SECONDS + ${3:-400}))
build=${GSOFA_BUILD:-build/device}
gsofa=$build/gsofa
tools=experiments/gpu_single/tools.py
gpus=${GPUS:-$(nvidia-smi --list-gpus | wc -l)}
[[ -x $gsofa ]] || { echo "there is no $gsofa" >&2; exit 2; }

# The longest first.
order() { awk '{ print ($1 ~ /scan_enqueue/ ? 0 : $1 ~ /^gpu_maxid/ && $1 !~ /tuned|separate/ ? 1 : 2), $1 }' | sort -s -k 1,1n | cut -d ' ' -f 2; }
if [[ -n ${GSOFA_VARIANTS:-} ]]; then
  variants=$(printf '%s\n' $GSOFA_VARIANTS)
else
  variants=$(python3 "$tools" variants "$gsofa"; python3 "$tools" variants "$gsofa" planted)
fi
queue=$(mktemp)
trap 'rm -f "$queue" "$queue.lock"' EXIT
order <<<"$variants" >"$queue"
: >"$out/checks.txt"

take() { # prints the next variant and removes it
  flock "$queue.lock" sh -c 'head -n 1 "$1"; sed -i 1d "$1"' - "$queue"
}

worker() { # GPU
  local v begin code log verdict
  while v=$(take) && [[ -n $v ]]; do
    begin=$SECONDS code=125
    log=$out/check.$suite.$v.txt
    if ((SECONDS < end)); then
      code=0
      CUDA_VISIBLE_DEVICES=$1 timeout $((end - SECONDS)) "$gsofa" check --suite "$suite" --variant "$v" \
        --rotate "${CHECK_ROTATE:-1}" --prepared "$build/inputs/check" --save "$out/counterexamples" >"$log" 2>&1 || code=$?
    fi
    case $code in
      0) verdict=pass ;;
      124) verdict="no verdict: out of time" ;;
      125) verdict="no verdict: not begun" ;;
      *) verdict="FAIL, exit status $code" ;;
    esac
    flock "$out/checks.txt" sh -c 'printf "%-32s %s, %s s: %s\n" "$2" "$3" "$4" "$5" >>"$1"' - "$out/checks.txt" "$v" "$verdict" \
      $((SECONDS - begin)) "$( (grep -E "^$v( |:)|rejected" "$log" 2>/dev/null || true) | tail -n 1 | tr -s ' ')"
  done
}
for ((g = 0; g < gpus; ++g)); do worker "$g" & done
wait
sort "$out/checks.txt"
! grep -qvE '^[^ ]+ +pass' "$out/checks.txt"
