#!/bin/bash
# SPDX-License-Identifier: Apache-2.0

# format.sh takes a formatted file and refuses another.
set -euo pipefail
check="$PWD/$1"
command -v clang-format-14 > /dev/null || { echo "clang-format-14 is not installed: nothing to test"; exit 0; }
printf 'int F(int a) { return a; }\n' > "$TEST_TMPDIR/good.cc"
printf 'int F( int a ) { return a; }\n' > "$TEST_TMPDIR/bad.cc"
"$check" "$TEST_TMPDIR/good.cc"
if "$check" "$TEST_TMPDIR/good.cc" "$TEST_TMPDIR/bad.cc" 2> "$TEST_TMPDIR/log"; then
  echo "FAILED: an unformatted file passed"
  exit 1
fi
grep -q "bad.cc:1" "$TEST_TMPDIR/log"
