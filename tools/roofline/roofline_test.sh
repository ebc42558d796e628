#!/bin/bash
# SPDX-License-Identifier: Apache-2.0

# The real command on good and bad input: roofline_test.sh ROOFLINE
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
  rm -f new.csv
  run "$@"
  [ $status = "$code" ] && [ ! -s out ] && [ ! -e new.csv ] && [ -z "$(ls -- *.tmp 2>/dev/null)" ] &&
    grep -Fq -- "$text" err ||
    fail "roofline $*: status $status, wanted $code and $text"
}

# writes FILE ARGS: exit 0, nothing on stdout, FILE is there.
writes() {
  local file=$1
  shift
  rm -f "$file"
  run "$@"
  [ $status = 0 ] && [ ! -s out ] && [ -s "$file" ] || fail "roofline $*: status $status, no $file"
}

# value FILE COLUMN M K N: that field of the shape's row.
value() {
  awk -F, -v column="$2" -v m="$3" -v k="$4" -v n="$5" '
    NR == 1 { for (i = 1; i <= NF; ++i) at[$i] = i; p = "fwd_M" in at ? "fwd_" : ""; next }
    $at[p "M"] == m && $at[p "K"] == k && $at[p "N"] == n { print $at[column]; exit }' "$1"
}

# is WANTED FILE COLUMN M K N: within five digits.
is() {
  local wanted=$1
  shift
  local found
  found=$(value "$@")
  awk -v a="$wanted" -v b="$found" 'BEGIN { d = a - b; exit !(b != "" && d * d <= 1e-10 * a * a) }' ||
    fail "$*: $found, wanted $wanted"
}

# Every row of a CSV has as many fields as its header, and none is a message.
check_csv() {
  python3 - "$1" "$2" <<'PY' || fail "$1 is no clean CSV of $2 rows"
import csv, sys
with open(sys.argv[1], newline="") as f:
    rows = list(csv.reader(f))
ok = len(rows) == int(sys.argv[2]) + 1 and all(len(r) == len(rows[0]) for r in rows)
sys.exit(0 if ok else 1)
PY
}

# --- torchao's form, with the values of its own script on an H100 ---------------------------
writes pr668.csv pr668.csv --gemm_time_strategy=roofline
[ "$(head -n 1 pr668.csv)" = ",M,K,N,bf16_time_s,fp8_gemm_time_s,fp8_mem_time_s,fp8_time_s,speedup" ] ||
  fail "columns of #668: $(head -n 1 pr668.csv)"
check_csv pr668.csv 343
is 6.94838e-04 pr668.csv bf16_time_s 4096 4096 4096
is 4.59621e-04 pr668.csv fp8_time_s 4096 4096 4096
is 1.511764 pr668.csv speedup 4096 4096 4096
is 0.162716 pr668.csv speedup 512 512 512
writes pr668.csv --outfile pr668.csv --gemm_time_strategy roofline --model_torch_compile_limitations True \
  --scaling_type_input delayed --scaling_type_weight=delayed --scaling_type_grad_output delayed
is 1.41172e-04 pr668.csv fp8_mem_time_s 4096 4096 4096
is 1.829850 pr668.csv speedup 16384 16384 16384
writes head.csv head.csv --do_benchmarks=False --float8_recipe_name=tensorwise --shape_gen_name=sweep
check_csv head.csv 512
is 1.257395 head.csv r_fp8_gemm_and_ovhd_spdp 4096 4096 4096
is -1 head.csv rb_bf16_gemm_ratio 4096 4096 4096
writes head.csv head.csv --float8_recipe_name=rowwise --enable_fusion_modeling --shape_gen_name=pow2 --n_limit=3
check_csv head.csv 3
is 1.230767 head.csv r_fp8_gemm_and_ovhd_spdp 4096 4096 4096
refuses 2 'needs --gemm_benchmarks_file' new.csv
refuses 2 '--do_benchmarks=true' new.csv --do_benchmarks
refuses 2 '--scaling_type_input=static is none of dynamic, delayed' new.csv --scaling_type_input=static \
  --gemm_time_strategy=roofline
refuses 2 '--gemm_time_strategy=guess is none of roofline, benchmarks' new.csv --gemm_time_strategy=guess
writes ./results.txt ./results.txt --gemm_time_strategy roofline --noenable_fusion_modeling
check_csv results.txt 5
refuses 2 'needs a file' --gemm_time_strategy=roofline

