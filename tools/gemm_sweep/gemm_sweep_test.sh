#!/bin/bash
# SPDX-License-Identifier: Apache-2.0

# The real command on the CPU: gemm_sweep_test.sh GEMM_SWEEP ROOFLINE
set -u
sweep=$PWD/$1
roofline=$PWD/$2
unset BUILD_WORKING_DIRECTORY
cd "$TEST_TMPDIR" || exit 1
failures=0
quick='--device=cpu --seconds=0'

# run ARGS: leaves status, and the files out and err.
run() {
  # shellcheck disable=SC2086
  "$sweep" $quick "$@" >out 2>err
  status=$?
}

fail() {
  echo "FAILED: $*"
  head -n 30 out err
  failures=$((failures + 1))
}

# says TEXT ARGS: exit 0, TEXT on stdout.
says() {
  local text=$1
  shift
  run "$@"
  [ $status = 0 ] && grep -Fq -- "$text" out || fail "gemm_sweep $*: status $status, wanted $text"
}

# refuses CODE TEXT ARGS: that exit code, TEXT on stderr, nothing on stdout, no file.
refuses() {
  local code=$1 text=$2
  shift 2
  run "$@"
  [ $status = "$code" ] && [ ! -s out ] && [ ! -e new.csv ] && grep -Fq -- "$text" err ||
    fail "gemm_sweep $*: status $status, wanted $code and $text"
}

header=device,m,k,n,dtype,scale_mode,accumulation,seconds,heuristic_seconds,tflops,reason

says 'measured 7, refused 0, there already 0' --outfile=a.csv --shapes=64x128x32
[ "$(head -n 1 a.csv)" = $header ] || fail "header $(head -n 1 a.csv)"
[ "$(wc -l <a.csv)" = 8 ] || fail "a row a mode"
grep -Eq '^CPU,64,128,32,bf16,none,f32,[0-9.e-]+,,[0-9.e-]+,$' a.csv || fail "the row of bf16"
for mode in block128 block1x128; do
  grep -Eq "^CPU,64,128,32,e4m3,$mode,precise,[0-9.e-]+," a.csv || fail "the row of $mode"
done

# A second run measures what is new alone.
says 'measured 0, refused 0, there already 7' --outfile=a.csv --shapes=64x128x32
says 'measured 2, refused 0, there already 2' a.csv --shapes=64x128x32,32x32x32 --modes=bf16,tensor
says 'measured 1, refused 0, there already 2' a.csv --M=32 --K=32 --N=32 --modes=bf16,tensor,row_fast
[ "$(grep -c ^device a.csv)" = 1 ] || fail "a second header"

# A kill in the middle of a row: it is cut and measured again.
cp a.csv whole.csv
head -c -5 whole.csv >a.csv
says 'measured 1, refused 0, there already 2' a.csv --M=32 --K=32 --N=32 --modes=bf16,tensor,row_fast
grep -q 'the last line was not whole' err || fail "no word of the repair"
[ "$(wc -l <a.csv)" = "$(wc -l <whole.csv)" ] || fail "repaired to $(wc -l <a.csv) lines"
awk -F, 'NF != 11 { exit 1 }' a.csv || fail "the repair leaves a ragged row"
head -c 20 whole.csv >b.csv
says 'measured 1' b.csv --shapes=8x8x8 --modes=f32
[ "$(head -n 1 b.csv)" = $header ] || fail "half a header"

# A kill at any moment keeps all rows but the one in flight.
# shellcheck disable=SC2086
"$sweep" $quick k.csv --shapes=sweep --min_size=16 --max_size=512 --gemms=given >out 2>err &
pid=$!
for _ in $(seq 100); do [ -e k.csv ] && [ "$(wc -l <k.csv)" -gt 5 ] && break || sleep 0.1; done
refuses 1 'another sweep is writing to it' k.csv --shapes=8x8x8
kill -9 $pid
wait $pid 2>/dev/null
rows=$(($(wc -l <k.csv) - 1))
says "there already $rows" k.csv --shapes=sweep --min_size=16 --max_size=512 --gemms=given --n_limit=$((rows / 7 + 1))

# A linear layer's three products; a cube is one.
says 'measured 3,' linear.csv --gemms=linear --shapes=16x32x48 --modes=tensor
says 'measured 1,' linear.csv --shape_gen_name=custom --M=16 --K=16 --N=16 --modes=tensor --gemms=linear
grep -q '^CPU,16,48,32,' linear.csv && grep -q '^CPU,32,16,48,' linear.csv || fail "the gradients' products"

# The roofline command reads it.
says 'measured' linear.csv --gemms=linear --shapes=16x32x48
"$roofline" linear --gemm_device=CPU --gemm_benchmarks_file=linear.csv --shapes=16x32x48 --format=csv >out 2>err
[ $? = 0 ] && grep -q ',measured,$' out || fail "roofline does not take the file"
"$roofline" linear --gemm_device=CPU --gemm_benchmarks_file=linear.csv --shapes=17x32x48 >out 2>err
[ $? = 1 ] && grep -q 'of 17x32x48 (m, k, n) is not measured' err || fail "roofline guesses"

