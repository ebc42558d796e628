#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs the real trainer on tiny jobs: train_test.sh TRAIN_BINARY

set -u
train=$PWD/$1
unset BUILD_WORKING_DIRECTORY
cd "$TEST_TMPDIR" || exit 1

fail() {
  echo "FAILED: $*"
  exit 1
}

tiny=("$train" --data text --training.seq_len=32
  --training.local_batch_size=2 --sample.tokens=8 --validation.steps=2
  --checkpoint.interval=5)

# run NAME ARGS: the tiny job, into folder NAME; output in NAME.log.
run() {
  local name=$1
  shift
  "${tiny[@]}" --job.dump_folder="$name" "$@" >"$name.log" 2>&1
}

# expect CODE: of the run just ended, given as $status.
expect() {
  [ "$status" = "$1" ] || { cat "$log"; fail "$log: status $status, not $1"; }
}

expect_text() {
  grep -q -e "$1" "$log" || { cat "$log"; fail "$log lacks: $1"; }
}

losses() { grep -o '"loss":[^,}]*' "$1/metrics.jsonl"; }
steps() { grep -o '"step":[^,}]*' "$1/metrics.jsonl" | cut -d: -f2; }

# same A B: the same weights and the same losses, step by step.
same() {
  cmp "$1/model/model.safetensors" "$2/model/model.safetensors" ||
    fail "weights of $1 and $2 differ"
  [ "$(losses "$1")" = "$(losses "$2")" ] || fail "losses of $1 and $2 differ"
  [ "$(steps "$2")" = "$(steps "$1")" ] || fail "steps of $2: $(steps "$2")"
}

wait_for() {
  for _ in $(seq 600); do
    [ -e "$1" ] && return
    sleep 0.02
  done
  fail "$1 did not appear"
}

mkdir text
for word in alpha beta gamma; do
  yes "the $word of the quick brown fox" | head -n 60 >"text/$word.txt"
done

# A good run says what it does, and the same command gives the same bytes.
run good --training.steps=12; status=$? log=good.log
expect 0
for text in "^device  *cpu" "^data .*3 files" "^model .*tiny" tensorwise \
  "step 12/12 .* tokens/s .*MFU n/a" "validation" "^done"; do
  expect_text "$text"
done
for file in job.toml metrics.jsonl sample.txt model/config.json \
  model/model.safetensors checkpoint/step-12/manifest.json; do
  [ -e "good/$file" ] || fail "no good/$file"
done
[ "$(steps good | wc -l)" = 12 ] || fail "metrics.jsonl of good"
run again --training.steps=12; status=$? log=again.log
expect 0
same good again
cmp good/sample.txt again/sample.txt || fail "samples differ"

# A complete run is moved aside by the next; a foreign file stays.
echo mine >again/notes.txt
run again --training.steps=12 --float8.recipe=bf16; status=$? log=again.log
expect 0
expect_text "moved to .*again/previous-1"
[ -e again/previous-1/model/model.safetensors ] || fail "previous-1 is empty"
[ "$(cat again/notes.txt)" = mine ] || fail "notes.txt is gone"

# Killed at any moment, and stopped by Ctrl-C: the same run goes on.
run straight --training.steps=60; status=$? log=straight.log
expect 0
for signal in KILL INT; do
  name=run_$signal
  "${tiny[@]}" --job.dump_folder="$name" --training.steps=60 \
    >"$name.log" 2>&1 &
  wait_for "$name/checkpoint/step-10"
  kill -$signal $!
  wait $!
  status=$? log=$name.log
  if [ $signal = INT ]; then
    expect 0
    expect_text "^stopped"
  fi
  run "$name" --training.steps=60; status=$? log=$name.log
  expect 0
  expect_text "^resumed .*step-"
  same straight "$name"
done

# --resume insists.
run none --training.steps=3 --resume; status=$? log=none.log
expect 1
run straight --training.steps=90 --resume --training.seed=1; status=$?
log=straight.log
expect 1
expect_text "training.seed is 1, was 42"

# Wrong arguments are status 2 and named, bad data status 1.
run usage --training.step=3; status=$? log=usage.log
expect 2
expect_text "training.steps"
run usage --model.flavor=9B; status=$? log=usage.log
expect 2
expect_text "9B"
run usage --data "text/*.none"; status=$? log=usage.log
expect 1
expect_text "text/\*.none"
[ -e usage ] && fail "a refused run left a folder"
printf 'x' >short.txt
run usage --data short.txt; status=$? log=usage.log
expect 1
expect_text "short.txt"
"$train" --help >help.log || fail "--help"
log=help.log
expect_text "common-licenses"
expect_text "tensorwise_delayed"
expect_text "training.seq_len=256"

# Weights that explode: stop leaves those before, skip gives up in the end.
explode=(--optimizer.lr=1e6 --optimizer.weight_decay=1e6 --training.max_norm=0
  --lr_scheduler.warmup_steps=0 --training.steps=60)
run stop "${explode[@]}"; status=$? log=stop.log
expect 1
expect_text "training.nonfinite=skip goes on"
run skip "${explode[@]}" --training.nonfinite=skip; status=$? log=skip.log
expect 1
expect_text "SKIPPED"
expect_text "10 steps in a row"
grep -q '"loss":null' skip/metrics.jsonl ||
  grep -q '"grad_norm":null' skip/metrics.jsonl || fail "no null in JSON"
[ "$(ls stop/checkpoint)" ] || fail "stop kept no checkpoint"

echo PASSED
