// SPDX-License-Identifier: Apache-2.0

// AdamW's reference kernel.
#ifndef OCTET_TRAIN_ADAMW_KERNEL_H_
#define OCTET_TRAIN_ADAMW_KERNEL_H_

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "base/stream.h"

namespace octet::train {

struct AdamWScalars;
struct AdamWTensors;

namespace internal {

absl::Status AdamWCpu(const Stream& stream, const AdamWScalars& scalars,
                      absl::Span<const AdamWTensors> tensors);

}  // namespace internal
}  // namespace octet::train

#endif  // OCTET_TRAIN_ADAMW_KERNEL_H_
