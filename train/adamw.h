// SPDX-License-Identifier: Apache-2.0

// AdamW on this rank's shards of master weights and moments, f32 or bf16.
//
//   I. Loshchilov, F. Hutter, "Decoupled weight decay regularization", 2019.
//
//   g = gradient * gradient_scale
//   p = p (1 - lr weight_decay)
//   m = m + (1 - beta1) (g - m)
//   v = beta2 v + (1 - beta2) g^2
//   p = p - lr / (1 - beta1^t) m / (sqrt(v) / sqrt(1 - beta2^t) + eps)
//
// in f32, rounded at the same places as PyTorch's single-tensor AdamW. Decay
// is on every parameter, norms and embeddings too, as in torchtitan. Each
// element depends on itself alone: the same bits on any number of threads or
// ranks and on any device.
//
// bf16 masters and moments are read as they are, and written rounded to one of
// the two bf16 around the f32 result, at random by its distances to them, so
// that updates below half an ulp count on average. The random bits are Philox's
// of (seed, the parameter's name, step, the element's place in the whole
// parameter). NaN stays NaN.
#ifndef OCTET_TRAIN_ADAMW_H_
#define OCTET_TRAIN_ADAMW_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/dtype.h"
#include "base/kernel_slot.h"
#include "base/stream.h"
#include "base/tensor.h"
#include "fsdp/param_store.h"

namespace octet::train {

struct AdamWOptions {
  double beta1 = 0.9;
  double beta2 = 0.95;
  double eps = 1e-8;
  double weight_decay = 0.1;
  DType state_dtype = DType::kF32;  // of the moments: f32 or bf16
  uint64_t seed = 0;                // of stochastic rounding
};

// The scalars of one step, rounded once from double.
struct AdamWScalars {
  float gradient_scale;
  float decay;  // 1 - lr weight_decay
  float one_minus_beta1;
  float beta2;
  float one_minus_beta2;
  float step_size;   // lr / (1 - beta1^t)
  float sqrt_bias2;  // sqrt(1 - beta2^t)
  float eps;
  uint64_t seed = 0;
  int64_t step = 0;  // t
};

// One parameter's shard: tensors of the same number of elements, each f32 or
// bf16.
struct AdamWTensors {
  TensorView master;    // in, out
  TensorView gradient;  // in
  TensorView m;         // in, out; of one dtype with v
  TensorView v;         // in, out
  // Out: bf16, an f32 master rounded to nearest. Absent: not wanted.
  TensorView weight = {};
  // Out: f32 [1, 1], the largest magnitude of weight, or of the master as it is
  // written if there is none; NaN if one is NaN, 0 of no elements. Absent: not
  // wanted.
  TensorView amax = {};
  // For stochastic rounding: internal::RoundingKey of the name, and the place
  // of the shard's first element in the whole parameter.
  uint64_t rounding_key = 0;
  int64_t first_element = 0;
};

class AdamW {
 public:
  // Moments of zero on the stream's device. InvalidArgument for a beta outside
  // [0, 1), a negative eps or decay, a state_dtype, master or gradient that is
  // neither f32 nor bf16. The store must outlive this.
  static absl::StatusOr<AdamW> Create(const Stream& stream,
                                      const AdamWOptions& options,
                                      fsdp::ParamStore* store);

  // One step on the store's gradients, which also writes the shards' weights;
  // then tells the store that they changed.
  absl::Status Step(const Stream& stream, double lr, double gradient_scale);

  // Steps taken, which a checkpoint restores together with the moments.
  int64_t step() const { return step_; }
  void set_step(int64_t step) { step_ = step; }
  // In the order of the store's shards.
  absl::Span<const AdamWTensors> tensors() const { return tensors_; }

 private:
  AdamW(const AdamWOptions& options, fsdp::ParamStore* store)
      : options_(options), store_(store) {}

  AdamWOptions options_;
  fsdp::ParamStore* store_;
  int64_t step_ = 0;
  std::vector<Tensor> moments_;  // owns what tensors_ refers to
  std::vector<AdamWTensors> tensors_;
};

using AdamWKernel = absl::Status(const Stream& stream,
                                 const AdamWScalars& scalars,
                                 absl::Span<const AdamWTensors> tensors);
// Where //train:cuda registers.
KernelSlot<AdamWKernel>& AdamWSlot();

}  // namespace octet::train

#endif  // OCTET_TRAIN_ADAMW_H_
