// SPDX-License-Identifier: Apache-2.0

// Kernels of the normalisation: arguments are checked, x is always present.
#ifndef OCTET_MODELS_LAYERS_RMS_NORM_KERNEL_H_
#define OCTET_MODELS_LAYERS_RMS_NORM_KERNEL_H_

#include "absl/status/status.h"
#include "base/kernel_slot.h"
#include "base/stream.h"
#include "models/layers/rms_norm.h"

namespace octet::models::internal {

using RmsNormForwardKernel = absl::Status(const Stream&,
                                          const RmsNormForwardArgs&);
using RmsNormBackwardKernel = absl::Status(const Stream&,
                                           const RmsNormBackwardArgs&);

KernelSlot<RmsNormForwardKernel>& RmsNormForwardSlot();
KernelSlot<RmsNormBackwardKernel>& RmsNormBackwardSlot();

// Checks all arguments, y if it is present, and sets x where it is absent.
absl::Status CheckRmsNormForward(const Stream& stream,
                                 RmsNormForwardArgs* args);

RmsNormForwardKernel RmsNormForwardCpu;
RmsNormBackwardKernel RmsNormBackwardCpu;

}  // namespace octet::models::internal

#endif  // OCTET_MODELS_LAYERS_RMS_NORM_KERNEL_H_
