// SPDX-License-Identifier: Apache-2.0

// roofline --help says what it does.
#include "tools/command_line.h"
#include "tools/roofline/dispatch.h"

int main(int argc, char** argv) {
  return octet::tools::RunCommand(argc, argv, "roofline",
                                  &octet::tools::RunRoofline);
}
