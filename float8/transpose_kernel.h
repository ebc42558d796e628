// SPDX-License-Identifier: Apache-2.0

// The transpose of a matrix of bytes, on the CPU.
#ifndef OCTET_FLOAT8_TRANSPOSE_KERNEL_H_
#define OCTET_FLOAT8_TRANSPOSE_KERNEL_H_

#include <cstdint>

namespace octet::float8::internal {

// in [rows, cols]; out [cols, rows], apart from in.
void TransposeBytes(const uint8_t* in, int64_t rows, int64_t cols,
                    uint8_t* out);

}  // namespace octet::float8::internal

#endif  // OCTET_FLOAT8_TRANSPOSE_KERNEL_H_
