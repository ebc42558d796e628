#!/bin/bash
# SPDX-License-Identifier: Apache-2.0

# Case 102 (bazel-contrib/rules_cuda#368, #405): everything builds where CUDA is
# off, whether or not this machine has it, and queries work there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
./bazelw query --noshow_progress --config=cpu 'deps(//...)' > /dev/null
./bazelw build --noshow_progress --config=cpu //...
