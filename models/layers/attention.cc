// SPDX-License-Identifier: Apache-2.0
#include "models/layers/attention.h"

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "models/layers/attention_kernel.h"
#include "models/layers/checks.h"

namespace octet::models {
namespace internal {

KernelSlot<AttentionForwardKernel>& AttentionForwardSlot() {
  static KernelSlot<AttentionForwardKernel> slot(
      "//models/layers:attention_cuda", &AttentionForwardCpu);
  return slot;
}

KernelSlot<AttentionBackwardKernel>& AttentionBackwardSlot() {
  static KernelSlot<AttentionBackwardKernel> slot(
      "//models/layers:attention_cuda", &AttentionBackwardCpu);
  return slot;
}

namespace {

absl::Status CheckForward(const Stream& stream,
                          const AttentionForwardArgs& args) {
  OCTET_RETURN_IF_ERROR(CheckActivation({"attention", "q", args.q}));
  const Shape& q = args.q.shape();
  const Shape& k = args.k.shape();
  if (q.rank() != 4 || k.rank() != 4 || k.dim(2) <= 0 ||
      q.dim(2) % k.dim(2) != 0 || q.dim(3) <= 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "attention: q is ", args.q.ToString(), ", k is ", args.k.ToString(),
        "; the query heads must be a multiple of the key heads"));
  }
  const DType dtype = args.q.dtype();
  const Shape keys({q.dim(0), q.dim(1), k.dim(2), q.dim(3)});
  const auto check = [&](absl::string_view name, const TensorView& view,
                         DType expected, const Shape& shape) {
    return CheckTensor(stream, {"attention", name, view}, expected, shape);
  };
  OCTET_RETURN_IF_ERROR(check("q", args.q, dtype, q));
  OCTET_RETURN_IF_ERROR(check("k", args.k, dtype, keys));
  OCTET_RETURN_IF_ERROR(check("v", args.v, dtype, keys));
  OCTET_RETURN_IF_ERROR(check("o", args.o, dtype, q));
  return check("log_sum_exp", args.log_sum_exp, StatisticOf(dtype),
               Shape({q.dim(0), q.dim(2), q.dim(1)}));
}

}  // namespace
}  // namespace internal

absl::Status AttentionForward(const Stream& stream,
                              const AttentionForwardArgs& args) {
  OCTET_RETURN_IF_ERROR(internal::CheckForward(stream, args));
  OCTET_ASSIGN_OR_RETURN(auto* kernel,
                         internal::AttentionForwardSlot().Get(stream.device()));
  return kernel(stream, args);
}

absl::Status AttentionBackward(const Stream& stream,
                               const AttentionBackwardArgs& args) {
  OCTET_RETURN_IF_ERROR(internal::CheckForward(stream, args.forward));
  const TensorView& q = args.forward.q;
  const TensorView& k = args.forward.k;
  const auto check = [&](absl::string_view name, const TensorView& view,
                         const Shape& shape) {
    return internal::CheckTensor(stream, {"attention", name, view}, q.dtype(),
                                 shape);
  };
  OCTET_RETURN_IF_ERROR(check("grad_o", args.grad_o, q.shape()));
  OCTET_RETURN_IF_ERROR(check("dq", args.dq, q.shape()));
  OCTET_RETURN_IF_ERROR(check("dk", args.dk, k.shape()));
  OCTET_RETURN_IF_ERROR(check("dv", args.dv, k.shape()));
  OCTET_ASSIGN_OR_RETURN(
      auto* kernel, internal::AttentionBackwardSlot().Get(stream.device()));
  return kernel(stream, args);
}

}  // namespace octet::models
