// SPDX-License-Identifier: Apache-2.0

// Rotary position embedding in Hugging Face's order: element i of a head pairs
// with i + head_dim / 2.
//
//   angle = position * frequency[i],  frequency[i] = theta^(-2 i / head_dim)
//   (a, b) -> (a cos - b sin, b cos + a sin)
//
// Llama 3.1 scales the frequencies for contexts longer than the original one:
// long waves by 1 / factor, short ones not, and those between by a linear mix.
// The table is made in double. Source of the formula: transformers
// (modeling_rope_utils).
#ifndef OCTET_MODELS_LAYERS_ROPE_H_
#define OCTET_MODELS_LAYERS_ROPE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/stream.h"
#include "base/tensor.h"

namespace octet::models {

struct RopeScaling {
  double factor = 8.0;
  double low_freq_factor = 1.0;
  double high_freq_factor = 4.0;
  int64_t original_max_position_embeddings = 8192;

  bool operator==(const RopeScaling& o) const {
    return factor == o.factor && low_freq_factor == o.low_freq_factor &&
           high_freq_factor == o.high_freq_factor &&
           original_max_position_embeddings ==
               o.original_max_position_embeddings;
  }
};

struct RopeOptions {
  int64_t head_dim = 0;
  double theta = 10000.0;
  std::optional<RopeScaling> scaling;
};

// Radians for each position, [head_dim / 2].
std::vector<double> RopeFrequencies(const RopeOptions& options);

// Cosines and sines of positions [0, length): [length, 2, head_dim / 2], f32,
// or f64 when `activation` is f64. InvalidArgument for an odd head_dim.
absl::StatusOr<Tensor> RopeTable(const Stream& stream,
                                 const RopeOptions& options, int64_t length,
                                 DType activation);

// Backward turns gradients back: the transpose of a rotation.
enum class RopeDirection : uint8_t { kForward, kBackward };

// Turns x in place: [batch, length, heads, head_dim], f32, bf16 or f64; row t
// of each sequence by the table's row t. Products and their sums are rounded
// one by one: the same bits on any device. `amax`, f32 [1, 1], is overwritten
// with the largest magnitude of what was written, NaN if that has one, as
// float8::Cast takes it; absent: not wanted; f32 and bf16. Queued on `stream`;
// views must outlive the work.
absl::Status Rope(const Stream& stream, const TensorView& table,
                  RopeDirection direction, const TensorView& x,
                  const TensorView& amax = {});

}  // namespace octet::models

#endif  // OCTET_MODELS_LAYERS_ROPE_H_
