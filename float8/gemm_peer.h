// SPDX-License-Identifier: Apache-2.0

// What a benchmark of Gemm is a percentage of: the device's library itself,
// with nothing of ours around it.
#ifndef OCTET_FLOAT8_GEMM_PEER_H_
#define OCTET_FLOAT8_GEMM_PEER_H_

#include <functional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/kernel_slot.h"
#include "base/stream.h"
#include "base/tensor.h"
#include "float8/gemm.h"

namespace octet::float8::internal {

// Queues one product x w^T.
using GemmPeerCall = std::function<absl::Status()>;

// CUDA: the fastest of all that cuBLASLt's heuristic offers by default, each
// measured on these operands, which must bring the forms it wants. CPU:
// oneDNN's f32 product of the same sizes, of operands of its own.
using GemmPeer = absl::StatusOr<GemmPeerCall>(const Stream& stream,
                                              const GemmOperand& x,
                                              const GemmOperand& w,
                                              const GemmOptions& options,
                                              const TensorView& out);
KernelSlot<GemmPeer>& GemmPeerSlot();

}  // namespace octet::float8::internal

#endif  // OCTET_FLOAT8_GEMM_PEER_H_