# Its measured times: output with fast accumulation, gradients without.
{
  echo ',fast_accum,name,M,K,N,ref_time_s,time_s,fp8_speedup'
  echo '0,True,a,512,1024,2048,1e-3,1e-4,10'
  echo '1,False,a,512,2048,1024,2e-3,2e-4,10'
  echo '2,False,a,1024,512,2048,4e-3,4e-4,10'
  echo '3,False,a,512,1024,2048,1e-3,9e-4,10'
} >matmul.csv
echo 'M,K,N' >one.csv
echo '512,1024,2048' >>one.csv
writes measured.csv measured.csv --gemm_benchmarks_file=matmul.csv --shapes=one.csv
is 7e-3 measured.csv bf16_time_s 512 1024 2048
is 7e-4 measured.csv fp8_gemm_time_s 512 1024 2048
refuses 1 'of 512x512x512 (m, k, n) is not measured' new.csv --gemm_benchmarks_file=matmul.csv
! grep -q gemm_sweep err || fail "gemm_sweep does not go on with a file of torchao's"
refuses 2 'roofline OUTFILE.csv --help says' new.csv --nonexistent=1
prints 'usage: roofline OUTFILE.csv' OUTFILE.csv --help
refuses 2 '--recipe= names no recipe' linear --recipe=
refuses 2 '--ranks=8 needs --gather=bf16 or --gather=fp8' linear --ranks=8
refuses 2 '--gather=fp8 is of several GPUs' linear --gather=fp8
refuses 2 '--gather=fp8 is of several GPUs' model --gather=fp8
refuses 1 'missing.csv' new.csv --gemm_benchmarks_file=missing.csv
echo 'M,N' >narrow.csv
refuses 1 'narrow.csv:1: has the columns M,N' new.csv --gemm_benchmarks_file=narrow.csv
sed 's/2e-3/2,e-3/' matmul.csv >ragged.csv
refuses 1 'ragged.csv:3: 10 fields, the header has 9' new.csv --gemm_benchmarks_file=ragged.csv
sed 's/2e-4/fast/' matmul.csv >word.csv
refuses 1 'word.csv:3: time_s is "fast"' new.csv --gemm_benchmarks_file=word.csv

# --- linear ---------------------------------------------------------------------------------
prints '^q_proj +8192 +4096 +4096 ' linear --shapes=llama3_8b
prints '^lm_head +4096 +8192 +128256 ' linear --shapes=llama3_70b --tokens=4096
prints '^layer,M,K,N,count,bf16_gemm_s,bf16_s,fp8_gemm_s,fp8_overhead_s,' linear --format=csv
check_csv out 343
cp out c.csv
env LC_ALL=de_DE.UTF-8 LANG=de_DE.UTF-8 "$roofline" linear --format=csv >out
cmp -s out c.csv || fail "the locale changes the CSV"
prints '"speedup": [0-9.]+' linear --shapes=pow2 --format=json
python3 -c 'import json, sys; sys.exit(0 if len(json.load(open("out"))) == 5 else 1)' || fail "JSON of five rows"
writes new.json linear --shapes=pow2 --outfile=new.json
python3 -c 'import json; json.load(open("new.json"))' || fail "--outfile=new.json is no JSON"
grep -q '^wrote 5 rows to new.json$' err || fail "no word of what was written"

# Small layers lose, large ones win; 65536^3 does not overflow.
prints '^layer' linear --shapes=16x16x16,8192x8192x1024,8192x8192x28672,65536x65536x65536 --format=csv
cp out sizes.csv
awk -F, 'NR == 1 { for (i = 1; i <= NF; ++i) if ($i == "speedup") s = i; next }
  { if ($s <= last) exit 1; last = $s } NR == 2 && $s >= 1 { exit 1 } NR > 2 && $s <= 1 { exit 1 }' sizes.csv ||
  fail "speed-ups do not rise from below 1"
awk -F, 'NR == 1 { for (i = 1; i <= NF; ++i) if ($i == "bf16_gemm_s") s = i; next }
  $2 == 65536 { exit !($s > 6 * 65536 ^ 3 / 1e15 && $s < 6 * 65536 ^ 3 / 5e14) }' sizes.csv || fail "65536^3"

# A file of layers; text with a comma is quoted.
printf 'layer,M,K,N\n"wq, fused",512,1024,2048\n' >layers.csv
prints '^"wq, fused",512,1024,2048,1,' linear --shapes=layers.csv --format=csv

