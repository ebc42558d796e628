// SPDX-License-Identifier: Apache-2.0

// The model FLOPs utilisation: how it is counted, and against which peak.
#ifndef OCTET_TRAIN_PLAN_MFU_H_
#define OCTET_TRAIN_PLAN_MFU_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace octet::train {

// The dense bf16 peak, in TFLOP/s, of a GPU as its driver names it
// ("NVIDIA H100 80GB HBM3, 79.6 GiB, sm_90"); NVIDIA's data sheets, whose
// figures with sparsity are halved.
std::optional<double> KnownPeakTflops(absl::string_view description);

// `configured`, or where that is 0 the known one.
std::optional<double> PeakTflops(double configured,
                                 absl::string_view description);

std::optional<double> Mfu(double tflops, std::optional<double> peak_tflops);

// "11.2 M a token: 6 (N - N_embedding) + 12 L H head_dim T (torchtitan's;
// causal half not discounted); MFU of 989.4 TFLOP/s"
std::string DescribeFlops(double flops_per_token,
                          std::optional<double> peak_tflops);

}  // namespace octet::train

#endif  // OCTET_TRAIN_PLAN_MFU_H_
