#!/bin/bash
# SPDX-License-Identifier: Apache-2.0

# Everything builds with CUDA, for the architecture that has all of Hopper's
# instructions. Skipped (77) where this machine has no toolkit.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
if ! log="$(./bazelw build //third_party/cuda:toolkit 2>&1)"; then
  grep -q "is incompatible and cannot be built" <<< "$log" || { echo "$log"; exit 1; }
  echo "cuda: no CUDA toolkit on this machine"
  exit 77
fi
./bazelw build --noshow_progress --config=cuda //...

# Case 100 (pytorch/ao#2904, pytorch/pytorch#125413): sm_90a, not sm_90. nvcc leaves
# its -arch beside the code, where no cuobjdump is needed to read it.
bin="$(./bazelw info --config=cuda bazel-bin 2> /dev/null)"
objects=0
while IFS= read -r object; do
  objects=$((objects + 1))
  if ! archs="$(grep -aoE -- "-arch sm_[0-9]+[a-z]?" "$object" | sort -u)" || [ "$archs" != "-arch sm_90a" ]; then
    echo "cuda: ${object#"$bin/"} holds code of: ${archs:-nothing}, wanted -arch sm_90a"
    exit 1
  fi
done < <(find "$bin" -path "*/_nvcc/*" -name "*.o")
[ "$objects" -gt 0 ] || { echo "cuda: no object of nvcc below $bin"; exit 1; }
