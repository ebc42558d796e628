#!/bin/bash
# SPDX-License-Identifier: Apache-2.0

# roofline model on good and bad input: model_test.sh ROOFLINE
set -u
roofline=$PWD/$1
program=$roofline name=roofline
. tools/command_test.sh
goldens=$PWD/testing/goldens
unset BUILD_WORKING_DIRECTORY
cd "$TEST_TMPDIR" || exit 1

# refuses CODE TEXT ARGS: that exit code, TEXT on stderr, nothing on stdout, no file.
refuses() {
  local code=$1 text=$2
  shift 2
  rm -rf new.*
  run "$@"
  [ $status = "$code" ] && [ ! -s out ] && [ -z "$(ls -d new.* 2>/dev/null)" ] && grep -Fq -- "$text" err ||
    fail "roofline $*: status $status, wanted $code and $text"
}

# Llama 3 8B on one H200: the parameters, and the steps between the bound made by hand (0.49 s) and a trainer's.
prints '^llama3_8b on H200 \(calibrated rates\): 8.03 G parameters, 57.91 GFLOP a token' model
prints '^recipe,ranks,step_s,tokens_per_second_per_gpu,' model --format=csv
cp out one.csv
python3 - one.csv <<'PY' || fail "rows of the default job"
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1], newline="")))
bf16, fp8 = rows
assert [r["recipe"] for r in rows] == ["bf16", "tensorwise"]
assert bf16["parameters"] == "8030261248"
assert float(bf16["speedup"]) == 1 and 1.2 < float(fp8["speedup"]) < 1.6
assert 10000 < float(bf16["tokens_per_second"]) < 12500
assert 14000 < float(fp8["tokens_per_second"]) < 17000
parts = [k for k in fp8 if k.endswith("_s") and k not in ("step_s", "hidden_communication_s")]
assert len(parts) == 7
assert abs(sum(float(fp8[k]) for k in parts) - float(fp8["step_s"])) < 1e-9
gib = [k for k in fp8 if k.endswith("_gib") and k != "memory_gib"]
assert abs(sum(float(fp8[k]) for k in gib) - float(fp8["memory_gib"])) < 1e-6
PY
env LC_ALL=de_DE.UTF-8 LANG=de_DE.UTF-8 "$roofline" model --format=csv >out
cmp -s out one.csv || fail "the locale changes the CSV"

prints '"fits": (true|false),' model --format=json

# Every value that --help names.
run model --help
[ $status = 0 ] && [ ! -s err ] || fail "model --help"
recipes=$(sed -n 's/^  --recipe=NAME\[,NAME...\]  //p' out | tr -d ,)
[ "$(echo "$recipes" | wc -w)" -ge 6 ] || fail "--help lists no recipes"
for recipe in $recipes; do
  [ "$recipe" = mxfp8 ] && continue # no such product on Hopper
  prints "^$recipe " model --recipe="$recipe"
done
for value in none full; do prints '^tensorwise ' model --recompute=$value; done
for value in bf16 fp8; do prints '^tensorwise ' model --gather=$value --ranks=8; done
for value in f32 bf16; do prints '^tensorwise ' model --state=$value --reduce=$value --ranks=8; done
for value in text csv json; do prints 'tensorwise' model --format=$value; done
for value in auto peak calibrated; do prints '^tensorwise ' model --rates=$value; done
prints '^tensorwise +4096 ' model --ranks=1,8,64,4096 --shard_ranks=1 --batch=2 --microbatches=4 --nofused_producer
prints 'keep bf16, float8 is 0' model --sequence=16 --only_faster
prints '4.54 G parameters' model --layers=16
prints '^bf16 ' model --hardware=A100 --recipe=bf16
prints 'GPUs' model --model="$(dirname "$(find -L "$goldens" -name config.json | head -n 1)")"
prints 'GPUs' model --model="$(find -L "$goldens" -name config.json | head -n 1)"

# A page and pictures.
run model --html=page.html --svg=pictures --ranks=1,8
[ $status = 0 ] && grep -q '^wrote page.html$' err && grep -q '^tensorwise' out || fail "--html and --svg"
python3 - <<'PY' || fail "the page"
import os, xml.etree.ElementTree as E
root = E.parse("page.html").getroot()
text = "".join(root.itertext())
out = open("out").read()
rows = [line.split() for line in out.splitlines() if line.startswith(("bf16 ", "tensorwise "))]
assert len(rows) == 4, rows
for row in rows:
    for number in row:
        assert number in text, number
names = sorted(os.listdir("pictures"))
assert names == ["layers-tensorwise.svg", "parts.svg", "roofline.svg", "step-tensorwise.svg"], names
for name in names:
    E.parse("pictures/" + name)
PY

