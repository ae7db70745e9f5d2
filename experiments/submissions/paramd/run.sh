#!/bin/sh
# run.sh MATRIX PERMUTATION THREADS: `paramd` reads Matrix Market and writes MATRIX.perm.
OMP_NUM_THREADS=$3 paramd --matrix "$1" >said || exit
sed -n 's/^Ordering Time = \([^ ]*\) .*/time_s: \1/p' said
mv "$1.perm" "$2"
