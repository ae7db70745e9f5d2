#!/usr/bin/env bash
# Runs slices of the campaign (campaign.md) on an idle machine: campaign.sh OUT SLICE... [ARGUMENT...]
#
# ARGUMENTs are options of ../measure.py, which records to OUT, ends a slice after 560 s and continues it when called again.
# The environment variable PYTHON names a Python 3.11 with NumPy and SciPy (default: python3).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
[ $# -ge 2 ] || { sed -n '2,5s/^# \?//p' "${BASH_SOURCE[0]}" >&2; exit 2; }
out=$1 slices=()
shift
while [ $# -gt 0 ] && [[ $1 != -* ]]; do slices+=("$1") && shift; done
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
large="--real inputs/real --fem inputs/fem --kkt inputs/kkt" small="--real inputs/real --fem inputs/fem_small --kkt inputs/kkt_small"

for slice in "${slices[@]}"; do
  case $slice in
    speed) words="$large --alone" groups="panels transfers" ;;
    search) words="$small --alone" groups="maxid maxid_families fill2 variants" ;;
    unions) words="$small --alone" groups=one_core ;;
    budgets) words="$small --alone" groups="budget_families budget" ;;
    profile) words="$small --alone" groups="profile counting edges" ;;
    regret) words="" groups=regret ;;
    regret_16) words="--alone" groups=regret_16 ;;
    newest) words="$small --alone" groups=newest ;;
    ranks) words="$large --alone" groups="ranks_1 ranks_2 ranks_4 ranks_8 ranks_16 ranks_32 threads" ;;
    gpus) words="$small --alone" groups="reference gpus page_faults" ;;
    *) echo "campaign.sh: no slice '$slice'" >&2 && exit 2 ;;
  esac
  # shellcheck disable=SC2046,SC2086
  "${PYTHON:-python3}" experiments/measure.py run "$out" judgement --check none --seconds 560 $words $(printf -- '--group %s ' $groups) "$@"
done