refuses 2 '--batch=0' model --batch=0 --html=new.html
refuses 2 '--sequence=-1' model --sequence=-1 --html=new.html
refuses 2 '--layers=0' model --layers=0 --html=new.html
refuses 2 '--ranks=8x' model --ranks=8x --html=new.html
refuses 2 '"foo"; there are: bf16' model --recipe=foo --html=new.html
refuses 2 'B200 has no products with 128x128 scales' model --hardware=B200 --recipe=bf16,blockwise --html=new.html
# HSDP: the shards are of --ranks, whole where a listed number of GPUs is smaller.
prints '^tensorwise +8 ' model --ranks=8 --shard_ranks=4
prints '^tensorwise +1 ' model --ranks=1,8 --shard_ranks=8
refuses 2 '--shard_ranks=4 is more than --ranks, 1' model --shard_ranks=4 --html=new.html
refuses 2 'shard_ranks is 8, expected a divisor of the ranks, 12' model --ranks=8,12 --shard_ranks=8
refuses 2 'shard_ranks is 3' model --ranks=8 --shard_ranks=3 --html=new.html
refuses 2 'new.page' model --frob=new.page
refuses 2 'model nope is none of' model --model=nope --html=new.html
refuses 1 'missing/config.json' model --model=missing/config.json --html=new.html
ln -s /dev/zero zero.json
refuses 1 'zero.json is a device, not a file' model --model=zero.json --html=new.html
refuses 2 '--html= names no file' model --html=
refuses 1 'no/new.html' model --html=no/new.html
refuses 2 'A100' model --hardware=A100 --html=new.html
echo '{"model_type": "llama"' >broken.json
refuses 1 'broken.json' model --model=broken.json --html=new.html

# A word that names no table is no output.
refuses 2 'did you mean --model=llama3_70b, or --outfile=llama3_70b?' model llama3_70b --html=new.html
for command in linear breakeven; do
  refuses 2 'did you mean --shapes=llama3_70b' $command llama3_70b --html=new.html
done
refuses 2 'did you mean --recipe=rowwise' symbolic rowwise
refuses 2 'llama3_70b ends in none of .jsonl' compare llama3_70b
refuses 2 '--html=new.html writes a page' model new.html
[ ! -e llama3_70b ] && [ ! -e rowwise ] || fail "a stray word wrote a file"
run model word.csv --model=llama3_70b
[ $status = 0 ] && grep -q '^bf16,1,' word.csv || fail "model word.csv"

# --- the page of linear ---------------------------------------------------------------------
# page NAMES: page.html is well-formed, holds every number of the table in out, and these pictures exist.
page() {
  python3 - "$@" <<'PY' || fail "page: $*"
import os, re, sys, xml.etree.ElementTree as E
text = "".join(E.parse("page.html").getroot().itertext())
table = open("out").read().split("\n\n")[-1]
numbers = re.findall(r"(?<![\w.])\d[\d.e+-]*(?![\w.])", table)
assert numbers
missing = [n for n in numbers if n not in text]
assert not missing, missing[:5]
names = sorted(os.listdir("pictures"))
assert names == sorted(n + ".svg" for n in sys.argv[1:]), names
for name in names:
    E.parse("pictures/" + name)
PY
}
run linear --html=page.html --svg=pictures-sweep
[ $status = 0 ] && grep -q '^wrote page.html$' err || fail "linear --html"
mv pictures-sweep pictures-new && rm -rf pictures && mv pictures-new pictures
page parts roofline speedup-k4096 speedup-k512 speedup-k32768
for shapes in llama3_8b 16x32x48; do
  rm -rf pictures
  run linear --shapes=$shapes --html=page.html --svg=pictures
  [ $status = 0 ] || fail "linear --shapes=$shapes --html"
  page parts roofline speedup
done
refuses 1 'no/new.html' linear --shapes=pow2 --html=no/new.html

# --- compare --------------------------------------------------------------------------------
cat >bench.json <<'JSON'
{"context": {}, "benchmarks": [
 {"name": "tensorwise/M4096/K4096/N4096/iterations:1/manual_time", "run_type": "iteration", "device_us": 398, "graph_us": 401},
 {"name": "bf16/M4096/K4096/N4096/iterations:1/manual_time", "run_type": "iteration", "device_us": 601, "graph_us": 590},
 {"name": "blockwise/M65536/K4096/N4096/iterations:1/manual_time", "run_type": "iteration", "device_us": 20000, "graph_us": 7006}]}
JSON
prints '^2 of 3 within 10%, 2 within 25%; ratio is predicted / measured, worst first$' compare bench.json
prints '^recipe,M,K,N,measured_s,predicted_s,ratio,within$' compare bench.json --format=csv
sed -n 2p out | grep -q '^blockwise,65536,4096,4096,0.02,.*,outside$' || fail "the worst is not first"
prints '^3 of 3 within' compare bench.json --counter=graph_us
rm -rf pictures
run compare bench.json --html=page.html --svg=pictures
[ $status = 0 ] || fail "compare --html"
page roofline worst
echo 'recipe,M,K,N,seconds' >measured.csv
echo 'rowwise,4096,4096,4096,449e-6' >>measured.csv
prints '^rowwise +4096 .* 10%$' compare measured.csv
for i in 1 2 3 4 5 6 7; do
  echo "{\"step\":$i,\"seconds\":0.53,\"tokens_per_second\":15456,\"tflops\":895,\"memory_gib\":130}"
