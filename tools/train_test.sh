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
expect_text "no checkpoint to resume from in .*/none; without --resume"
[ -e none ] && fail "a refused run left a folder"
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
for wrong in --device=tpu --device=cpu:1 --data= --foo=1 \
  --float8.filter_fqns=nosuchlayer; do
  run usage "$wrong"; status=$? log=usage.log
  expect 2
  [ "$(wc -c <usage.log)" -lt 800 ] || fail "$wrong: a long message"
done
expect_text 'matches no layer; the layers are model.layers.{0-3}.self_attn.q'
# More GPUs than any machine has; without any, the reason is another.
run usage --device=cuda:99; status=$? log=usage.log
expect 1
expect_text "device 'cuda:99': "
run usage --model.flavor=405B; status=$? log=usage.log
expect 1
expect_text "memory needs [0-9.]* GiB .* [0-9.]* GiB are free; choose a"
run usage --data "text/*.none"; status=$? log=usage.log
expect 1
expect_text "text/\*.none"
[ -e usage ] && fail "a refused run left a folder"
printf 'x' >short.txt
run usage --data short.txt; status=$? log=usage.log
expect 1
expect_text "short.txt"
run usage --checkpoint.folder=model; status=$? log=usage.log
expect 2
expect_text "a run keeps other things in model"
for flag in --help --print_config; do
  "$train" $flag >/dev/full 2>usage.log; status=$? log=usage.log
  expect 1
  expect_text "cannot write to the standard output"
done
"$train" --training.steps=7 --print_config >printed.toml || fail "--print_config"
"$train" --config printed.toml --print_config >again.toml || fail "--config"
cmp printed.toml again.toml || fail "a printed job is another when it is read"
grep -q '^print_config = true' printed.toml && fail "a printed job only prints"
printf 'x%.0s' $(seq 5001) >trunc.bin
run usage --data trunc.bin; status=$? log=usage.log
expect 1
[ "$(grep -o trunc.bin usage.log | wc -l)" = 1 ] || fail "$(cat usage.log)"

# MFU where a peak is told; validation that cannot run says so.
run mfu --training.steps=1 --metrics.peak_tflops=10 \
  --data.validation_fraction=0; status=$? log=mfu.log
expect 0
expect_text "^FLOPs  *[0-9.]* M a token: 6 (N - N_embedding) + 12 L H head_dim"
expect_text "step 1/1 .*MFU [0-9.]*% of bf16 peak"
expect_text "^memory  *needs [0-9.]* GiB .*, [0-9.]* GiB are free; keeps all"
expect_text "^validation none: 0 windows are held out, a batch needs 2"
grep -q '"mfu":' mfu/metrics.jsonl || fail "no mfu in metrics.jsonl"
"$train" --help >help.log || fail "--help"
log=help.log
expect_text "common-licenses"
expect_text "tensorwise_delayed"
expect_text "training.seq_len=256"

# One run at a time in a folder; what another says does not touch it.
short=(--validation.enable=false --sample.tokens=0)
"${tiny[@]}" "${short[@]}" --job.dump_folder=busy --training.steps=100000 \
  --checkpoint.interval=100000 >busy.log 2>&1 &
wait_for busy/metrics.jsonl
before=$(ls -A busy)
run busy2 "${short[@]}" --job.dump_folder=./busy/; status=$? log=busy2.log
expect 1
expect_text "another run is writing to .*/busy: .*--job.dump_folder"
[ "$(ls -A busy)" = "$before" ] || fail "a refused run changed busy"
# Signals of one moment are one request: it stops with a checkpoint.
kill -TERM $! && kill -TERM $!
kill -INT $!
wait $!
status=$? log=busy.log
expect 0
expect_text "^checkpoint .*step-"
expect_text "the same command goes on"

# Stopped before its first step, while it waits for a full pipe: no checkpoint
# is promised.
mkfifo pipe
exec 8<>pipe
dd if=/dev/zero of=pipe bs=4096 oflag=nonblock 2>dd.log
"${tiny[@]}" "${short[@]}" --job.dump_folder=early >&8 2>&1 8>&- &
early=$!
wait_for early/metrics.jsonl
kill -INT $early
tr -d '\0' <pipe >early.log 8>&- &
exec 8>&-
wait $!
wait $early
status=$? log=early.log
expect 0
expect_text "^stopped  *before the first step; nothing was trained"

# What is not a run's is neither moved nor written.
mkdir theirs
printf '[training]\nsteps = 2\nseq_len = 32\n' >theirs/job.toml
cp theirs/job.toml saved.toml
run theirs --training.steps=2; status=$? log=theirs.log
expect 1
expect_text "theirs/job.toml is there and is not a run's"
(cd theirs && "$train" --config job.toml --job.dump_folder=.) >theirs.log 2>&1
status=$?
expect 1
[ "$(ls -A theirs)" = job.toml ] || fail "theirs holds more"
cmp theirs/job.toml saved.toml || fail "theirs/job.toml changed"

# Why a run starts anew; where the earlier one goes, however it is written.
run steps "${short[@]}" --checkpoint.interval=2 --training.steps=6
run steps2 "${short[@]}" --checkpoint.interval=2 --training.steps=10 \
  --job.dump_folder=steps/. --training.seed=1; status=$? log=steps2.log
expect 0
expect_text "^earlier  *run moved to .*/steps/previous-1, not resumed: .*seed is"
for file in job.toml metrics.jsonl model checkpoint/step-6; do
  [ -e "steps/previous-1/$file" ] || fail "no $file in steps/previous-1"
done
"$train" --config steps/job.toml --noresume >steps.log 2>&1
status=$? log=steps.log
expect 1
expect_text "steps/job.toml was given with --config and would be moved"

# Damage is told, and which step to take is the user's choice.
rm -r steps/checkpoint/step-10  # as if it had been interrupted
damaged=steps/checkpoint/step-8/adam_m.safetensors
for size in whole cut; do
  [ $size = whole ] && printf X | dd of=$damaged bs=1 seek=5000 conv=notrunc 2>&-
  [ $size = cut ] && truncate -s 5000 $damaged
  for resume in auto always; do
    run steps3 "${short[@]}" --job.dump_folder=steps --training.steps=10 \
      --training.seed=1 --checkpoint.resume=$resume; status=$? log=steps3.log
    expect 1
    expect_text "step-8/adam_m.safetensors.*delete .*step-8 to resume from step-6"
  done
done
rm -r steps/checkpoint/step-8
for step in 2 4 6; do
  : >steps/checkpoint/step-$step/manifest.json
done
run steps3 "${short[@]}" --job.dump_folder=steps --training.steps=10 \
  --training.seed=1; status=$? log=steps3.log
expect 0
expect_text "not resumed: .*step-6/manifest.json"

# A disk that is full: the error names the file, and no half of one is left.
(trap '' XFSZ; ulimit -f 200; run full --training.steps=6 "${short[@]}")
status=$? log=full.log
expect 1
expect_text "full/checkpoint/step-5.tmp/.*: File too large"
[ -z "$(find full -name '*.tmp' -o -name '*.safetensors')" ] ||
  fail "halves: $(find full)"
# A console that is full stops nothing.
"${tiny[@]}" "${short[@]}" --training.steps=2 --job.dump_folder=mute \
  >/dev/full 2>mute.log
status=$? log=mute.log
expect 0
expect_text "console output could not be written"
[ "$(steps mute | wc -l)" = 2 ] || fail "metrics of mute"

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
