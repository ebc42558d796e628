// SPDX-License-Identifier: Apache-2.0

// verify --help says what it does.
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "tools/verify/command.h"

int main(int argc, char** argv) {
  // `bazel run` starts elsewhere than its user stands.
  const char* const directory = std::getenv("BUILD_WORKING_DIRECTORY");
  if (directory != nullptr && chdir(directory) != 0) {
    std::cerr << "verify: cannot enter " << directory << "\n";
    return 1;
  }
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const octet::tools::VerifyOutcome outcome =
      octet::tools::RunVerifyCommand(arguments);
  std::cerr << outcome.error;
  std::cout << outcome.out << std::flush;
  if (!std::cout) {
    std::cerr << "verify: cannot write to standard output\n";
    return 1;
  }
  return outcome.exit_code;
}
