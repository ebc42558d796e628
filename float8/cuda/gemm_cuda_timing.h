// SPDX-License-Identifier: Apache-2.0

// cuBLASLt's candidates for one call, and which of them is the fastest. For
// CUDA leaves only.
#ifndef OCTET_FLOAT8_CUDA_GEMM_CUDA_TIMING_H_
#define OCTET_FLOAT8_CUDA_GEMM_CUDA_TIMING_H_

#include <cublasLt.h>
#include <cuda_runtime_api.h>

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "float8/cuda/gemm_cuda_problem.h"

namespace octet::float8::internal {

struct GemmCall {
  cublasLtHandle_t handle;
  const GemmProblem* problem;
  GemmPointers pointers;
  GemmDescriptors descriptors;  // with this call's pointers
  cudaStream_t stream;
};

// Queues it; false if cuBLASLt does not take the algorithm.
bool RunGemm(GemmCall* call, const cublasLtMatmulAlgo_t& algorithm);

// Whether an algorithm from elsewhere fits.
bool CanRunGemm(GemmCall call, const cublasLtMatmulAlgo_t& algorithm);

// In cuBLASLt's order; none if it has none. Only algorithms that give the same
// bits every time.
absl::StatusOr<std::vector<cublasLtMatmulAlgo_t>> GemmCandidates(GemmCall call);

// Sorts by time, measured with a D of its own, and drops what does not run;
// returns the time of the first in seconds. Waits for the stream. Leaves the
// order as it is, and returns none, if there is no memory for that D.
absl::StatusOr<std::optional<double>> TimeGemmCandidates(
    GemmCall call, std::vector<cublasLtMatmulAlgo_t>* candidates);

}  // namespace octet::float8::internal

#endif  // OCTET_FLOAT8_CUDA_GEMM_CUDA_TIMING_H_
