#!/bin/bash
# SPDX-License-Identifier: Apache-2.0

# roofline hardware on good and bad input: hardware_test.sh ROOFLINE
set -u
roofline=$PWD/$1
program=$roofline name=roofline
. tools/command_test.sh
unset BUILD_WORKING_DIRECTORY
shipped=$PWD/roofline/h200.toml
cd "$TEST_TMPDIR" || exit 1

# refuses CODE TEXT ARGS: that exit code, TEXT on stderr, nothing on stdout, no file.
refuses() {
  local code=$1 text=$2
  shift 2
  run "$@"
  [ $status = "$code" ] && [ ! -s out ] && [ ! -e new.toml ] && grep -Fq -- "$text" err ||
    fail "roofline $*: status $status, wanted $code and $text"
}

# All cards, a row each.
prints '^H200 +989 +1979 .* 4800 +141 .* measured' hardware
prints '^A100 .* shares of the peaks' hardware
run hardware --format=csv
[ "$(wc -l <out)" = 13 ] || fail "hardware: $(wc -l <out) lines"
grep -q '^A100,312,,,2039,80,300,25,8,shares of the peaks$' out || fail "the row of A100"

# One card: every number and where it is from.
prints '^bf16_tflops +989 +NVIDIA H200 Tensor Core GPU datasheet' hardware H200
prints '^gemm_tflops.block1x128 +903 +measured on an H200' hardware "NVIDIA H200"
prints '^link_share,0.8,assumed: what large NCCL messages usually reach$' hardware --hardware=B200 --format=csv
prints '^    "key": "memory_gigabytes",$' hardware MI300X --format=json
run hardware L40S card.csv
[ $status = 0 ] && grep -q '^key,value,source$' card.csv || fail "hardware L40S card.csv"
run hardware all.json
[ $status = 0 ] && [ "$(grep -c '"name"' all.json)" = 12 ] || fail "hardware all.json"

# As a file, which says the same of itself.
run hardware H200 --format=toml
[ $status = 0 ] && diff <(grep -v '^#' "$shipped" | sed '/^$/d') <(sed '/^$/d' out) >/dev/null ||
  fail "hardware H200 --format=toml is not the file that ships"
run hardware B200 --outfile=b200.toml
[ $status = 0 ] && [ ! -s out ] && grep -q 'wrote b200.toml' err || fail "--outfile=b200.toml"
run hardware B200 --format=csv
cp out built_in.csv
run hardware b200.toml --format=csv
cmp -s out built_in.csv || fail "a card's own file has other numbers"
run linear --hardware=b200.toml --shapes=512x512x512
[ $status = 0 ] || fail "linear does not take the file"
# A source that is not given is an empty field.
printf 'name = "mine"\nbf16_tflops = 100\nmemory_gigabytes_per_second = 500\n' >mine.toml
prints '^bf16_tflops,100,$' hardware mine.toml --format=csv

refuses 2 '"H201" is unknown; known are' hardware H201
refuses 1 'none.toml' hardware none.toml
echo 'name = 3' >broken.toml
refuses 2 'broken.toml:1' hardware broken.toml
refuses 2 "a card's file is of one card" hardware --outfile=new.toml
refuses 2 'unexpected argument "b"' hardware H200 b --format=toml
refuses 2 'unexpected argument' hardware H200 b
refuses 2 '--format=xml' hardware H200 --format=xml
refuses 1 'nowhere/new.toml' hardware H200 --outfile=nowhere/new.toml
refuses 1 '/dev/full' hardware H200 --format=toml --outfile=/dev/full

[ $failures = 0 ] || exit 1
echo "all as expected"
