#!/bin/bash
# SPDX-License-Identifier: Apache-2.0

# presubmit.sh runs each check, goes on after a failure and reports all results.
set -euo pipefail
tree="$TEST_TMPDIR/tree"
mkdir -p "$tree/tools/checks"
cp -L "$1" "$tree/tools/presubmit.sh"
printf '#!/bin/bash\n' > "$tree/bazelw"
for check in format.sh layers.py docs.py cpu.sh cuda.sh consumer.sh; do
  printf '#!/bin/bash\necho ran %s\n' "$check" > "$tree/tools/checks/$check"
done
chmod +x "$tree/bazelw" "$tree"/tools/checks/*
cd "$tree"
export OCTET_CHECK_RESULTS="$TEST_TMPDIR/results"
fail() { echo "FAILED: $*"; cat log "$OCTET_CHECK_RESULTS"; exit 1; }

tools/presubmit.sh > log || fail "all pass"
[ "$(grep -c ' passed$' "$OCTET_CHECK_RESULTS")" = 6 ] || fail "six results"

rm "$OCTET_CHECK_RESULTS"
printf '#!/bin/bash\nexit 3\n' > tools/checks/layers.py
printf '#!/bin/bash\nexit 77\n' > tools/checks/cuda.sh
if tools/presubmit.sh > log; then fail "a failed check passed"; fi
grep -qx "layers failed" "$OCTET_CHECK_RESULTS" || fail "layers"
grep -qx "cuda skipped" "$OCTET_CHECK_RESULTS" || fail "cuda"
grep -q "ran consumer.sh" log || fail "it stopped at the first failure"
grep -qx "presubmit: failed: layers" log || fail "last line"

tools/presubmit.sh docs > log || fail "one check by name"
if grep -q "ran format.sh" log; then fail "a check that was not named ran"; fi
if tools/presubmit.sh nothing > log; then fail "an unknown check passed"; fi
grep -q "there are: format layers" log || fail "the known checks are not named"
