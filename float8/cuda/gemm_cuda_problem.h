// SPDX-License-Identifier: Apache-2.0

// One matrix product as cuBLASLt sees it: what its choice of algorithm depends
// on, and the descriptors made of that.
//
// cuBLASLt's matrices are column-major, so its D [m, n] is our out [n, m]: its
// A is our b, and its B our a. For CUDA leaves only.
#ifndef OCTET_FLOAT8_CUDA_GEMM_CUDA_PROBLEM_H_
#define OCTET_FLOAT8_CUDA_GEMM_CUDA_PROBLEM_H_

#include <cublasLt.h>

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace octet::float8::internal {

// OK, or Internal (FailedPrecondition where the library finds no driver,
// ResourceExhausted when memory is short) with `what` and cuBLASLt's words.
absl::Status CublasStatus(cublasStatus_t status, absl::string_view what);

constexpr int64_t kNoGemmType = -1;  // of a bias or a scale that is not there

// All of it is the key. Types are cudaDataType_t, scales
// cublasLtMatmulMatrixScale_t, flags 0 or 1, alignments bytes up to 256.
struct GemmProblem {
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  int64_t a_ld = 0;
  int64_t b_ld = 0;
  int64_t d_ld = 0;
  int64_t a_type = 0;
  int64_t b_type = 0;
  int64_t d_type = 0;
  int64_t bias_type = kNoGemmType;
  int64_t a_scale = kNoGemmType;
  int64_t b_scale = kNoGemmType;
  int64_t a_transposed = 0;
  int64_t b_transposed = 0;
  int64_t has_c = 0;  // beta is not 0
  int64_t fast_accumulation = 0;
  int64_t a_alignment = 256;
  int64_t b_alignment = 256;
  int64_t d_alignment = 256;

  bool operator==(const GemmProblem& o) const;
  std::string ToString() const;

  template <typename H>
  friend H AbslHashValue(H h, const GemmProblem& p) {
    return H::combine_contiguous(std::move(h), &p.m,
                                 sizeof(GemmProblem) / sizeof(int64_t));
  }
};

// Every field with its name, for files and messages.
struct GemmProblemField {
  const char* name;
  int64_t GemmProblem::*field;
};
absl::Span<const GemmProblemField> GemmProblemFields();

// The largest power of two, up to 256, that divides the address.
int64_t AlignmentOf(const void* pointer);

// What differs from call to call.
struct GemmPointers {
  const void* a = nullptr;
  const void* b = nullptr;
  const void* c = nullptr;  // d if beta is 0
  void* d = nullptr;
  const float* a_scale = nullptr;
  const float* b_scale = nullptr;
  const void* bias = nullptr;
  void* workspace = nullptr;
  double alpha = 1.0;
  double beta = 0.0;
};

// Plain memory, copied to set a call's pointers.
struct GemmDescriptors {
  cublasLtMatmulDescOpaque_t operation;
  cublasLtMatrixLayoutOpaque_t a;
  cublasLtMatrixLayoutOpaque_t b;
  cublasLtMatrixLayoutOpaque_t d;
};
absl::StatusOr<GemmDescriptors> Describe(const GemmProblem& problem);

// Sets the pointers in `operation`.
absl::Status SetPointers(const GemmProblem& problem,
                         const GemmPointers& pointers,
                         cublasLtMatmulDescOpaque_t* operation);

}  // namespace octet::float8::internal

#endif  // OCTET_FLOAT8_CUDA_GEMM_CUDA_PROBLEM_H_