# A size that was not measured is said, and stands in its row.
{
  echo 'device,m,k,n,dtype,scale_mode,accumulation,seconds,heuristic_seconds,tflops,reason'
  for size in 512 2048; do
    for mode in bf16,none,f32 e4m3,tensor,fast e4m3,tensor,precise; do
      echo "\"GPU, one\",$size,$size,$size,$mode,${size}e-6,,1,"
    done
  done
} >sweep.csv
for command in linear model breakeven; do
  refuses 2 'has times of GPU, one, and the card is H200: choose --hardware, or --gemm_device="GPU, one"' \
    $command --gemm_benchmarks_file=sweep.csv
done
sed 's/GPU, one/NVIDIA H200, 139.8 GiB, sm_90/' sweep.csv >h200.csv
prints 'GEMM times measured on NVIDIA H200' linear --gemm_benchmarks_file=h200.csv --shapes=512x512x512
refuses 2 'and the card is B200' linear --gemm_benchmarks_file=h200.csv --shapes=512x512x512 --hardware=B200
refuses 1 'heuristic_seconds is empty' linear --gemm_benchmarks_file=h200.csv --shapes=512x512x512 \
  --gemm_candidate=heuristic
device='--gemm_device=GPU, one'
run linear --gemm_benchmarks_file=sweep.csv "$device" --shapes=512x512x512,1024x1024x1024 --format=csv
[ $status = 0 ] && grep -q '^,1024,1024,1024,1,,,.*not measured' out && grep -q '1 of 2 shapes have no result' err ||
  fail "a shape that is not measured"
check_csv out 2
refuses 1 'all that is missing: gemm_sweep --outfile=sweep.csv --shapes=512x1024x2048,512x2048x1024,1024x512x2048 --modes=bf16,tensor,tensor_fast' \
  linear --gemm_benchmarks_file=sweep.csv "$device" --shapes=512x1024x2048
refuses 1 'not measured' linear --gemm_benchmarks_file=sweep.csv "$device" --shapes=1024x1024x1024 --outfile=new.csv
refuses 2 '--gemm_interpolate is of --gemm_time_strategy=benchmarks' linear --gemm_interpolate
refuses 2 'no times of GPU' linear --gemm_benchmarks_file=sweep.csv --gemm_device=GPU

# --- breakeven ------------------------------------------------------------------------------
prints '^q_proj +4096 +4096 +32 +[0-9]+ +8192 ' breakeven --shapes=llama3_8b
prints '^layer,K,N,count,breakeven_M,M,bf16_s,fp8_s,speedup$' breakeven --shapes=llama3_8b --format=csv
check_csv out 8
# At the M that it names float8 is faster, one below it is not.
m=$(awk -F, '$1 == "k_proj" { print $5 }' out)
for at in "$m 1" "$((m - 1)) 0"; do
  set -- $at
  prints '^layer' linear --M="$1" --K=4096 --N=1024 --format=csv
  awk -F, -v wins="$2" 'NR == 1 { for (i = 1; i <= NF; ++i) if ($i == "speedup") s = i; next }
    { exit ($s >= 1) != wins }' out || fail "breakeven at M = $1"
done
prints '^ +64 +64 +1 +- +64 ' breakeven --shapes=64x64x64
prints '^lm_head +4096 +128256 +1 +512 ' breakeven --min_size=512
prints '^faster: speed-up of 1.5 at least' breakeven --speedup=1.5
prints 'speed-up at K = 4096' breakeven --over=M,N
grep -Eq '^ +512 .*\*' out && grep -Eq '^ +32768 +1.[0-9]+' out || fail "the plane has no break-even line"
for over in M,N M,K K,N; do prints '^M,K,N,speedup$' breakeven --over=$over --at=512 --format=csv; done
check_csv out 49
writes plane.csv breakeven --over=M,N plane.csv
refuses 2 '--over=N,M is none of' breakeven --over=N,M
refuses 2 '--at=0' breakeven --over=M,N --at=0
refuses 2 '--at is of --over' breakeven --at=4096
refuses 2 '--shapes and --over' breakeven --over=M,N --shapes=pow2
refuses 2 '--min_size=0' breakeven --min_size=0
refuses 2 '--max_size=8' breakeven --min_size=16 --max_size=8
refuses 1 'not measured' breakeven --gemm_benchmarks_file=sweep.csv "$device"
refuses 2 'nothing to break even' breakeven --recipe=bf16

