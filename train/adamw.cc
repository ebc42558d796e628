// SPDX-License-Identifier: Apache-2.0

#include "train/adamw.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "train/adamw_kernel.h"
#include "train/adamw_rounding.h"

namespace octet::train {
namespace {

bool IsState(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kBf16;
}

// All but the moments.
AdamWTensors TensorsOf(const fsdp::ParamShard& shard) {
  AdamWTensors tensors;
  tensors.master = shard.master;
  tensors.gradient = shard.gradient;
  tensors.weight = shard.weight;
  tensors.amax = shard.amax;
  tensors.rounding_key = internal::RoundingKey(shard.name);
  if (shard.first_row > 0) {
    tensors.first_element =
        shard.first_row * (shard.global_shape.num_elements() /
                           std::max<int64_t>(1, shard.global_shape.dim(0)));
  }
  return tensors;
}

}  // namespace

KernelSlot<AdamWKernel>& AdamWSlot() {
  static KernelSlot<AdamWKernel> slot("//train:cuda", &internal::AdamWCpu);
  return slot;
}

absl::StatusOr<AdamW> AdamW::Create(const Stream& stream,
                                    const AdamWOptions& options,
                                    fsdp::ParamStore* store) {
  const auto is_beta = [](double b) { return b >= 0 && b < 1; };
  if (!is_beta(options.beta1) || !is_beta(options.beta2) ||
      !(options.eps >= 0) || !(options.weight_decay >= 0)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "adamw: beta1 is ", options.beta1, ", beta2 is ", options.beta2,
        " (both must be in [0, 1)), eps is ", options.eps, ", weight_decay is ",
        options.weight_decay, " (both must be >= 0)"));
  }
  if (!IsState(options.state_dtype)) {
    return absl::InvalidArgumentError(absl::StrCat("adamw: state_dtype is ",
                                                   Name(options.state_dtype),
                                                   ", must be f32 or bf16"));
  }
  AdamW adamw(options, store);
  for (const fsdp::ParamShard& shard : store->shards()) {
    if (!IsState(shard.master.dtype()) || !IsState(shard.gradient.dtype())) {
      return absl::InvalidArgumentError(absl::StrCat(
          "adamw: ", shard.name, ": master is ", shard.master.ToString(),
          ", gradient ", shard.gradient.ToString(),
          "; both must be f32 or bf16"));
    }
    AdamWTensors tensors = TensorsOf(shard);
    for (TensorView* moment : {&tensors.m, &tensors.v}) {
      OCTET_ASSIGN_OR_RETURN(
          Tensor zeros,
          Tensor::Zeros(stream, options.state_dtype, shard.master.shape()));
      *moment = zeros.view();
      adamw.moments_.push_back(std::move(zeros));
    }
    adamw.tensors_.push_back(tensors);
  }
  return adamw;
}

absl::Status AdamW::Step(const Stream& stream, double lr,
                         double gradient_scale) {
  OCTET_ASSIGN_OR_RETURN(AdamWKernel * kernel,
                         AdamWSlot().Get(stream.device()));
  const double t = static_cast<double>(step_ + 1);
  AdamWScalars scalars;
  scalars.gradient_scale = static_cast<float>(gradient_scale);
  scalars.decay = static_cast<float>(1 - lr * options_.weight_decay);
  scalars.one_minus_beta1 = static_cast<float>(1 - options_.beta1);
  scalars.beta2 = static_cast<float>(options_.beta2);
  scalars.one_minus_beta2 = static_cast<float>(1 - options_.beta2);
  scalars.step_size =
      static_cast<float>(lr / (1 - std::pow(options_.beta1, t)));
  scalars.sqrt_bias2 =
      static_cast<float>(std::sqrt(1 - std::pow(options_.beta2, t)));
  scalars.eps = static_cast<float>(options_.eps);
  scalars.seed = options_.seed;
  scalars.step = step_ + 1;
  OCTET_RETURN_IF_ERROR(kernel(stream, scalars, tensors_));
  ++step_;
  return store_->MastersAndWeightsChanged();
}

}  // namespace octet::train
