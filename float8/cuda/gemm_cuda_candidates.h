// SPDX-License-Identifier: Apache-2.0

// The algorithms that one call can take: those of cuBLASLt's heuristic, and
// variants of them that the heuristic does not offer and the library's check
// accepts.
//
// For row and block scales the heuristic offers one algorithm, for others
// eight; the same kernel in another tile, cluster or order of tiles can be
// faster. For CUDA leaves only.
#ifndef OCTET_FLOAT8_CUDA_GEMM_CUDA_CANDIDATES_H_
#define OCTET_FLOAT8_CUDA_GEMM_CUDA_CANDIDATES_H_

#include <cublasLt.h>
#include <cuda_runtime_api.h>

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

// Whether cuBLASLt takes an algorithm that its heuristic did not offer.
bool CanRunGemm(const GemmCall& call, const cublasLtMatmulAlgo_t& algorithm);

bool IsSameGemm(const cublasLtMatmulAlgo_t& x, const cublasLtMatmulAlgo_t& y);

// The heuristic's, in its order; none if it has none. Only algorithms that give
// the same bits every time.
absl::StatusOr<std::vector<cublasLtMatmulAlgo_t>> GemmCandidates(GemmCall call);

// `base` with other tiles.
std::vector<cublasLtMatmulAlgo_t> GemmTileVariants(
    const GemmCall& call, const cublasLtMatmulAlgo_t& base);

// `base` with other clusters and custom options, which choose the schedule.
std::vector<cublasLtMatmulAlgo_t> GemmScheduleVariants(
    const GemmCall& call, const cublasLtMatmulAlgo_t& base);

}  // namespace octet::float8::internal

#endif  // OCTET_FLOAT8_CUDA_GEMM_CUDA_CANDIDATES_H_
