// SPDX-License-Identifier: Apache-2.0

// Fills the slots of the gated activation's fused casts. Arguments were checked
// by swiglu_cast.cc.
#include <cuda_runtime_api.h>

#include "absl/strings/str_cat.h"
#include "base/cuda_status.h"
#include "base/status_macros.h"
#include "models/layers/cuda/swiglu_cast_kernel.h"
#include "models/layers/layers_cuda.h"
#include "models/layers/output_cast_cuda.h"
#include "models/layers/swiglu_cast_kernel.h"

namespace octet::models::internal {
namespace {

absl::Status SwigluCastCuda(const Stream& stream, const SwigluCastArgs& args) {
  const SwigluForwardArgs& swiglu = args.swiglu;
  const TileFusion fusion = SwigluFusionOf(args);
  TileCastProblem<1> problem = {};
  problem.shape = {swiglu.gate.rows(), swiglu.gate.cols()};
  problem.out[0] = TileCastOutputOf(args.cast, swiglu.y, fusion);
  OCTET_ASSIGN_OR_RETURN(problem.counters,
                         CountersOf(stream, args.cast.seen_amax.present()));
  OCTET_RETURN_IF_ERROR(SetDevice(stream));
  return CudaStatus(
      LaunchSwigluCast(swiglu.gate.data(), swiglu.up.data(),
                       TileScalingOf(fusion), problem, NativeOf(stream)),
      absl::StrCat("swiglu_cast of ", swiglu.gate.ToString()));
}

absl::Status SwigluBackwardCastCuda(const Stream& stream,
                                    const SwigluBackwardCastArgs& args) {
  const SwigluBackwardArgs& swiglu = args.swiglu;
  const TileFusion fusion = SwigluFusionOf(args);
  TileCastProblem<2> problem = {};
  problem.shape = {swiglu.gate.rows(), swiglu.gate.cols()};
  problem.out[0] = TileCastOutputOf(args.dgate, swiglu.dgate, fusion);
  problem.out[1] = TileCastOutputOf(args.dup, swiglu.dup, fusion);
  OCTET_ASSIGN_OR_RETURN(problem.counters,
                         CountersOf(stream, args.dgate.seen_amax.present() ||
                                                args.dup.seen_amax.present()));
  OCTET_RETURN_IF_ERROR(SetDevice(stream));
  return CudaStatus(
      LaunchSwigluBackwardCast(swiglu.gate.data(), swiglu.up.data(),
                               swiglu.dy.data(), TileScalingOf(fusion), problem,
                               NativeOf(stream)),
      absl::StrCat("swiglu_cast's gradient of ", swiglu.gate.ToString()));
}

[[maybe_unused]] const bool kForward =
    SwigluCastSlot().Register(DeviceKind::kCuda, &SwigluCastCuda);
[[maybe_unused]] const bool kBackward = SwigluBackwardCastSlot().Register(
    DeviceKind::kCuda, &SwigluBackwardCastCuda);

}  // namespace
}  // namespace octet::models::internal
