// SPDX-License-Identifier: Apache-2.0

#include <iostream>

#include "size_table.h"

int main() {
  for (const char* dtype : {"f32", "bf16", "f8_e4m3"}) {
    std::cout << SizeLine(dtype, 4096 * 4096).value() << "\n";
  }
}
