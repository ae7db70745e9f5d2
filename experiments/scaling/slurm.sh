#!/usr/bin/env bash
# Strong scaling on a cluster: one rank for each node, its GPUs (or cores) are the rank's workers.
#   sbatch --nodes=4 experiments/scaling/slurm.sh MATRIX [VARIANT [gsofa run options ...]]
# A job that was cut off continues from its finished chunks if submitted again with the same options.
#SBATCH --job-name=gsofa
#SBATCH --ntasks-per-node=1
#SBATCH --exclusive
#SBATCH --time=01:00:00
#SBATCH --output=gsofa-%j.log
set -euo pipefail

matrix=${1:?usage: sbatch --nodes=N slurm.sh MATRIX [VARIANT [OPTION ...]]}
variant=${2:-mpi_maxid_cpu}
shift $(($# < 2 ? $# : 2))
# sbatch runs a copy of this file: the tree is where the job was submitted, or $GSOFA_ROOT.
root=${GSOFA_ROOT:-${SLURM_SUBMIT_DIR:-.}}
folder=$root/results/scaling
mkdir -p "$folder"

# Match and order once; ranks then read nothing: rank 0 reads this file and broadcasts it.
prepared=$folder/$(printf '%s' "$matrix" | tr -c 'A-Za-z0-9._-' '_').gsofa
[[ -f $prepared ]] || srun --nodes=1 --ntasks=1 "$root/build/release/gsofa" prepare \
  --matrix "$matrix" --out "$prepared"

# --mpi=pmix for Open MPI, pmi2 for MPICH; unbound, so that a rank's workers have all cores of its node.
for schedule in block inter_node intra_node dynamic; do
  srun --mpi="${GSOFA_PMI:-pmix}" --cpu-bind=none "$root/build/release/gsofa" run \
    --matrix "$prepared" --variant "$variant" --set schedule=$schedule \
    --threads "${SLURM_CPUS_ON_NODE:-1}" --out "$folder/records.jsonl" --resume "$@"
done
