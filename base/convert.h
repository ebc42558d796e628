// SPDX-License-Identifier: Apache-2.0

// Converts tensors between the wider floating-point types.
//
//   to = round_to_nearest_even(from), element by element
//
// f32, bf16 and f16 into each other, and f32 into f64 and back; the same type
// copies. NaN stays NaN, overflow gives infinity. Queued on `stream`, which
// names the device; views must outlive the work. Bitwise repeatable. CPU is
// built in; for CUDA link :convert_cuda.
#ifndef OCTET_BASE_CONVERT_H_
#define OCTET_BASE_CONVERT_H_

#include "absl/status/status.h"
#include "base/stream.h"
#include "base/tensor.h"

namespace octet {

// InvalidArgument if shapes or devices differ, Unimplemented for another pair
// of types.
absl::Status Convert(const Stream& stream, const TensorView& from,
                     const TensorView& to);

}  // namespace octet

#endif  // OCTET_BASE_CONVERT_H_
