// SPDX-License-Identifier: Apache-2.0

// How an operand reaches cuBLASLt: as it lies, or through a copy made first.
//
// Hopper's float8 products want k contiguous in both operands, addresses and
// rows in multiples of 16 bytes, and 1 / scale in layouts of their own. Other
// types go as they are. For CUDA leaves only.
#ifndef OCTET_FLOAT8_CUDA_GEMM_CUDA_OPERANDS_H_
#define OCTET_FLOAT8_CUDA_GEMM_CUDA_OPERANDS_H_

#include <cuda_runtime_api.h>
#include <library_types.h>

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/dtype.h"
#include "float8/cuda/gemm_kernel.h"
#include "float8/gemm.h"
#include "float8/gemm_kernel.h"

namespace octet::float8::internal {

cudaDataType_t CudaTypeOf(DType dtype);
GemmElement ElementOf(DType dtype);

// Scale modes of a pair, cublasLtMatmulMatrixScale_t or kNoGemmType.
struct GemmScaleModes {
  int64_t a;
  int64_t b;
};
// Unimplemented, with both sides and a way out, for what cuBLASLt does not
// multiply on Hopper.
absl::StatusOr<GemmScaleModes> ScaleModesOf(const GemmArguments& g);

// Where the operand's memory is cut out of scratch memory.
class GemmScratch {
 public:
  // Offset of that many bytes, 256-byte aligned.
  int64_t Add(int64_t bytes) {
    const int64_t offset = bytes_;
    bytes_ += (bytes + 255) / 256 * 256;
    return offset;
  }
  int64_t bytes() const { return bytes_; }

 private:
  int64_t bytes_ = 0;
};

// One operand of a product of `outer` by `k` (a: outer is m; b: outer is n).
class GemmSide {
 public:
  // Sizes to pad to with zeros; for float8 alone.
  struct Padded {
    int64_t outer;
    int64_t k;
  };
  // `is_a`: which side it is. Plain operands become `type`.
  static GemmSide Plan(const GemmOperand& operand, bool is_a,
                       int64_t scale_mode, const Padded& padded, DType type,
                       GemmScratch* scratch);

  // Queues what must be made, in `memory` of GemmScratch's size.
  cudaError_t Prepare(void* memory, cudaStream_t stream);

  // After Plan.
  int64_t ld() const { return ld_; }
  cudaDataType_t type() const { return type_; }
  bool is_transposed() const { return is_transposed_; }  // as op(A), op(B)
  // After Prepare.
  const void* data() const { return data_; }
  const float* scale() const { return scale_; }

 private:
  void PlanFloat8(const GemmOperand& x, bool contracts_cols,
                  const Padded& padded, GemmScratch* scratch);
  void PlanScale(const GemmOperand& x, bool contracts_cols, int64_t mode,
                 const Padded& padded, GemmScratch* scratch);
  void PlanPlain(const GemmOperand& x, DType type, GemmScratch* scratch);

  struct Widen {
    const void* from;
    int64_t ld;
    int64_t rows;
    int64_t cols;
  };

  const void* data_ = nullptr;
  int64_t ld_ = 0;
  cudaDataType_t type_ = CUDA_R_32F;
  bool is_transposed_ = false;
  const float* scale_ = nullptr;
  std::optional<GemmBytes> bytes_;
  std::optional<GemmReciprocals> reciprocals_;
  std::optional<Widen> widen_;
  int64_t data_offset_ = 0;
  int64_t scale_offset_ = 0;
};

}  // namespace octet::float8::internal

#endif  // OCTET_FLOAT8_CUDA_GEMM_CUDA_OPERANDS_H_
