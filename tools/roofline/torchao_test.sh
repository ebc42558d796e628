#!/bin/bash
# SPDX-License-Identifier: Apache-2.0

# Shapes and caches of torchao's float8_roofline.py: torchao_test.sh ROOFLINE
set -u
roofline=$PWD/$1
program=$roofline name=roofline
. tools/command_test.sh
unset BUILD_WORKING_DIRECTORY
cd "$TEST_TMPDIR" || exit 1

# refuses CODE TEXT ARGS: that exit code, TEXT on stderr, nothing on stdout, no file.
refuses() {
  local code=$1 text=$2
  shift 2
  run "$@"
  [ $status = "$code" ] && [ ! -s out ] && [ ! -e new.csv ] && grep -Fq -- "$text" err ||
    fail "roofline $*: status $status, wanted $code and $text"
}

# row FILE LINE COLUMNS: those fields of that line.
row() { sed -n "$2p" "$1" | cut -d, -f"$3"; }

# DeepSeek-V3's shapes. Seconds of B200 in pytorch/ao#3645, three digits: bf16, float8.
run dsv3.csv --shape_gen_name=dsv3-671b --float8_recipe_name=rowwise --do_benchmarks=False --hardware=B200
[ $status = 0 ] && [ "$(wc -l <dsv3.csv)" = 10 ] || fail "dsv3-671b: $status"
[ "$(row dsv3.csv 2 1-3)" = 81920,7168,1536 ] && [ "$(row dsv3.csv 3 1-3)" = 81920,1536,24576 ] &&
  [ "$(row dsv3.csv 4 1-3)" = 81920,16384,7168 ] && [ "$(row dsv3.csv 5 1-3)" = 81920,7168,576 ] ||
  fail "the first four of dsv3-671b"
near() { awk -v a="$1" -v b="$2" 'BEGIN { d = a / b - 1; exit !(d * d < 1e-4) }' || fail "$1 is not $2"; }
near "$(row dsv3.csv 2 4)" 3.08e-3
near "$(row dsv3.csv 3 4)" 1.06e-2
near "$(row dsv3.csv 4 4)" 3.29e-2
near "$(row dsv3.csv 5 4)" 1.16e-3
near "$(row dsv3.csv 2 5)" 1.54e-3
near "$(row dsv3.csv 5 5)" 5.78e-4
run ffn.csv --shape_gen_name=dsv3-16b-671b --float8_recipe_name=tensorwise
[ $status = 0 ] && [ "$(tail -n +2 ffn.csv | cut -d, -f1-3 | tr '\n' ' ')" = '4096,7168,18432 4096,18432,7168 ' ] ||
  fail "dsv3-16b-671b: $status $(cat ffn.csv)"
prints '^attn.wkv_b +81920 +512 +32768 ' linear --shape_gen_name=dsv3-671b
refuses 2 'dsv3-236b' new.csv --shape_gen_name=dsv3-236b --float8_recipe_name=rowwise

# Times that its script measured: the columns of benchmarks, and their ratio to the roofline's.
cat >cache.json <<'JSON'
{"1024,1024,1024,True,row_major:col_major": [1e-5, 5e-6],
 "1024,1024,1024,False,row_major:row_major": [2e-5, 6e-6],
 "1024,1024,1024,False,col_major:row_major": [3e-5, 9e-6]}
JSON
run cached.csv --gemm_cache_filename=cache.json --float8_recipe_name=tensorwise --n_limit=1
[ $status = 0 ] || fail "--gemm_cache_filename: $status"
near "$(row cached.csv 2 9)" 6e-5
near "$(row cached.csv 2 10)" 2e-5
[ "$(row cached.csv 2 11-13)" = 0,0,0 ] || fail "e2e is not measured: $(row cached.csv 2 11-13)"
near "$(row cached.csv 2 14)" "$(row cached.csv 2 4 | awk '{ print $1 / 6e-5 }')"
near "$(row cached.csv 2 15)" "$(row cached.csv 2 5 | awk '{ print $1 / 2e-5 }')"
run plain.csv --float8_recipe_name=tensorwise --n_limit=1
[ "$(row plain.csv 2 1-8)" = "$(row cached.csv 2 1-8)" ] || fail "the roofline's columns changed"
[ "$(row plain.csv 2 9-15)" = 0,0,0,0,0,-1,-1 ] || fail "without a cache: $(row plain.csv 2 9-15)"
refuses 1 '"2048,2048,2048,True,row_major:col_major" is not there' new.csv --gemm_cache_filename=cache.json
refuses 1 'none.json' new.csv --gemm_cache_filename=none.json
refuses 2 '--gemm_cache_filename=cache.json is of --cost_model=head' new.csv --gemm_cache_filename=cache.json \
  --cost_model=pr668 --gemm_time_strategy=roofline
echo '{"1,2,3": [1, 2]}' >keys.json
refuses 1 'keys.json: "1,2,3" is no product' new.csv --gemm_cache_filename=keys.json

[ $failures = 0 ] || exit 1
echo "all as expected"
