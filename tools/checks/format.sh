#!/bin/bash
# SPDX-License-Identifier: Apache-2.0

# usage: format.sh [FILE...]
#
# clang-format (Google) leaves the files, or all tracked C++ and CUDA sources, as
# they are. The version is fixed: another one breaks other lines.
set -euo pipefail
tool="$(command -v clang-format-14)" || { echo "format: clang-format-14 is not installed"; exit 1; }
if [ $# -eq 0 ]; then
  cd "$(dirname "${BASH_SOURCE[0]}")/../.."
  mapfile -t files < <(git ls-files '*.h' '*.cc' '*.cu' '*.cuh')
  [ ${#files[@]} -gt 0 ] || exit 0
  set -- "${files[@]}"
fi
"$tool" --style=Google --dry-run -Werror "$@"
