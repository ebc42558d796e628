#!/bin/bash
# SPDX-License-Identifier: Apache-2.0

# Everything builds with CUDA. Skipped (77) where this machine has no toolkit.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
if ! log="$(./bazelw build //third_party/cuda:toolkit 2>&1)"; then
  grep -q "is incompatible and cannot be built" <<< "$log" || { echo "$log"; exit 1; }
  echo "cuda: no CUDA toolkit on this machine"
  exit 77
fi
./bazelw build --noshow_progress --config=cuda //...
