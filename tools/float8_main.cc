// SPDX-License-Identifier: Apache-2.0

// float8 --help says what it does.
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "tools/float8_command.h"

int main(int argc, char** argv) {
  // `bazel run` starts elsewhere than its user stands.
  const char* const directory = std::getenv("BUILD_WORKING_DIRECTORY");
  if (directory != nullptr && chdir(directory) != 0) {
    std::cerr << "float8: cannot enter " << directory << "\n";
    return 1;
  }
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const octet::tools::CommandResult result =
      octet::tools::RunFloat8Command(arguments);
  std::cerr << result.error;
  std::cout << result.out << std::flush;
  if (!std::cout) {
    std::cerr << "float8: cannot write to standard output\n";
    return 1;
  }
  return result.exit_code;
}