done >run.jsonl
prints 'median of 2 steps, against llama3_8b, tensorwise on 1 GPUs of H200$' compare run.jsonl
grep -q '^tokens_per_second .* 10%$' out && [ "$(grep -A1 '^quantity' out | tail -n 1 | cut -d' ' -f1)" = memory_gib ] ||
  fail "compare run.jsonl"
prints 'median of 7 steps' compare run.jsonl --skip=0
rm -rf pictures
run compare run.jsonl --html=page.html --svg=pictures
[ $status = 0 ] || fail "compare run.jsonl --html"
page parts
run compare run.jsonl --recipe=bf16
[ $status = 0 ] && [ ! -s err ] || fail "a warning without a reason"
sed 's/"tflops":895/"tflops":1500/' run.jsonl >sparse.jsonl
run compare sparse.jsonl --recipe=bf16
[ $status = 0 ] && grep -q '151.7% of H200.s dense bf16 peak' err || fail "no warning of a run above the peak"
run model --model=llama3_405b --ranks=512 --sequence=8192 --batch=2 --html=page.html
[ $status = 0 ] && grep -q 'MFU above 100% (.*tensorwise on 512 GPUs), of .*float8 products' err &&
  grep -q 'Warning: MFU above 100%' page.html || fail "no warning of an MFU above 100%"
# Layers are those of the last number of GPUs, in the text as in the page.
run model --ranks=1,8 --html=page.html
[ "$(grep -c "^tensorwise, each block's layers on 8 GPUs, " out)" = 1 ] && [ "$(grep -c "each block's" out)" = 1 ] &&
  grep -q 'Layers of a block, tensorwise on 8 GPUs' page.html || fail "whose layers"
# A card whose memory is not known.
cat >card.toml <<'TOML'
name = "A card"
bf16_tflops = 100.0
fp8_tflops = 200.0
memory_gigabytes_per_second = 1000.0
TOML
run model --hardware=card.toml --html=page.html
[ $status = 0 ] && grep -Eq '^tensorwise .* unknown ' out && ! grep -q ' of 0 GiB' page.html &&
  grep -q 'Peak memory, the GPU.*s is unknown' page.html && ! grep -q 'too much' page.html || fail "memory that is not known"
# A killed run's half line; numbers that are none; steps of another size.
{ cat run.jsonl && printf '{"step":8,"seco'; } >half.jsonl
run compare half.jsonl
[ $status = 0 ] && grep -q 'half.jsonl:8 is half a line' err && grep -q 'median of 2 steps' out || fail "half a line"
sed '3s/.$//' run.jsonl >broken.jsonl
refuses 1 'broken.jsonl:3' compare broken.jsonl --html=new.html
for seconds in 0 -1; do
  sed "2s/0.53/$seconds/" run.jsonl >zero.jsonl
  refuses 1 "zero.jsonl:2: seconds is $seconds, expected a positive number" compare zero.jsonl --html=new.html
done
refuses 2 'run.jsonl has 8192 tokens a step, and the job 16384: --batch=2' compare run.jsonl --batch=2 --html=new.html
refuses 2 'the job 65536' compare run.jsonl --ranks=8 --html=new.html
refuses 1 'run.jsonl: has 7 steps, of which 9 are skipped' compare run.jsonl --skip=9 --html=new.html
refuses 1 'new.json' compare new.json
refuses 1 'one.csv:1: no column' compare one.csv --html=new.html
refuses 2 'takes one FILE' compare --html=new.html
# A card that has not the recipe's products: the error of model.
printf 'recipe,M,K,N,seconds\nbf16,4096,4096,4096,1e-3\nblockwise,4096,4096,4096,1e-3\n' >blocks.csv
for command in 'compare blocks.csv' 'model --recipe=blockwise' 'compare run.jsonl --recipe=blockwise'; do
  # shellcheck disable=SC2086
  refuses 2 '--recipe=blockwise: B200 has no products with 128x128 scales' $command --hardware=B200 --html=new.html
done
prints '^blockwise +4096 ' compare blocks.csv
refuses 2 'ends in none of' compare page.html
refuses 2 '--model is of a run' compare bench.json --model=llama3_8b
refuses 2 '--counter is of' compare run.jsonl --counter=wall_us
refuses 2 '--counter=cpu is none of' compare bench.json --counter=cpu

[ $failures = 0 ] || exit 1
echo "all passed"
