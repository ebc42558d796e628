// SPDX-License-Identifier: Apache-2.0
#include "models/layers/cross_entropy.h"

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "models/layers/checks.h"
#include "models/layers/cross_entropy_kernel.h"

namespace octet::models {
namespace internal {

KernelSlot<CrossEntropyKernel>& CrossEntropySlot() {
  static KernelSlot<CrossEntropyKernel> slot(
      "//models/layers:cross_entropy_cuda", &CrossEntropyCpu);
  return slot;
}

}  // namespace internal

absl::Status CrossEntropy(const Stream& stream, const CrossEntropyArgs& args) {
  const TensorView& logits = args.logits;
  const auto check = [&](absl::string_view name, const TensorView& view,
                         DType dtype, const Shape& shape) {
    return internal::CheckTensor(stream, {"cross_entropy", name, view}, dtype,
                                 shape);
  };
  const Shape shape({logits.rows(), logits.cols()});
  const Shape rows({logits.rows()});
  const DType dtype = internal::StatisticOf(logits.dtype());
  OCTET_RETURN_IF_ERROR(check("logits", logits, dtype, shape));
  OCTET_RETURN_IF_ERROR(check("targets", args.targets, DType::kI32, rows));
  OCTET_RETURN_IF_ERROR(check("losses", args.losses, DType::kF64, rows));
  if (args.dlogits.data() != nullptr) {
    const DType gradient = args.dlogits.dtype();
    OCTET_RETURN_IF_ERROR(
        internal::CheckActivation({"cross_entropy", "dlogits", args.dlogits}));
    OCTET_RETURN_IF_ERROR(check(
        "dlogits", args.dlogits,
        internal::StatisticOf(gradient) == dtype ? gradient : dtype, shape));
    if (args.dlogits.data() == logits.data() && gradient != dtype) {
      return absl::InvalidArgumentError(
          absl::StrCat("cross_entropy: dlogits, ", args.dlogits.ToString(),
                       ", shares the memory of logits, ", logits.ToString()));
    }
  }
  OCTET_ASSIGN_OR_RETURN(auto* kernel,
                         internal::CrossEntropySlot().Get(stream.device()));
  return kernel(stream, args);
}

}  // namespace octet::models
