// SPDX-License-Identifier: Apache-2.0

#include "float8/cuda/gemm_cuda_problem.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace octet::float8::internal {
namespace {

constexpr GemmProblemField kFields[] = {
    {"m", &GemmProblem::m},
    {"n", &GemmProblem::n},
    {"k", &GemmProblem::k},
    {"a_ld", &GemmProblem::a_ld},
    {"b_ld", &GemmProblem::b_ld},
    {"d_ld", &GemmProblem::d_ld},
    {"a_type", &GemmProblem::a_type},
    {"b_type", &GemmProblem::b_type},
    {"d_type", &GemmProblem::d_type},
    {"bias_type", &GemmProblem::bias_type},
    {"a_scale", &GemmProblem::a_scale},
    {"b_scale", &GemmProblem::b_scale},
    {"a_transposed", &GemmProblem::a_transposed},
    {"b_transposed", &GemmProblem::b_transposed},
    {"has_c", &GemmProblem::has_c},
    {"fast_accumulation", &GemmProblem::fast_accumulation},
    {"a_alignment", &GemmProblem::a_alignment},
    {"b_alignment", &GemmProblem::b_alignment},
    {"d_alignment", &GemmProblem::d_alignment},
};
static_assert(sizeof(kFields) / sizeof(kFields[0]) ==
                  sizeof(GemmProblem) / sizeof(int64_t),
              "every field has a name");

// Builds no string where it succeeds: a call sets three of them.
template <typename T>
absl::Status Set(cublasLtMatmulDescOpaque_t* operation,
                 cublasLtMatmulDescAttributes_t attribute, const T& value) {
  const cublasStatus_t status = cublasLtMatmulDescSetAttribute(
      operation, attribute, &value, sizeof(value));
  if (status == CUBLAS_STATUS_SUCCESS) return absl::OkStatus();
  return CublasStatus(
      status, absl::StrCat("cuBLASLt attribute ", static_cast<int>(attribute)));
}

cublasOperation_t OperationOf(int64_t is_transposed) {
  return is_transposed != 0 ? CUBLAS_OP_T : CUBLAS_OP_N;
}

// A matrix of `rows` by `cols` after its operation.
absl::Status InitLayout(cublasLtMatrixLayoutOpaque_t* layout, int64_t type,
                        int64_t is_transposed, int64_t rows, int64_t cols,
                        int64_t ld) {
  if (is_transposed != 0) std::swap(rows, cols);
  return CublasStatus(
      cublasLtMatrixLayoutInit(layout, static_cast<cudaDataType_t>(type), rows,
                               cols, ld),
      "cublasLtMatrixLayoutInit");
}

}  // namespace

absl::Status CublasStatus(cublasStatus_t status, absl::string_view what) {
  if (status == CUBLAS_STATUS_SUCCESS) return absl::OkStatus();
  const std::string message =
      absl::StrCat(what, ": ", cublasLtGetStatusString(status));
  switch (status) {
    case CUBLAS_STATUS_NOT_INITIALIZED:
    case CUBLAS_STATUS_ARCH_MISMATCH:
      return absl::FailedPreconditionError(message);
    case CUBLAS_STATUS_ALLOC_FAILED:
      return absl::ResourceExhaustedError(message);
    default:
      return absl::InternalError(message);
  }
}

absl::Span<const GemmProblemField> GemmProblemFields() { return kFields; }

bool GemmProblem::operator==(const GemmProblem& o) const {
  return std::memcmp(this, &o, sizeof(*this)) == 0;  // no padding: see above
}

std::string GemmProblem::ToString() const {
  std::string text;
  for (const GemmProblemField& f : kFields) {
    absl::StrAppend(&text, text.empty() ? "" : " ", f.name, "=",
                    this->*f.field);
  }
  return text;
}

int64_t AlignmentOf(const void* pointer) {
  const uintptr_t address = reinterpret_cast<uintptr_t>(pointer) | 256;
  return static_cast<int64_t>(address & -address);
}

absl::StatusOr<GemmDescriptors> Describe(const GemmProblem& p) {
  const bool is_f64 = p.d_type == CUDA_R_64F;
  GemmDescriptors out;
  OCTET_RETURN_IF_ERROR(CublasStatus(
      cublasLtMatmulDescInit(&out.operation,
                             is_f64 ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F,
                             is_f64 ? CUDA_R_64F : CUDA_R_32F),
      "cublasLtMatmulDescInit"));
  cublasLtMatmulDescOpaque_t* const op = &out.operation;
  OCTET_RETURN_IF_ERROR(
      Set(op, CUBLASLT_MATMUL_DESC_TRANSA, OperationOf(p.a_transposed)));
  OCTET_RETURN_IF_ERROR(
      Set(op, CUBLASLT_MATMUL_DESC_TRANSB, OperationOf(p.b_transposed)));
  if (p.a_scale != kNoGemmType) {
    OCTET_RETURN_IF_ERROR(
        Set(op, CUBLASLT_MATMUL_DESC_A_SCALE_MODE,
            static_cast<cublasLtMatmulMatrixScale_t>(p.a_scale)));
    OCTET_RETURN_IF_ERROR(
        Set(op, CUBLASLT_MATMUL_DESC_B_SCALE_MODE,
            static_cast<cublasLtMatmulMatrixScale_t>(p.b_scale)));
    OCTET_RETURN_IF_ERROR(Set(op, CUBLASLT_MATMUL_DESC_FAST_ACCUM,
                              static_cast<int8_t>(p.fast_accumulation)));
  }
  if (p.bias_type != kNoGemmType) {
    OCTET_RETURN_IF_ERROR(
        Set(op, CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS));
    OCTET_RETURN_IF_ERROR(Set(op, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE,
                              static_cast<cudaDataType_t>(p.bias_type)));
  }
  OCTET_RETURN_IF_ERROR(
      InitLayout(&out.a, p.a_type, p.a_transposed, p.m, p.k, p.a_ld));
  OCTET_RETURN_IF_ERROR(
      InitLayout(&out.b, p.b_type, p.b_transposed, p.k, p.n, p.b_ld));
  OCTET_RETURN_IF_ERROR(InitLayout(&out.d, p.d_type, 0, p.m, p.n, p.d_ld));
  return out;
}

absl::Status SetPointers(const GemmProblem& problem,
                         const GemmPointers& pointers,
                         cublasLtMatmulDescOpaque_t* operation) {
  if (problem.a_scale != kNoGemmType) {
    OCTET_RETURN_IF_ERROR(
        Set(operation, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, pointers.a_scale));
    OCTET_RETURN_IF_ERROR(
        Set(operation, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, pointers.b_scale));
  }
  if (problem.bias_type == kNoGemmType) return absl::OkStatus();
  return Set(operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, pointers.bias);
}

}  // namespace octet::float8::internal