# --- symbolic: the coefficients of torchao's PR #668 on its H100 -----------------------------
prints '^casts and amaxes +seconds +1.8115942e-12\*M\*K \+ 1.8115942e-12\*M\*N \+ 2.7173913e-12\*K\*N \+ 6e-06 ' \
  symbolic --cost_model=pr668
grep -Eq '^bf16 GEMMs +seconds +1.0111223e-14\*M\*K\*N +1.0111223e-14\*K\*N ' out || fail "bf16 GEMMs of #668"
grep -Eq '^GEMMs +seconds +5.0530571e-15\*M\*K\*N ' out || fail "float8 GEMMs of #668"
delayed='--scaling_type_input=delayed --scaling_type_weight=delayed --scaling_type_grad_output=delayed'
# shellcheck disable=SC2086
prints '9.057971e-13\*M\*K \+ 9.057971e-13\*M\*N \+ 1.8115942e-12\*K\*N \+ 1.2e-05 ' symbolic --cost_model=pr668 $delayed
prints '2.2644928e-12\*M\*K \+ 2.2644928e-12\*M\*N \+ 3.1702899e-12\*K\*N \+ 6e-06 ' \
  symbolic --cost_model=pr668 --model_torch_compile_limitations
prints '^casts of weight +bytes +6\*K\*N +0 +6\*N +6\*K +1.007e\+08$' \
  symbolic --cost_model=pr668 --M=4096 --K=4096 --N=4096
prints '^quantity,unit,formula,d_dM,d_dK,d_dN,value$' symbolic --M=1 --K=2 --N=3 --format=csv
check_csv out "$(($(wc -l <out) - 1))"
writes f.json symbolic --outfile=f.json
refuses 2 '--N is missing' symbolic --M=1 --K=1
refuses 2 'measured times are no formula' symbolic --gemm_benchmarks_file=sweep.csv "$device"
for command in breakeven symbolic; do prints "^usage: roofline $command " $command --help; done

# --- pages and pictures -----------------------------------------------------------------------
run breakeven --over=M,N --html=plane.html
[ $status = 0 ] && [ -s plane.html ] || fail "breakeven --over --html"
run breakeven --html=model.html --svg=model
[ $status = 0 ] && grep -q gate_proj model/speedup.svg || fail "breakeven --html"
python3 - plane.html model.html model/speedup.svg <<'PY' || fail "a page is not well-formed"
import sys, xml.etree.ElementTree as tree
for path in sys.argv[1:]:
    text = open(path, encoding="utf-8").read()
    tree.fromstring(text[text.index("<svg" if path.endswith("svg") else "<html"):])
PY
run linear --html=nowhere/page.html
[ $status = 1 ] && [ ! -s out ] && grep -q nowhere/page.html err || fail "--html in no folder"
run linear --html=/dev/full
[ $status = 1 ] && grep -q 'No space left' err || fail "--html on a full disk"
refuses 2 '--html= names no file' linear --html=

# Every value that --help names.
run linear --help
[ $status = 0 ] && [ ! -s err ] || fail "linear --help"
cp out help
sed -n 's/^  --hardware=NAME|FILE.toml  //p' help | tr ',' '\n' | sed 's/^ *//' >names
[ "$(wc -l <names)" -ge 10 ] || fail "--help lists no hardware"
while read -r name; do
  recipe=tensorwise
  [ "$name" = A100 ] && recipe=bf16
  prints "^$name: " linear --hardware="$name" --recipe=$recipe --shapes=pow2
done <names
for model in octet pr668 pr1789 head; do
  for recipe in $(sed -n "s/^ *$model  *\\(bf16.*\\)/\\1/p" help | tr -d ,); do
    gpu=
    [ $model$recipe = headmxfp4_cutlass ] && gpu=--hardware=B200
    [ $model$recipe = octetmxfp8 ] && gpu=--hardware=B200
    # shellcheck disable=SC2086
    prints "^recipe $recipe, cost model $model" linear --cost_model=$model --recipe="$recipe" --shapes=pow2 $gpu
  done
