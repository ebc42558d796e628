# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash

# What the tests of commands share; sourced. Set `program` and `name` before.
failures=0

# run ARGS: leaves status, and the files out and err.
run() {
  "$program" "$@" >out 2>err
  status=$?
}

fail() {
  echo "FAILED: $*"
  head -n 30 out err
  failures=$((failures + 1))
}

# prints PATTERN ARGS: exit 0, nothing on stderr, a line of stdout matches.
prints() {
  local pattern=$1
  shift
  run "$@"
  [ $status = 0 ] && [ ! -s err ] && grep -Eq -- "$pattern" out ||
    fail "$name $*: status $status, wanted $pattern"
}
