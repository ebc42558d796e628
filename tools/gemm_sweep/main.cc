// SPDX-License-Identifier: Apache-2.0

// gemm_sweep --help says what it does.
#include "tools/command_line.h"
#include "tools/gemm_sweep/command.h"

int main(int argc, char** argv) {
  return octet::tools::RunCommand(argc, argv, "gemm_sweep",
                                  &octet::tools::RunGemmSweep);
}
