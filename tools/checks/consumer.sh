#!/bin/bash
# SPDX-License-Identifier: Apache-2.0

# Another workspace builds and runs programs on single libraries of Octet.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../examples/consumer"
trap 'bazel shutdown' EXIT
bazel test --noshow_progress --test_output=errors //...
bazel run --noshow_progress //:layer
