#!/usr/bin/env bash
# Prepares the inputs of the GPU runs on a machine with METIS, BTF and toml++, so that they can travel to one
# without. Usage: experiments/make_inputs.sh MATRICES [OUT]
#
# MATRICES holds NAME.mtx.gz files of the SuiteSparse collection (those of gpu_single/inputs.tsv whose source is
# "collection"); their sha256 is checked. OUT (default: inputs/ beside experiments/) receives NAME.bin.xz for the
# timed runs and check/NAME.ORDER.bin.xz for `gsofa check`. Environment: GSOFA names the built program.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
die() { printf 'make_inputs: error: %s\n' "$1" >&2; exit "${2:-1}"; }

[[ $# -ge 1 && $# -le 2 ]] || die "usage: make_inputs.sh MATRICES [OUT]" 2
[[ -d $1 ]] || die "$1: no such folder" 2
matrices=$(cd "$1" && pwd)
gsofa=$(realpath "${GSOFA:-$root/build/release/gsofa}")
[[ -x $gsofa ]] || die "$gsofa: no such program; build it or set GSOFA" 2
command -v xz >/dev/null || die "xz was not found (Debian, Ubuntu: apt-get install xz-utils)" 3
export GSOFA_ROOT=$root

out=${2:-$root/inputs}
mkdir -p "$out"
out=$(cd "$out" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/check"

# The source that a record names is the text given here: a file name without a folder, a dataset, or a gen: spec.
cd "$matrices"
while IFS=$'\t' read -r name source collection sha256 spec; do
  [[ $name == \#* || -z $name ]] && continue
  case $source in
    bundled) given=$name ;;
    generated) given=$spec ;;
    collection)
      given=$name.mtx.gz
      [[ -f $given ]] || die "$matrices/$given is absent ($collection of the SuiteSparse collection)"
      found=$(gzip -dc "$given" | sha256sum | cut -d ' ' -f 1)
      [[ $found == "$sha256" ]] || die "$given: sha256 is $found, expected $sha256"
      ;;
    *) die "inputs.tsv: unknown source '$source' of $name" ;;
  esac
  "$gsofa" prepare --matrix "$given" --order metis --out "$work/$name.bin" >&2
done <"$root/experiments/gpu_single/inputs.tsv"

for file in "$root"/experiments/matrices/*.mtx*; do
  name=$(basename "$file")
  name=${name%%.mtx*}
  for order in metis natural; do
    "$gsofa" prepare --matrix "$name" --order $order --out "$work/check/$name.$order.bin" >&2
  done
done

# Nothing is replaced until all is made.
find "$work" -name '*.bin' -print0 | xargs -0 -n 1 xz -9 -T 1
rm -rf "$out"/*.bin.xz "$out/check"
cp -r "$work"/. "$out"

(cd "$out" && find . -name '*.bin.xz' -printf '%8s  %P\n' | sort -k 2)
total=$(find "$out" -name '*.bin.xz' -printf '%s\n' | awk '{ s += $1 } END { print s + 0 }')
printf '%8d  bytes in all\n' "$total"
[[ $total -lt 40000000 ]] || die "more than 40 MB: too much to travel"
