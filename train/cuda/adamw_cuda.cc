// SPDX-License-Identifier: Apache-2.0

// Fills AdamW's slot for CUDA: a launch for the tensors of each combination of
// types.
#include <cuda_runtime_api.h>

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/cuda_status.h"
#include "base/status_macros.h"
#include "train/adamw.h"
#include "train/adamw_rounding.h"
#include "train/cuda/adamw_kernel.h"

namespace octet::train {
namespace {

using internal::ElementType;

ElementType TypeOf(const TensorView& view) {
  return view.dtype() == DType::kBf16 ? ElementType::kBf16 : ElementType::kF32;
}

// The tensors of one combination.
struct Group {
  internal::AdamWTypes types;
  std::vector<internal::AdamWTensor> tensors;
};

internal::AdamWTensor PointersOf(const AdamWTensors& t, int64_t step) {
  return {t.master.data(),
          t.gradient.data(),
          t.m.data(),
          t.v.data(),
          t.weight.data(),
          t.amax.as<float>(),
          t.master.num_elements(),
          t.first_element,
          internal::RoundingStream(t.rounding_key, step)};
}

std::vector<Group> GroupsOf(absl::Span<const AdamWTensors> tensors,
                            int64_t step) {
  std::vector<Group> groups;
  for (const AdamWTensors& t : tensors) {
    const internal::AdamWTypes types = {TypeOf(t.master), TypeOf(t.gradient),
                                        TypeOf(t.m)};
    Group* group = nullptr;
    for (Group& g : groups) {
      if (g.types == types) group = &g;
    }
    if (group == nullptr) {
      groups.push_back({types, {}});
      group = &groups.back();
    }
    group->tensors.push_back(PointersOf(t, step));
  }
  return groups;
}

absl::Status AdamWCuda(const Stream& stream, const AdamWScalars& s,
                       absl::Span<const AdamWTensors> tensors) {
  const internal::AdamWNumbers numbers = {s.gradient_scale,
                                          s.decay,
                                          s.one_minus_beta1,
                                          s.beta2,
                                          s.one_minus_beta2,
                                          s.step_size,
                                          s.sqrt_bias2,
                                          s.eps,
                                          s.seed};
  OCTET_RETURN_IF_ERROR(
      CudaStatus(cudaSetDevice(stream.device().index), "cudaSetDevice"));
  for (const Group& group : GroupsOf(tensors, s.step)) {
    OCTET_RETURN_IF_ERROR(CudaStatus(
        internal::LaunchAdamW(numbers, group.types, group.tensors.data(),
                              static_cast<int64_t>(group.tensors.size()),
                              static_cast<cudaStream_t>(stream.native())),
        absl::StrCat("adamw of ", group.tensors.size(), " tensors")));
  }
  return absl::OkStatus();
}

[[maybe_unused]] const bool kRegistered =
    AdamWSlot().Register(DeviceKind::kCuda, &AdamWCuda);

}  // namespace
}  // namespace octet::train
