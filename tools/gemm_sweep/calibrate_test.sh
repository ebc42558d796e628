#!/bin/bash
# SPDX-License-Identifier: Apache-2.0

# usage: calibrate_test.sh GEMM_SWEEP ROOFLINE
#
# gemm_sweep --calibrate measures this machine's CPU, and roofline reads the file.
set -uo pipefail
sweep="$PWD/$1" roofline="$PWD/$2"
cd "$TEST_TMPDIR" || exit 1
failures=0
fail() { echo "FAILED: $*"; cat err; failures=$((failures + 1)); }

"$sweep" --calibrate=cpu.toml --device=cpu --seconds=0.001 >out 2>err || fail "--calibrate"
grep -q 'wrote cpu.toml' out || fail "says nothing of the file"
for key in copy_gigabytes_per_second launch_microseconds graph_launch_microseconds \
    'bf16 =' 'tensor =' 'block128 =' 'block1x128 ='; do
  grep -q "$key" cpu.toml || fail "no $key"
done
grep -q "measured by gemm_sweep --calibrate: no datasheet" cpu.toml || fail "the source of the peaks"
"$roofline" linear --hardware=cpu.toml --shapes=256x256x256 --format=csv >out 2>err || fail "roofline refuses the file"
[ "$(wc -l <out)" = 2 ] || fail "no row"

refuses() {  # CODE TEXT ARGUMENTS: and no file is left
  local code=$1 text=$2
  shift 2
  "$sweep" "$@" >out 2>err
  local got=$?
  [ $got = "$code" ] && grep -q -- "$text" err || fail "$*: exit $got, not $code with '$text'"
}
refuses 2 '--calibrate= names no file' --calibrate= --device=cpu
refuses 2 '--calibrate and --outfile' --calibrate=a.toml --outfile=b.csv --device=cpu
refuses 2 '--calibrate and --shapes do not go together' --calibrate=a.toml --shapes=8x8x8
refuses 2 '--seconds=-1' --calibrate=a.toml --seconds=-1
refuses 1 'nowhere/a.toml' --calibrate=nowhere/a.toml --device=cpu --seconds=0.001
grep -q TFLOP err && fail "it measures before it finds that it cannot write"
[ ! -e a.toml ] && [ ! -e b.csv ] || fail "a file is left"

[ $failures = 0 ] || exit 1
echo "all as expected"
