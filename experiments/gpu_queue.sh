# Sourced by the scripts that spread jobs over the GPUs of a host: processes that share a GPU take turns in milliseconds
# and slow each other down many times over, so each GPU has one job at a time.

# run_queue OUT END DEVICE...: a worker for each DEVICE (a value of CUDA_VISIBLE_DEVICES; none: a worker without a GPU) takes
# lines from stdin while SECONDS < END and calls `job WORD...` with them. OUT/WORD.WORD.txt receives what the job prints,
# OUT/jobs.txt one line of each: words, exit status, seconds.
run_queue() {
  local out=$1 end=$2 queue device
  shift 2
  queue=$(mktemp)
  cat >"$queue"
  local workers=()
  for device in "$@"; do
    queue_worker "$queue" "$out" "$end" "$device" &
    workers+=($!)
  done
  wait "${workers[@]}"
  [[ -s $queue ]] && sed 's/^/not begun: /' "$queue" >>"$out/jobs.txt"
  rm -f "$queue" "$queue.lock"
}

queue_worker() { # QUEUE OUT END DEVICE
  local line begin code
  [[ $4 == none ]] || export CUDA_VISIBLE_DEVICES=$4
  while ((SECONDS < $3)) && line=$(flock "$1.lock" sh -c 'head -n 1 "$1"; sed -i 1d "$1"' - "$1") && [[ -n $line ]]; do
    begin=$SECONDS code=0
    # shellcheck disable=SC2086
    job $line >"$2/${line// /.}.txt" 2>&1 || code=$?
    printf '%-32s exit status %d, %d s\n' "$line" $code $((SECONDS - begin)) >>"$2/jobs.txt"
  done
}
