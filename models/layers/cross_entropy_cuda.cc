// SPDX-License-Identifier: Apache-2.0

// Fills the loss's slot for CUDA. Arguments were checked by cross_entropy.cc.
#include <cuda_runtime_api.h>

#include "absl/strings/str_cat.h"
#include "base/cuda_status.h"
#include "base/status_macros.h"
#include "models/layers/cross_entropy_kernel.h"
#include "models/layers/cuda/cross_entropy_kernel.h"
#include "models/layers/layers_cuda.h"

namespace octet::models::internal {
namespace {

absl::Status CrossEntropyCuda(const Stream& stream,
                              const CrossEntropyArgs& args) {
  if (args.logits.dtype() == DType::kF64) {
    return ElementTypeOf("cross_entropy", args.logits).status();
  }
  CrossEntropyProblem problem;
  OCTET_ASSIGN_OR_RETURN(problem.gradient,
                         ElementTypeOf("cross_entropy", args.dlogits));
  if (args.logits.num_elements() == 0) return absl::OkStatus();
  problem.rows = args.logits.rows();
  problem.vocab = args.logits.cols();
  problem.logits = args.logits.as<float>();
  problem.targets = args.targets.as<int32_t>();
  problem.ignore_index = kIgnoreIndex;
  problem.grad_scale = static_cast<float>(args.grad_scale);
  problem.losses = args.losses.as<double>();
  problem.dlogits = args.dlogits.data();
  OCTET_RETURN_IF_ERROR(SetDevice(stream));
  return CudaStatus(
      LaunchCrossEntropy(problem, PlanCrossEntropy(problem), NativeOf(stream)),
      absl::StrCat("cross_entropy of ", args.logits.ToString()));
}

[[maybe_unused]] const bool kRegistered =
    CrossEntropySlot().Register(DeviceKind::kCuda, &CrossEntropyCuda);

}  // namespace
}  // namespace octet::models::internal