done
for shapes in sweep pow2 llama3_tiny llama3_405b 1x2x3,4x5x6; do prints '^layer ' linear --shapes=$shapes; done
for name in pow2 pow2_extended sweep llama; do prints '^layer ' linear --shape_gen_name=$name; done
prints '^layer ' linear --shape_gen_name=custom --M=1 --K=2 --N=3
for format in text csv json; do prints 'speedup' linear --M=1 --K=2 --N=3 --format=$format; done
prints '^layer' linear --gather=none --shapes=pow2
for gather in bf16 fp8; do prints '^layer' linear --gather=$gather --ranks=8 --shapes=pow2; done
for launch in graph single; do prints '^layer' linear --launch=$launch --shapes=pow2; done
for rates in auto peak calibrated; do prints '^layer' linear --rates=$rates --shapes=pow2; done
prints '^layer' linear --norm --recompute --nosaved_transposes --microbatches=4 --fused_producer --shapes=pow2

# Names of GPUs (H200 is no H100), and a file of one's own.
prints '^H200: .* 4.8 TB/s' linear --hardware='NVIDIA H200' --shapes=pow2
prints '^H100 SXM: 98[0-9]+[0-9.]* TFLOP/s bf16, 1979 fp8 \(dense\), 3.35' linear --hardware='NVIDIA H100 80GB HBM3' --shapes=pow2
cat >mine.toml <<'TOML'
name = "My card, one"
bf16_tflops = 100.0
fp8_tflops = 200.0
memory_gigabytes = 80
memory_gigabytes_per_second = 1000.0
TOML
prints '^My card, one: 100 TFLOP/s bf16, 200 fp8' linear --hardware=mine.toml --shapes=pow2
sed 's/100.0/"fast"/' mine.toml >wrong.toml
refuses 2 'wrong.toml:2' linear --hardware=wrong.toml
refuses 1 'missing.toml' linear --hardware=missing.toml

# What a card lacks is refused; a file's card is not.
refuses 2 'H200 has no products with 1x32 scales' linear --recipe=mxfp8
refuses 2 'RTX 5090 has no products with 128x128 scales' breakeven --recipe=blockwise --hardware='RTX 5090'
prints '^recipe blockwise' linear --recipe=blockwise --hardware='H100 NVL' --shapes=pow2
prints '^not checked: whether My card, one has products with 1x32' linear --recipe=mxfp8 --hardware=mine.toml --shapes=pow2

# Rates that are not measured are named.
prints 'rates: calibrated$' linear --shapes=pow2
(cat mine.toml; printf '[gemm_tflops]\nbf16 = 80.0\ntensor_fast = 150.0\n') >part.toml
prints 'rates: calibrated, but tensor, memory: peak times achievable share$' linear --hardware=part.toml --shapes=pow2

# Sizes that are filled up are said; the numbers stay.
prints '^ +16 +16 +15 .*roofline +N is no multiple of 16: padded inside$' linear --shapes=16x16x15,32x16x16
grep -Eq '^ +32 +16 +16 .*roofline$' out || fail "a padding that is none"
prints ',"K, N are no multiple of 16: padded inside"$' linear --shapes=16x8x15 --format=csv
prints '^ +16 +16 +15 .*roofline$' linear --shapes=16x16x15 --recipe=bf16

# The text's parts add up to the whole.
sums() {
  prints 'casts us.*  fp8 us' linear --shapes=4096x4096x4096 "$@"
  tail -n 1 out | awk '{ for (i = 5; $(i + 2) !~ /^[a-z]/; ++i) sum += $i; exit !(sum > 0 && (sum - $i) ^ 2 < 1e-4) }' ||
    fail "linear $*: columns do not add up"
}
sums
sums --norm
grep -q 'other us' out || fail "the norm has no column"
sums --norm --gather=bf16 --ranks=64
sums --gather=bf16 --ranks=64 --nooverlap_communication
grep -q 'wire us' out && ! grep -q 'other us' out || fail "communication has no column"
prints '^layer' linear --shapes=pow2
cp out alone.txt
for gather in bf16 fp8; do
  prints '^layer' linear --shapes=pow2 --gather=$gather --ranks=1
  cmp -s out alone.txt || fail "--gather=$gather costs one rank something"
done
refuses 2 'gather' linear --cost_model=pr668 --gather=bf16

# One file for two things, and flags of other shapes.
refuses 2 'is the table' linear --outfile=new.csv --html=./new.csv
refuses 2 'is the table' linear new.csv --html=new.csv
refuses 2 'is the table' breakeven --outfile=new.csv --html=new.csv
refuses 2 '--min_size=512 is of --shapes=sweep' linear --min_size=512 --shapes=llama3_8b
refuses 2 '--min_size=512 is of --shapes=sweep' new.csv --gemm_time_strategy=roofline --min_size=512 --shapes=llama3_8b
for command in linear breakeven; do refuses 2 '--tokens=5 is of a model' $command --tokens=5 --shapes=16x16x16; done

