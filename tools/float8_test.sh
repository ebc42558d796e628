#!/bin/bash
# SPDX-License-Identifier: Apache-2.0

# The real command on good and bad input: float8_test.sh FLOAT8 GOLDEN.safetensors
set -u
float8=$PWD/$1
program=$float8 name=float8
. tools/command_test.sh
golden=$PWD/$2
unset BUILD_WORKING_DIRECTORY
cd "$TEST_TMPDIR" || exit 1

# refuses CODE TEXT ARGS: that exit code, TEXT on stderr, nothing on stdout.
refuses() {
  local code=$1 text=$2
  shift 2
  run "$@"
  [ $status = "$code" ] && [ ! -s out ] && grep -Fq -- "$text" err ||
    fail "float8 $*: status $status, wanted $code and $text"
}

prints '^1.0 +0x38  1$' encode --format=e4m3 1.0 464 nan
prints '^464 +0x7e  448$' encode --format=e4m3 1.0 464 nan
prints '^nan +0x7f  nan$' encode 1.0 464 nan
prints '^465 +0x7f  nan$' encode --no-saturate 465
prints '^-1e30 +0xfc  -inf$' encode --no-saturate --format e5m2 -1e30
prints '^1.0625000009313226 +0x39  1.125$' encode 1.0625000009313226
prints '^0x7b  0 11110 11  57344$' decode --format=e5m2 7b 0x01
prints '^0x01  0 00000 01  1.52587891e-05$' decode --format=e5m2 7b 0x01
prints '^0x80  1 0000 000  -0$' decode 80
prints '^0xfe  1 1111 110  -448$' table --format=e4m3
[ "$(wc -l <out)" = 257 ] || fail "table: $(wc -l <out) lines, wanted 257"
prints '^scale +149.333328 \(f32 0x43155555\)$' scale --amax=3 --format=e4m3
prints '^scale +128 ' scale --amax=3 --format=e4m3 --rounding=pow2
prints '^1 / scale +0.0078125 ' scale --amax=3 --rounding e8m0
prints '^scale +4.47999986e\+14 ' scale --amax=0

prints '^x .*tensorwise .*e4m3 tensor exact +3[0-9]\.[0-9]+ +0% ' \
  error "$golden" --tensor=x --recipe=tensorwise
[ "$(wc -l <out)" = 2 ] || fail "one tensor, one recipe: $(wc -l <out) lines"
prints '^grad_output .*mxfp8' error "$golden"
prints 'tensors are left out: no matrix of f32, bf16 or f16, or a scale$' error "$golden"
grep -Eq '^[^ ]+\.scale ' out && fail "scales are listed"

# A model of nine shards. Columns hold for its long names.
sharded=$(dirname "$golden")/../llama_tied_sharded
prints '^model.embed_tokens.weight ' error "$sharded" --recipe=tensorwise
grep -Eq '^model.layers.0.post_attention_layernorm.weight' out && fail "a vector is listed"
at=$(sed -n 's/tensorwise .*//p' out | awk '{ print length($0) }' | sort -u | wc -l)
[ "$at" = 1 ] || fail "the recipe stands in $at columns"
prints '^model.layers.0.post_attention_layernorm.weight +[a-z0-9]+ \[' \
  error "$sharded" --tensor=model.layers.0.post_attention_layernorm.weight

# Every value that --help names is taken.
prints '^usage: float8' --help
prints '^usage: float8' scale --help
recipes=$(sed -n 's/^Recipes: //p' out | tr -d ,)
[ -n "$recipes" ] || fail "--help lists no recipes"
for recipe in $recipes; do
  prints '^w ' error "$golden" --tensor=w --recipe="$recipe"
done
for format in e4m3 e5m2; do
  for rounding in exact pow2 e8m0; do
    prints '^scale ' scale --amax=1 --format=$format --rounding=$rounding
  done
done

refuses 2 'no command'
refuses 2 'no command "encrypt"' encrypt 1
refuses 2 '--format=e3m4' encode --format=e3m4 1
refuses 2 '"1.0x" is no number' encode 1.0x
refuses 2 'encode needs values' encode
refuses 2 '"100" is no byte' decode 100
refuses 2 '"g1" is no byte' decode 01 g1
refuses 2 '"-1" is no byte' decode -1
refuses 2 '--amax=-1' scale --amax=-1
refuses 2 '--amax=big' scale --amax=big
refuses 2 'scale needs --amax' scale
refuses 2 '--amax needs a value' scale --amax
refuses 2 '--rounding=up' scale --amax=1 --rounding=up
refuses 2 'has no flag --amax=1' table --amax=1
refuses 2 'no argument "7"' table 7
refuses 2 '--no-saturate=1' encode --no-saturate=1 1
refuses 2 '--format=e5m2: the flag is given twice' table --format=e4m3 --format=e5m2
refuses 2 '--recipe=int8' error "$golden" --recipe=int8
refuses 2 'one FILE or FOLDER, not 0' error
refuses 2 'one FILE or FOLDER, not 2' error a b
mkdir empty
refuses 1 'empty' error empty
refuses 1 'missing.safetensors' error missing.safetensors
refuses 1 'nothing' error "$golden" --tensor=nothing
refuses 1 'not f32, bf16 or f16' error "$golden" --tensor=cast.x.row.exact.e4m3.data
head -c 100 "$golden" >cut.safetensors
refuses 1 'cut.safetensors' error cut.safetensors

# amax: 48 rows of 64 in two tiles each; the largest of all is the largest there is.
prints '^ +1 +3.95312 .* bf16 \[48, 64\] +x$' amax "$golden" --tensor=x --device=cpu
grep -q '^device cpu: ' out || fail "amax names no device"
prints '^ +96 +3.95312 +[0-9.]+ +0 +0 ' amax "$golden" --tensor=x --granularity=1x32
grep -Eq '^[1-9][0-9]* of [1-9][0-9]* tensors are left out: ' out && fail "amax --tensor leaves none out"
prints '^[1-9][0-9]* of [1-9][0-9]* tensors are left out: not f32, bf16 or f16$' amax "$golden" --device=cpu
# Two rows of two f32: 1, -inf and 2, nan; then 1, -inf alone.
header='{"both":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]},"inf":{"dtype":"F32","shape":[1,2],"data_offsets":[16,24]}}'
{
  printf "\\x$(printf %x ${#header})\\0\\0\\0\\0\\0\\0\\0%s" "$header"
  printf '\0\0\x80\x3f\0\0\x80\xff\0\0\0\x40\0\0\xc0\x7f'
  printf '\0\0\x80\x3f\0\0\x80\xff'
} >odd.safetensors
prints '^ +1 +nan .* 1  f32 \[2, 2\] +both$' amax odd.safetensors --device=cpu
prints '^ +1 +inf .* 1  f32 \[1, 2\] +inf$' amax odd.safetensors --device=cpu
prints '^ +2 +nan .* 2  f32 \[2, 2\] +both$' amax odd.safetensors --device=cpu --granularity=row
grep -q 'left out' out && fail "amax leaves out what it printed"
refuses 2 'unknown device' amax "$golden" --device=tpu
refuses 2 '"64x64" is none of tensor' amax "$golden" --granularity=64x64
refuses 2 'one FILE, not 0' amax
refuses 1 'missing.safetensors' amax missing.safetensors

if [ -e /dev/full ]; then
  for argument in table --help; do
    "$float8" $argument >/dev/full 2>err
    [ $? = 1 ] || fail "$argument: a full disk is no success"
  done
fi

[ $failures = 0 ] || exit 1
echo "all as expected"
