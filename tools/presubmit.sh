#!/bin/bash
# SPDX-License-Identifier: Apache-2.0

# usage: tools/presubmit.sh [CHECK...]
#
# The checks before a commit: all, or those named. Each is a script below
# tools/checks that prints what is wrong and exits 0 (passed), 77 (skipped) or
# with something else (failed).
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1

declare -A command=(
  [format]="tools/checks/format.sh"
  [layers]="tools/checks/layers.py"
  [docs]="tools/checks/docs.py"
  [cpu]="tools/checks/cpu.sh"
  [cuda]="tools/checks/cuda.sh"
  [consumer]="tools/checks/consumer.sh"
)
all=(format layers docs cpu cuda consumer)
[ $# -gt 0 ] || set -- "${all[@]}"
for check in "$@"; do
  [ -n "${command[$check]:-}" ] || { echo "presubmit: no check $check; there are: ${all[*]}"; exit 2; }
done

# Installs clang-format where it is missing.
OCTET_APT_TAGS=presubmit ./bazelw info workspace > /dev/null || exit 1

failed=()
for check in "$@"; do
  echo "-- $check"
  ${command[$check]}
  case $? in
    0) result=passed ;;
    77) result=skipped ;;
    *) result=failed failed+=("$check") ;;
  esac
  echo "-- $check $result"
  [ -z "${OCTET_CHECK_RESULTS:-}" ] || echo "$check $result" >> "$OCTET_CHECK_RESULTS"
done
if [ ${#failed[@]} -gt 0 ]; then
  echo "presubmit: failed: ${failed[*]}"
  exit 1
fi
