#!/usr/bin/env bash
# Prepares the larger inputs of session.sh on a machine with METIS: stand-ins as packed prepared files, generated grids
# as packed orders, from which they are prepared again where they are used. The smaller inputs are those of
# ../make_inputs.sh. Usage: experiments/gpu_panels/make_inputs.sh [OUT [LIST]]     OUT: default inputs/panels, 45 MB
# LIST: instead of all that, the orders of the generated matrices of a file of lines "NAME SPEC", such as growth.txt (9 MB).
# Environment: GSOFA names the built program.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
[[ $# -le 2 ]] || { sed -n '2,6p' "$0" | sed 's/^# \?//'; exit 2; }
gsofa=$(realpath "${GSOFA:-$root/build/release/gsofa}")
[[ -x $gsofa ]] || { echo "make_inputs: error: $gsofa: no such program; build it or set GSOFA" >&2; exit 2; }
out=${1:-$root/inputs/panels}
mkdir -p "$out"
out=$(cd "$out" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export GSOFA_ROOT=$root

list=${2:-}
if [[ -z $list ]]; then
  for name in TT ST PR HM DI AU; do
    "$gsofa" prepare --matrix $name --order metis --out "$work/$name.bin"
    xz -6 -T 0 "$work/$name.bin"
  done
  list=$work/list
  cat >"$list" <<'LIST'
g27_80 gen:grid27:nx=80,drop=0.3,seed=1
g7_100 gen:grid7:nx=100,drop=0.3,seed=1
up56 gen:grid7:nx=56,drop=0.3,oneway=0.8,seed=1
circuit300k gen:circuit:n=300000,hubs=30
LIST
fi
while read -r name spec; do
  [[ -n $name ]] || continue
  "$gsofa" prepare --matrix "$spec" --order metis --out "$work/unused.bin" --order-out "$work/$name.perm"
  xz -6 -T 0 "$work/$name.perm"
  echo "$name $spec" >>"$work/generated"
done <"$list"
rm -f "$work/unused.bin" "$work/list"
cp "$work"/* "$out"
du -sh "$out"
