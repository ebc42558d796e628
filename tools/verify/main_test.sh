#!/bin/bash
# SPDX-License-Identifier: Apache-2.0

# What the program makes of its outcome: verify_main_test.sh VERIFY
set -u
verify=$PWD/$1
unset BUILD_WORKING_DIRECTORY
cd "$TEST_TMPDIR" || exit 1

fail() {
  echo "FAILED: $*"
  cat out err
  exit 1
}

"$verify" --help >out 2>err || fail "--help"
grep -q '^usage: verify' out || fail "--help says nothing"
"$verify" --lines=x folder >out 2>err
[ $? = 2 ] && [ ! -s out ] && [ "$(wc -l <err)" = 1 ] || fail "--lines=x"
"$verify" nowhere >out 2>err
[ $? = 1 ] && grep -qx 'verify: nowhere: no such folder' err || fail "nowhere"
if [ -e /dev/full ]; then
  "$verify" --help >/dev/full 2>err
  [ $? = 1 ] || fail "--help: a full disk is no success"
fi
