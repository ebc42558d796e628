// SPDX-License-Identifier: Apache-2.0

// Fills the slot of the normalisation's fused casts. Arguments were checked by
// rms_norm_cast.cc.
#include <cuda_runtime_api.h>

#include "absl/strings/str_cat.h"
#include "base/cuda_status.h"
#include "base/status_macros.h"
#include "models/layers/cuda/rms_norm_cast_kernel.h"
#include "models/layers/layers_cuda.h"
#include "models/layers/output_cast_cuda.h"
#include "models/layers/rms_norm_cast_kernel.h"

namespace octet::models::internal {
namespace {

absl::Status RmsNormCastCuda(const Stream& stream,
                             const RmsNormCastArgs& args) {
  OCTET_ASSIGN_OR_RETURN(RmsNormForwardProblem norm,
                         RmsNormForwardProblemOf(stream, args.norm));
  OCTET_ASSIGN_OR_RETURN(unsigned* const counters,
                         CountersOf(stream, args.cast.seen_amax.present()));
  OCTET_RETURN_IF_ERROR(SetDevice(stream));
  cudaError_t error;
  if (RmsNormFusionOf(args) == RmsNormFusion::kRows) {
    norm.amax = args.cast.seen_amax.as<float>();
    norm.counters = counters;
    error = LaunchRmsNormRowCast(norm, RowCastOf(args.cast),
                                 RowCastProblemOf(args.cast), NativeOf(stream));
  } else {
    const TileFusion fusion = TileFusionOf(args.norm.residual, args.cast);
    TileCastProblem<1> problem = {};
    problem.shape = {norm.rows, norm.hidden};
    problem.out[0] = TileCastOutputOf(args.cast, args.norm.y, fusion);
    problem.counters = counters;
    error = LaunchRmsNormTileCast(norm, TileScalingOf(fusion), problem,
                                  NativeOf(stream));
  }
  return CudaStatus(
      error, absl::StrCat("rms_norm_cast of ", args.norm.residual.ToString()));
}

[[maybe_unused]] const bool kRegistered =
    RmsNormCastSlot().Register(DeviceKind::kCuda, &RmsNormCastCuda);

}  // namespace
}  // namespace octet::models::internal
