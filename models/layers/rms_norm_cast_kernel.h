// SPDX-License-Identifier: Apache-2.0

// Kernels of the normalisation's fused casts: for arguments that are checked,
// RmsNormCastIsFused, x present, and the casts' tensors allocated. The CPU has
// none: it runs the pair.
#ifndef OCTET_MODELS_LAYERS_RMS_NORM_CAST_KERNEL_H_
#define OCTET_MODELS_LAYERS_RMS_NORM_CAST_KERNEL_H_

#include "absl/status/status.h"
#include "base/kernel_slot.h"
#include "base/stream.h"
#include "models/layers/rms_norm_cast.h"

namespace octet::models::internal {

// kRows: one pass; kTiles: two.
enum class RmsNormFusion : uint8_t { kNone, kRows, kTiles };
RmsNormFusion RmsNormFusionOf(const RmsNormCastArgs& args);

using RmsNormCastKernel = absl::Status(const Stream&, const RmsNormCastArgs&);
KernelSlot<RmsNormCastKernel>& RmsNormCastSlot();

}  // namespace octet::models::internal

#endif  // OCTET_MODELS_LAYERS_RMS_NORM_CAST_KERNEL_H_
