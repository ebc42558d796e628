// SPDX-License-Identifier: Apache-2.0
#include "models/layers/layers_cuda.h"

#include "absl/strings/str_cat.h"
#include "base/cuda_status.h"
#include "base/status_macros.h"

namespace octet::models::internal {

cudaStream_t NativeOf(const Stream& stream) {
  return static_cast<cudaStream_t>(stream.native());
}

absl::Status SetDevice(const Stream& stream) {
  return CudaStatus(cudaSetDevice(stream.device().index), "cudaSetDevice");
}

absl::StatusOr<ElementType> ElementTypeOf(absl::string_view layer,
                                          const TensorView& view) {
  if (view.dtype() == DType::kF32) return ElementType::kF32;
  if (view.dtype() == DType::kBf16) return ElementType::kBf16;
  return absl::UnimplementedError(
      absl::StrCat(layer, ": no CUDA kernel for ", view.ToString()));
}

absl::StatusOr<unsigned*> CountersOf(const Stream& stream, bool wanted) {
  if (!wanted) return nullptr;
  OCTET_ASSIGN_OR_RETURN(uint32_t* const counters, stream.Counters());
  return static_cast<unsigned*>(counters);
}

absl::Status ZeroAmax(const Stream& stream, const TensorView& amax) {
  return amax.present() ? FillZero(stream, amax) : absl::OkStatus();
}

absl::StatusOr<RmsNormForwardProblem> RmsNormForwardProblemOf(
    const Stream& stream, const RmsNormForwardArgs& args) {
  RmsNormForwardProblem problem;
  OCTET_ASSIGN_OR_RETURN(problem.type,
                         ElementTypeOf("rms_norm", args.residual));
  problem.rows = args.residual.rows();
  problem.hidden = args.residual.cols();
  problem.residual = args.residual.data();
  problem.delta = args.delta.data();
  problem.weight = args.weight.data();
  problem.epsilon = static_cast<float>(args.epsilon);
  problem.x = args.x.data();
  problem.y = args.y.data();
  problem.rstd = args.rstd.as<float>();
  problem.amax = args.amax.as<float>();
  OCTET_ASSIGN_OR_RETURN(problem.counters,
                         CountersOf(stream, args.amax.present()));
  return problem;
}

}  // namespace octet::models::internal
