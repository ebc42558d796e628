#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: nvcc_wrapper.sh INPUT_LIST UNUSED_LIST DEPFILE NVCC ARG...
#
# Runs nvcc, then writes those paths of INPUT_LIST that its depfile does not
# name to UNUSED_LIST, so that Bazel does not recompile when they change.
set -euo pipefail
inputs="$1" unused="$2" dep="$3"
shift 3
# nvcc's working files would collide in /tmp under some process limits.
TMPDIR="$(mktemp -d "${TMPDIR:-/tmp}/nvcc.XXXXXX")"
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
"$@" -MD -MF "$dep"
awk 'NR == FNR {
       gsub(/\\$/, ""); n = split($0, w, /[ \t]+/)
       for (i = 1; i <= n; i++) { sub(/^\.\//, "", w[i]); used[w[i]] = 1 }
       next
     }
     !($0 in used)' "$dep" "$inputs" > "$unused"