# What to do about it.
refuses 2 'A100 has no float8: choose --recipe=bf16 or another card' linear --hardware=A100
grep -q '^roofline: A100' err || fail "a prefix of two: $(head -n 1 err)"
refuses 2 'My card, one has no network_gigabytes_per_second, which 16 ranks need' \
  linear --hardware=mine.toml --gather=bf16 --ranks=16
prints '^defaults: .*--hardware=H200 --recipe=tensorwise --cost_model=octet' linear --help
prints 'roofline hardware --help says' linear --help
run hardware --help
for key in network_gigabytes_per_second gpus_per_node '\[gemm_tflops\]'; do
  [ "$(grep -c "$key" out)" = 1 ] || fail "hardware --help: $key"
done

# Wrong command lines: 2, the flag and the value.
refuses 2 'no command'
refuses 2 'no command "linaer"; did you mean linear, ' linaer
refuses 2 'no command "linaer"' linaer --gemm_time_strategy=roofline
refuses 2 'no command "noext"' noext
refuses 2 'no command "noext"' noext --shapes=pow2
[ ! -e linaer ] && [ ! -e noext ] || fail "a mistyped command wrote a file"
# torchao's OUTFILE of any name.
run noext --gemm_time_strategy=roofline
[ $status = 0 ] && head -n 1 noext | grep -q '^,M,K,N,bf16_time_s,' || fail "roofline noext --gemm_time_strategy=roofline"
run other --gemm-time-strategy roofline
cmp -s noext other || fail "roofline other --gemm-time-strategy roofline"
refuses 2 'known are H100 SXM' linear --hardware=FooGPU
refuses 2 '--K is missing' linear --M=4096
refuses 2 '--M=0 is no whole number' linear --M=0 --K=1 --N=1
refuses 2 '--M=-1' linear --M -1 --K=1 --N=1
refuses 2 '--M=1e3' linear --M=1e3 --K=1 --N=1
refuses 2 '--M=4096x' linear --M=4096x --K=1 --N=1
refuses 2 '--N=99999999999999999999' linear --M=1 --K=1 --N=99999999999999999999
refuses 2 'shape 0x1x1' linear --shapes=0x1x1
refuses 2 '"5x6"' linear --shapes=5x6
refuses 2 '--shapes=llama9_8b is none of' linear --shapes=llama9_8b
refuses 2 'recipe is "foo"' linear --recipe=foo
refuses 2 '--cost_model=foo' linear --cost_model=foo
refuses 2 'did you mean --recipe?' linear --recpie=tensorwise
refuses 2 '--format=yaml' linear --format=yaml --outfile=new.csv
refuses 2 '--tokens=9 is of a model' linear --tokens=9
refuses 2 '--tokens=9 is of a model' linear --tokens=9 --M=1 --K=1 --N=1
refuses 2 '--min_size=1024 is of --shapes=sweep' linear --min_size=1024 --shapes=pow2
refuses 2 'unexpected argument "b.csv"' linear new.csv b.csv
refuses 2 '--outfile= names no file' linear --outfile=
refuses 1 'missing.csv' linear --shapes=missing.csv
refuses 1 'narrow.csv:1: no column K' linear --shapes=narrow.csv
printf 'M,K,N\n1,2,3\n1,0,3\n' >zero.csv
refuses 2 'zero.csv:3: 0 is no whole number' linear --shapes=zero.csv
refuses 1 'no/config.json' linear --shapes=no/config.json
refuses 1 'nowhere/new.csv' linear --outfile=nowhere/new.csv

# A full disk: no success, and the old file stays.
refuses 1 'No space left' linear --outfile=/dev/full
for argument in --help 'linear --format=csv'; do
  # shellcheck disable=SC2086
  "$roofline" $argument >/dev/full 2>err
  [ $? = 1 ] || fail "$argument: a full disk is no success"
done
echo old >kept.csv
(trap '' XFSZ && ulimit -f 8 && exec "$roofline" linear --outfile=kept.csv) >out 2>err
[ $? = 1 ] && [ "$(cat kept.csv)" = old ] && [ -z "$(ls -- *.tmp 2>/dev/null)" ] || fail "a file that cannot be written whole"

[ $failures = 0 ] || exit 1
echo "all as expected"