# Every value that --help names.
"$sweep" --help >out 2>err || fail "--help"
modes=$(sed -n 's/^ *of \(bf16.*\)/\1/p' out | tr -d ' ')
[ -n "$modes" ] || fail "--help lists no modes"
says 'measured 8,' new8.csv --shapes=8x8x8 --modes="$modes"
for out in bf16 f32; do says 'measured 1,' $out.csv --out=$out --shapes=8x8x8 --modes=row; done

refuses 2 '--outfile=FILE.csv is missing' --shapes=8x8x8
refuses 2 '--modes=int8: "int8" is none of' new.csv --modes=int8
refuses 2 'shape 0x8x8' new.csv --shapes=0x8x8
refuses 2 '--seconds=fast' new.csv --seconds=fast --shapes=8x8x8
refuses 2 '--seconds=-1' new.csv --seconds=-1 --shapes=8x8x8
refuses 2 '--gemms=two' new.csv --gemms=two
refuses 2 'has no flag --mode=row; did you mean --modes?' new.csv --mode=row
refuses 2 'unexpected argument "c.csv"' new.csv c.csv
refuses 1 'nowhere/new.csv' nowhere/new.csv --shapes=8x8x8
refuses 1 'no regular file' /dev/full --shapes=8x8x8
"$sweep" --device=tpu new.csv >out 2>err
[ $? = 2 ] && [ ! -e new.csv ] && grep -q 'tpu' err || fail "--device=tpu"
printf 'mine,not yours\n' >mine.csv
refuses 1 'mine.csv:1: not a file of gemm_sweep' mine.csv --shapes=8x8x8
[ "$(cat mine.csv)" = "mine,not yours" ] || fail "a foreign file is changed"
printf '%s\nCPU,1,2\n' $header >ragged.csv
refuses 1 'ragged.csv:2: 3 fields, the header has 11' ragged.csv --shapes=8x8x8

# A model's: all that roofline's linear and model ask for.
cat >config.json <<'JSON'
{"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 64, "intermediate_size": 96,
 "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "vocab_size": 256,
 "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "max_position_embeddings": 128, "tie_word_embeddings": false}
JSON
says 'refused 0' tiny.csv --shapes=./config.json --tokens=32 --modes=bf16,tensor,tensor_fast
"$roofline" model --gemm_device=CPU --model=./config.json --sequence=32 --gemm_benchmarks_file=tiny.csv >out 2>err || fail "model lacks a product: $(cat err)"
"$roofline" linear --gemm_device=CPU --shapes=./config.json --tokens=32 --gemm_benchmarks_file=tiny.csv >out 2>err || fail "linear lacks a product"

# A product that no machine holds is a row that says so, and the sweep goes on.
says 'measured 2, refused 2,' huge.csv --shapes=1048576x1048576x1048576,8x8x8 --modes=bf16,tensor
grep -Eq '^CPU,1048576,1048576,1048576,bf16,none,f32,,,,"?needs 19791209299968 bytes, [0-9]+ are available"?$' huge.csv ||
  fail "the row of a huge product: $(grep 1048576 huge.csv)"

# Nothing but such products is a failure.
refuses 1 'all 2 products are refused' none.csv --shapes=1048576x1048576x1048576 --modes=bf16,tensor

# The command that an error names adds what is missing; a folder's name alone is its model.
mkdir cfg && cp config.json cfg/
says 'refused 0' part.csv --shapes=cfg --tokens=32 --modes=bf16
"$roofline" model --gemm_device=CPU --model=cfg --sequence=32 --gemm_benchmarks_file=part.csv >out 2>err && fail "model guesses"
command=$(sed -n 's/^all that is missing: gemm_sweep //p' err)
# shellcheck disable=SC2086
says 'refused 0' $command
"$roofline" model --gemm_device=CPU --model=cfg --sequence=32 --gemm_benchmarks_file=part.csv >out 2>err ||
  fail "the command named does not measure all: $command"

# No room for the header: no file.
# shellcheck disable=SC2086
(trap '' XFSZ && ulimit -f 0 && exec "$sweep" $quick empty.csv --shapes=8x8x8) >/dev/null 2>&1 && fail "no room"
[ ! -e empty.csv ] || fail "a file without a header is left"

# A full disk: no success, and a later run repairs.
# shellcheck disable=SC2086
(trap '' XFSZ && ulimit -f 1 && exec "$sweep" $quick full.csv --shapes=sweep --min_size=8 --max_size=16) >out 2>err
[ $? = 1 ] && grep -q 'cannot write full.csv' err || fail "a full disk"
says 'refused 0' full.csv --shapes=sweep --min_size=8 --max_size=16
[ "$(wc -l <full.csv)" = $((8 * 7 + 1)) ] || fail "$(wc -l <full.csv) lines after the repair"

[ $failures = 0 ] || exit 1
echo "all as expected"
