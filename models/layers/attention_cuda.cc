// SPDX-License-Identifier: Apache-2.0

// Fills attention's slots for CUDA: cuDNN where it is linked and takes the
// problem, else the plain kernel. Arguments were checked by attention.cc.
#include "models/layers/attention_cuda.h"

#include <cuda_runtime_api.h>

#include "absl/strings/str_cat.h"
#include "base/cuda_status.h"
#include "base/status_macros.h"
#include "models/layers/cuda/attention_kernel.h"
#include "models/layers/layers_cuda.h"

namespace octet::models::internal {
namespace {

FusedAttention& Fused() {
  static FusedAttention fused;
  return fused;
}

absl::StatusOr<AttentionProblem> ProblemOf(const AttentionForwardArgs& args) {
  AttentionProblem problem = {};
  OCTET_ASSIGN_OR_RETURN(problem.type, ElementTypeOf("attention", args.q));
  const Shape& q = args.q.shape();
  problem.batch = q.dim(0);
  problem.length = q.dim(1);
  problem.heads = q.dim(2);
  problem.kv_heads = args.k.shape().dim(2);
  problem.head_dim = q.dim(3);
  problem.q = args.q.data();
  problem.k = args.k.data();
  problem.v = args.v.data();
  problem.o = args.o.data();
  problem.log_sum_exp = args.log_sum_exp.as<float>();
  if (problem.head_dim > kMaxPlainHeadDim) {
    return absl::InvalidArgumentError(absl::StrCat(
        "attention: q is ", args.q.ToString(), "; on CUDA heads have up to ",
        kMaxPlainHeadDim, " elements"));
  }
  return problem;
}

absl::Status ForwardCuda(const Stream& stream,
                         const AttentionForwardArgs& args) {
  if (args.q.num_elements() == 0) return absl::OkStatus();
  if (Fused().forward != nullptr) {
    const absl::Status status = Fused().forward(stream, args);
    if (!absl::IsUnimplemented(status)) return status;
  }
  return AttentionForwardPlain(stream, args);
}

absl::Status BackwardCuda(const Stream& stream,
                          const AttentionBackwardArgs& args) {
  if (args.forward.q.num_elements() == 0) return absl::OkStatus();
  if (Fused().backward != nullptr) {
    const absl::Status status = Fused().backward(stream, args);
    if (!absl::IsUnimplemented(status)) return status;
  }
  return AttentionBackwardPlain(stream, args);
}

[[maybe_unused]] const bool kForward =
    AttentionForwardSlot().Register(DeviceKind::kCuda, &ForwardCuda);
[[maybe_unused]] const bool kBackward =
    AttentionBackwardSlot().Register(DeviceKind::kCuda, &BackwardCuda);

}  // namespace

bool RegisterFusedAttention(const FusedAttention& fused) {
  Fused() = fused;
  return true;
}

absl::Status AttentionForwardPlain(const Stream& stream,
                                   const AttentionForwardArgs& args) {
  OCTET_ASSIGN_OR_RETURN(const AttentionProblem problem, ProblemOf(args));
  OCTET_RETURN_IF_ERROR(SetDevice(stream));
  return CudaStatus(LaunchAttentionForward(problem, NativeOf(stream)),
                    absl::StrCat("attention of ", args.q.ToString()));
}

absl::Status AttentionBackwardPlain(const Stream& stream,
                                    const AttentionBackwardArgs& args) {
  OCTET_ASSIGN_OR_RETURN(AttentionProblem problem, ProblemOf(args.forward));
  problem.grad_o = args.grad_o.data();
  problem.dq = args.dq.data();
  problem.dk = args.dk.data();
  problem.dv = args.dv.data();
  OCTET_RETURN_IF_ERROR(SetDevice(stream));
  OCTET_ASSIGN_OR_RETURN(void* const delta,
                         stream.Scratch(args.forward.log_sum_exp.num_bytes()));
  problem.delta = static_cast<float*>(delta);
  return CudaStatus(
      LaunchAttentionBackward(problem, NativeOf(stream)),
      absl::StrCat("attention's gradient of ", args.forward.q.ToString()));
}

}  // namespace octet::models::internal
