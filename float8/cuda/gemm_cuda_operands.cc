// SPDX-License-Identifier: Apache-2.0

#include "float8/cuda/gemm_cuda_operands.h"

#include <cublasLt.h>

#include "absl/strings/str_cat.h"
#include "float8/cuda/gemm_cuda_problem.h"

namespace octet::float8::internal {
namespace {

constexpr int64_t kBlock = 128;  // of a scale along k

int64_t RoundUp(int64_t x, int64_t to) { return CeilDiv(x, to) * to; }

bool ContractsCols(const GemmOperand& x, bool is_a) {
  return (x.transpose == Transpose::kNo) == is_a;
}

// Scales as the product sees them, whichever way the matrix lies.
enum class Scales { kNone, kTensor, kOuter, kVector, kBlock, kOther };

Scales ScalesOf(const GemmOperand& x) {
  if (!IsFloat8(x.dtype())) return Scales::kNone;
  // Scales along k alone were refused by gemm.cc.
  switch (x.granularity) {
    case Granularity::kTensor:
      return Scales::kTensor;
    case Granularity::kRow:
    case Granularity::kColumn:
      return Scales::kOuter;
    case Granularity::kBlock1x128:
    case Granularity::kBlock128x1:
      return Scales::kVector;
    case Granularity::kBlock128x128:
      return Scales::kBlock;
    default:
      return Scales::kOther;
  }
}

std::string NameOf(const GemmOperand& x) {
  if (!IsFloat8(x.dtype())) return std::string(Name(x.dtype()));
  return absl::StrCat(Name(x.dtype()), " by ", Name(x.granularity));
}

absl::Status Refuse(const GemmArguments& g, absl::string_view way_out) {
  return absl::UnimplementedError(
      absl::StrCat("gemm: no CUDA kernel multiplies a (", NameOf(g.a),
                   ") by b (", NameOf(g.b), "): ", way_out));
}

bool IsBlocks(Scales s) { return s == Scales::kVector || s == Scales::kBlock; }

int64_t BlockMode(Scales s) {
  return s == Scales::kVector ? CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F
                              : CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F;
}

bool IsAligned(const void* pointer) {
  return reinterpret_cast<uintptr_t>(pointer) % 16 == 0;
}

}  // namespace

cudaDataType_t CudaTypeOf(DType dtype) {
  switch (dtype) {
    case DType::kF8E4M3:
      return CUDA_R_8F_E4M3;
    case DType::kF8E5M2:
      return CUDA_R_8F_E5M2;
    case DType::kBf16:
      return CUDA_R_16BF;
    case DType::kF16:
      return CUDA_R_16F;
    case DType::kF64:
      return CUDA_R_64F;
    default:
      return CUDA_R_32F;
  }
}

GemmElement ElementOf(DType dtype) {
  switch (dtype) {
    case DType::kBf16:
      return GemmElement::kBf16;
    case DType::kF16:
      return GemmElement::kF16;
    case DType::kF64:
      return GemmElement::kF64;
    default:
      return GemmElement::kF32;
  }
}

absl::StatusOr<GemmScaleModes> ScaleModesOf(const GemmArguments& g) {
  const Scales a = ScalesOf(g.a), b = ScalesOf(g.b);
  if (a == Scales::kNone && b == Scales::kNone) {
    return GemmScaleModes{kNoGemmType, kNoGemmType};
  }
  if (a == Scales::kNone || b == Scales::kNone) {
    return Refuse(g, "quantise both or neither");
  }
  if (a == Scales::kOther || b == Scales::kOther) {
    return Refuse(g,
                  "32-element scales need a GPU later than Hopper; the CPU "
                  "multiplies them");
  }
  if (a == Scales::kBlock && b == Scales::kBlock) {
    return Refuse(g, "quantise one of them 1x128 along k");
  }
  if (IsBlocks(a) != IsBlocks(b)) {
    return Refuse(g,
                  "quantise both in blocks of 128, or both by row or tensor");
  }
  if (IsBlocks(a)) {
    if (g.options.accumulation == Accumulation::kFast) {
      return Refuse(g,
                    "blocks of 128 have no fast accumulation; ask for "
                    "precise");
    }
    return GemmScaleModes{BlockMode(a), BlockMode(b)};
  }
  const int64_t mode = a == Scales::kTensor && b == Scales::kTensor
                           ? CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F
                           : CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F;
  return GemmScaleModes{mode, mode};
}

GemmSide GemmSide::Plan(const GemmOperand& operand, bool is_a,
                        int64_t scale_mode, const Padded& padded, DType type,
                        GemmScratch* scratch) {
  GemmSide side;
  const bool contracts_cols = ContractsCols(operand, is_a);
  // As column-major matrices, a is [k, m] and b is [n, k].
  side.is_transposed_ = is_a ? !contracts_cols : contracts_cols;
  if (scale_mode == kNoGemmType) {
    side.PlanPlain(operand, type, scratch);
    return side;
  }
  side.is_transposed_ = !is_a;
  side.PlanFloat8(operand, contracts_cols, padded, scratch);
  side.PlanScale(operand, contracts_cols, scale_mode, padded, scratch);
  return side;
}

void GemmSide::PlanFloat8(const GemmOperand& x, bool contracts_cols,
                          const Padded& padded, GemmScratch* scratch) {
  const int64_t rows = x.rows(), cols = x.cols();
  const int64_t outer = contracts_cols ? rows : cols;
  const int64_t k = contracts_cols ? cols : rows;
  const bool has_data = x.data.data() != nullptr;
  const bool has_transposed = x.transposed.data() != nullptr;
  const bool has_k_contiguous = contracts_cols ? has_data : has_transposed;
  const bool from_data = contracts_cols ? has_data : !has_transposed;
  const void* const from = from_data ? x.data.data() : x.transposed.data();
  // The distance of a single row says nothing.
  const int64_t from_ld = from_data ? x.leading_dim : rows;
  type_ = CudaTypeOf(x.dtype());
  data_ = from;
  ld_ = outer == 1 ? padded.k : from_ld;
  if (has_k_contiguous && padded.k == k && padded.outer == outer &&
      ld_ % 16 == 0 && IsAligned(from)) {
    return;
  }
  ld_ = padded.k;
  bytes_ = GemmBytes{from, from_ld, !has_k_contiguous, outer,
                     k,    nullptr, padded.outer,      padded.k};
  data_offset_ = scratch->Add(padded.outer * padded.k);
}

void GemmSide::PlanScale(const GemmOperand& x, bool contracts_cols,
                         int64_t mode, const Padded& padded,
                         GemmScratch* scratch) {
  const int64_t outer = contracts_cols ? x.rows() : x.cols();
  const int64_t blocks = CeilDiv(contracts_cols ? x.cols() : x.rows(), kBlock);
  const int64_t across = x.scale.cols();
  const bool is_tensor = x.granularity == Granularity::kTensor;
  const int64_t outer_stride = is_tensor ? 0 : contracts_cols ? across : 1;
  const int64_t k_stride = contracts_cols ? 1 : across;
  GemmReciprocals make;
  make.scale = x.scale.as<float>();
  const TensorView* given = &x.reciprocal;
  bool fits = true;
  switch (mode) {
    case CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F:
      make.rows = make.cols = make.to_cols = 1;
      break;
    case CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F:
      make.rows = 1;
      make.cols = outer;
      make.col_stride = outer_stride;
      make.to_cols = padded.outer;
      fits = !is_tensor && padded.outer == outer;
      break;
    case CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F:
      make.rows = blocks;
      make.row_stride = k_stride;
      make.cols = outer;
      make.col_stride = outer_stride;
      make.to_cols = padded.outer;
      fits = padded.outer == RoundUp(outer, 4);
      break;
    default:  // one wrong stride here would be a wrong result without an error
      make.rows = CeilDiv(outer, kBlock);
      make.row_stride = outer_stride;
      make.cols = blocks;
      make.col_stride = k_stride;
      make.to_cols = RoundUp(blocks, 4);
      if (!contracts_cols) given = &x.transposed_reciprocal;
  }
  scale_ = given->as<float>();
  if (fits && scale_ != nullptr && IsAligned(scale_)) return;
  reciprocals_ = make;
  scale_offset_ = scratch->Add(make.rows * make.to_cols * sizeof(float));
}

void GemmSide::PlanPlain(const GemmOperand& x, DType type,
                         GemmScratch* scratch) {
  type_ = CudaTypeOf(type);
  data_ = x.data.data();
  ld_ = x.leading_dim;
  if (x.data.dtype() == type) return;
  const int64_t rows = x.data.rows(), cols = x.data.cols();
  widen_ = Widen{data_, ld_, rows, cols};
  ld_ = cols;
  data_offset_ = scratch->Add(rows * cols * sizeof(float));
}

cudaError_t GemmSide::Prepare(void* memory, cudaStream_t stream) {
  char* const data = static_cast<char*>(memory) + data_offset_;
  char* const scale = static_cast<char*>(memory) + scale_offset_;
  if (bytes_.has_value()) {
    bytes_->to = data;
    data_ = data;
    const cudaError_t error = LaunchGemmBytes(*bytes_, stream);
    if (error != cudaSuccess) return error;
  }
  if (widen_.has_value()) {
    data_ = data;
    const cudaError_t error =
        LaunchGemmWiden(widen_->from, widen_->ld, widen_->rows, widen_->cols,
                        reinterpret_cast<float*>(data), stream);
    if (error != cudaSuccess) return error;
  }
  if (!reciprocals_.has_value()) return cudaSuccess;
  reciprocals_->to = reinterpret_cast<float*>(scale);
  scale_ = reciprocals_->to;
  return LaunchGemmReciprocals(*reciprocals_, stream);
}

}  // namespace octet::float8::internal
