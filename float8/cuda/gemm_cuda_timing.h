// SPDX-License-Identifier: Apache-2.0

// Which algorithm is the fastest for a call. For CUDA leaves only.
#ifndef OCTET_FLOAT8_CUDA_GEMM_CUDA_TIMING_H_
#define OCTET_FLOAT8_CUDA_GEMM_CUDA_TIMING_H_

#include <cublasLt.h>

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "float8/cuda/gemm_cuda_candidates.h"

namespace octet::float8::internal {

// Adds variants of the fastest, sorts by time, and drops what does not run or
// does not give the bits of the first of them; returns the time of the fastest
// in seconds. Runs on the operands, into a D of its own, and waits for the
// stream. Leaves all as it is, and returns none, if there is no memory for that
// D.
absl::StatusOr<std::optional<double>> TimeGemmCandidates(
    GemmCall call, std::vector<cublasLtMatmulAlgo_t>* candidates);

}  // namespace octet::float8::internal

#endif  // OCTET_FLOAT8_CUDA_GEMM_CUDA_TIMING_H_
