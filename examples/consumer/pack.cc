// SPDX-License-Identifier: Apache-2.0

#include <iostream>

#include "packed.h"

int main() {
  const absl::StatusOr<Packed> packed = Pack({0.1f, -0.2f, 0.3f});
  if (!packed.ok()) {
    std::cerr << packed.status() << "\n";
    return 1;
  }
  std::cout << "scale " << packed->scale << ", bytes";
  for (const uint8_t byte : packed->bytes) std::cout << " " << int{byte};
  std::cout << "\n";
}
