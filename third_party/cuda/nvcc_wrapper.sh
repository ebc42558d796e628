#!/bin/bash
# SPDX-License-Identifier: Apache-2.0

# usage: nvcc_wrapper.sh INPUTS UNUSED DEPFILE RELEASE GCC CLANG HOST NVCC ARG...
#
# Checks that nvcc RELEASE takes the host compiler HOST (g++ up to GCC, clang up
# to CLANG), runs NVCC, then writes those paths of INPUTS that its DEPFILE does
# not name to UNUSED, so that Bazel does not compile again when they change.
set -euo pipefail
inputs="$1" unused="$2" depfile="$3" release="$4" gcc="$5" clang="$6" host="$7"
shift 7

macros="$("$host" -dM -E -x c++ /dev/null)"
macro() { awk -v name="$1" '$2 == name { print $3 }' <<< "$macros"; }
found="$(macro __clang_major__)"
if [ -n "$found" ]; then
  kind=clang oldest=7 newest="$clang"
else
  kind=g++ oldest=6 newest="$gcc" found="$(macro __GNUC__)"
fi
# A toolkit that names no newest version (0) speaks for itself.
if [ "$newest" -gt 0 ] && { [ "$found" -lt "$oldest" ] || [ "$found" -gt "$newest" ]; }; then
  cat >&2 <<END
nvcc $release does not take $kind $found ($host) as its host compiler.
It takes g++ 6 to $gcc and clang 7 to $clang. Name one with --repo_env=CC=gcc-$gcc, or build without CUDA: --config=cpu.
END
  exit 1
fi

# nvcc names its working files by process id, which repeats between sandboxes.
TMPDIR="$(mktemp -d "${TMPDIR:-/tmp}/nvcc.XXXXXX")"
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
nvcc="$1"
shift
"$nvcc" -ccbin "$host" "$@" -MD -MF "$depfile"
awk 'NR == FNR {
       gsub(/\\$/, ""); n = split($0, word, /[ \t]+/)
       for (i = 1; i <= n; i++) { sub(/^\.\//, "", word[i]); used[word[i]] = 1 }
       next
     }
     !($0 in used)' "$depfile" "$inputs" > "$unused"
