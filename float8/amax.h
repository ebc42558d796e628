// SPDX-License-Identifier: Apache-2.0

// The largest magnitude of each tile of a matrix.
//
//   in [rows, cols] f32, bf16 or f16;  out f32, ScaleShape(granularity, rows,
//   cols)
//
// Exact. NaN anywhere in a tile gives NaN, wherever it stands; infinity gives
// infinity. An empty tile gives 0. Queued on `stream`; overwrites out; bitwise
// repeatable. CPU is built in; for CUDA link :amax_cuda.
#ifndef OCTET_FLOAT8_AMAX_H_
#define OCTET_FLOAT8_AMAX_H_

#include <cstdint>

#include "absl/status/status.h"
#include "base/stream.h"
#include "base/tensor.h"
#include "float8/scaling.h"

namespace octet::float8 {

// How the blocks of a GPU meet where several share an amax; the bits are the
// same. The CPU has one way of its own.
enum class AmaxAlgorithm : uint8_t {
  kTwoStage,  // partial maxima, reduced in a fixed order
  kAtomic,    // an atomic maximum
};

struct AmaxOptions {
  AmaxAlgorithm algorithm = AmaxAlgorithm::kTwoStage;
};

// InvalidArgument if shapes, dtypes or devices do not fit.
absl::Status Amax(const Stream& stream, const TensorView& in,
                  Granularity granularity, const TensorView& out,
                  const AmaxOptions& options = {});

}  // namespace octet::float8

#endif  // OCTET_FLOAT8_AMAX_H_
