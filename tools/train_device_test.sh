#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What resuming must keep, on $OCTET_TEST_DEVICE (unset: the CPU) and between
# that and the CPU: train_device_test.sh TRAIN_BINARY

set -u
train=$PWD/$1
device=${OCTET_TEST_DEVICE:-cpu}
unset BUILD_WORKING_DIRECTORY
cd "$TEST_TMPDIR" || exit 1

fail() {
  echo "FAILED: $*"
  exit 1
}

mkdir text
for word in alpha beta gamma; do
  yes "the $word of the quick brown fox" | head -n 60 >"text/$word.txt"
done

# job FOLDER ARGS: ten steps, a checkpoint after five.
job() {
  local folder=$1
  shift
  "$train" --data text --training.seq_len=32 --training.local_batch_size=2 \
    --training.global_batch_size=4 --training.steps=10 --sample.tokens=0 \
    --validation.steps=2 --checkpoint.interval=5 --deterministic \
    --job.dump_folder="$folder" "$@" >"$folder.log" 2>&1 ||
    { cat "$folder.log"; fail "$folder"; }
}

losses() { grep -o '"loss":[^,}]*' "$1/metrics.jsonl"; }

same() {
  cmp "$1/model/model.safetensors" "$2/model/model.safetensors" ||
    fail "weights of $1 and $2 differ"
  [ "$(losses "$1")" = "$(losses "$2")" ] || fail "losses of $1 and $2 differ"
}

# again FROM TO ARGS: TO goes on from the fifth step of FROM.
again() {
  local from=$1 to=$2
  shift 2
  cp -r "$from" "$to"
  rm -r "$to/checkpoint/step-10" "$to/model"
  job "$to" --resume "$@"
  grep -q "^resumed .*step-5" "$to.log" || { cat "$to.log"; fail "$to"; }
}

# near A B: losses within 1 %.
near() {
  paste <(losses "$1" | cut -d: -f2) <(losses "$2" | cut -d: -f2) |
    awk '{ d = $1 - $2; if (d < 0) d = -d; if (d > 0.01 * $1) exit 1 }' ||
    fail "losses of $1 and $2: $(losses "$1") $(losses "$2")"
}

narrow=(--training.dtype=bfloat16 --training.gradient_dtype=bfloat16
  --optimizer.state_dtype=bfloat16)
for kind in tensorwise tensorwise_delayed rowwise blockwise narrow; do
  options=(--float8.recipe="$kind")
  [ "$kind" = narrow ] && options=("${narrow[@]}")
  job "$kind" --device="$device" "${options[@]}"
  # Five and five steps are ten, whatever is recomputed.
  again "$kind" "$kind-again" --device="$device" \
    --activation_checkpoint.mode=full "${options[@]}"
  same "$kind" "$kind-again"
done

# A checkpoint of either device goes on on the other.
job cpu --device=cpu
near cpu tensorwise
again cpu cpu-moved --device="$device"
near cpu cpu-moved
again tensorwise moved-to-cpu --device=cpu
near tensorwise moved-to-cpu
echo passed
