// SPDX-License-Identifier: Apache-2.0

// What the CUDA leaf of casts is made of: from forms to problems, and where
// they are queued.
#ifndef OCTET_FLOAT8_CAST_CUDA_PROBLEM_H_
#define OCTET_FLOAT8_CAST_CUDA_PROBLEM_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/stream.h"
#include "base/tensor.h"
#include "float8/cast_kernel.h"
#include "float8/cuda/cast_kernel.h"
#include "float8/scaling.h"

namespace octet::float8::internal {

inline int64_t RoundUp(int64_t n, int64_t multiple) {
  return (n + multiple - 1) / multiple * multiple;
}

// Where one operation runs; `stream` must outlive it.
class CastQueue {
 public:
  explicit CastQueue(const Stream& stream);

  // Makes the stream's device current.
  absl::Status Start() const;
  // Scratch memory of the operation, at least n floats.
  absl::StatusOr<float*> Floats(int64_t n) const;
  absl::Status Zero(float* data, int64_t n) const;
  absl::Status Done(cudaError_t error, absl::string_view what) const;

  const Stream& stream() const { return stream_; }
  int device() const { return device_; }
  cudaStream_t native() const { return native_; }

 private:
  const Stream& stream_;
  int device_;
  cudaStream_t native_;
};

// Unimplemented for what only the CPU has.
absl::Status CheckCudaPlan(const CastPlan& plan);

ScaleKind KindOf(Granularity granularity);

// Outputs and layouts of a form; the source is the tile's own amax.
CastProblem ProblemOf(const TensorView& in, const CastForm& form);

// Queues the cast of a problem whose source of scales is settled. `column_sum`
// may be absent; else the problem has memory for its partial sums.
absl::Status LaunchCast(const CastQueue& queue, const CastForm& form,
                        const CastProblem& p, const TensorView& column_sum);

// Dynamic scaling of one matrix in one form.
absl::Status CastOne(const CastQueue& queue, const TensorView& in,
                     const CastForm& form, const CastOptions& options);

// The slot's CastMany.
absl::Status CastManyCuda(const Stream& stream,
                          absl::Span<const CastItem> items);

}  // namespace octet::float8::internal

#endif  // OCTET_FLOAT8_CAST_CUDA_PROBLEM_H_
