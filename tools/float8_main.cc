// SPDX-License-Identifier: Apache-2.0

// float8 --help says what it does.
#include "tools/command_line.h"
#include "tools/float8_command.h"

int main(int argc, char** argv) {
  return octet::tools::RunCommand(argc, argv, "float8",
                                  &octet::tools::RunFloat8Command);
}
