// SPDX-License-Identifier: Apache-2.0

// The algorithms that this process measured or loaded, and their file.
//
// A list in JSON; each entry has the GPU and the version of cuBLASLt that it is
// for, the problem, and the algorithm's bytes, which cuBLASLt documents as
// restorable by the same version. For CUDA leaves only.
#ifndef OCTET_FLOAT8_CUDA_GEMM_CUDA_KNOWN_H_
#define OCTET_FLOAT8_CUDA_GEMM_CUDA_KNOWN_H_

#include <cublasLt.h>

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "float8/cuda/gemm_cuda_problem.h"
#include "float8/gemm_algorithms.h"

namespace octet::float8::internal {

// What an algorithm is the fastest on.
struct GemmGpu {
  std::string name;
  int64_t multiprocessors = 0;
  int64_t workspace = 0;

  bool operator==(const GemmGpu& o) const {
    return name == o.name && multiprocessors == o.multiprocessors &&
           workspace == o.workspace;
  }
};
absl::StatusOr<GemmGpu> DescribeGemmGpu(int index);

// Bytes that Gemm lets cuBLASLt use.
constexpr int64_t kGemmWorkspace = int64_t{64} << 20;

struct KnownGemmAlgorithm {
  cublasLtMatmulAlgo_t algorithm;
  double microseconds = 0.0;
};

std::optional<KnownGemmAlgorithm> FindKnownGemm(const GemmGpu& gpu,
                                                const GemmProblem& problem);
void AddKnownGemm(const GemmGpu& gpu, const GemmProblem& problem,
                  const KnownGemmAlgorithm& known);

// Behind the functions of gemm_algorithms.h.
absl::Status SaveKnownGemm(const std::string& path);
absl::StatusOr<LoadedGemmAlgorithms> LoadKnownGemm(const std::string& path);

}  // namespace octet::float8::internal

#endif  // OCTET_FLOAT8_CUDA_GEMM_CUDA_KNOWN_H_
