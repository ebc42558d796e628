// SPDX-License-Identifier: Apache-2.0

// The CPU's scaled matrix multiplication: operands become plain matrices
// (exactly), a library multiplies, and the scales are applied to its sums.
//
// Scales that are powers of two go into the operand instead, which is exact as
// well and leaves nothing to do afterwards.

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/float16.h"
#include "base/parallel.h"
#include "base/simd.h"
#include "base/status_macros.h"
#include "float8/gemm_cpu_epilogue_kernel.h"
#include "float8/gemm_cpu_product_kernel.h"
#include "float8/gemm_kernel.h"
#include "float8/simd/format_kernel.h"

namespace octet::float8::internal {
namespace {

constexpr int64_t kConvertGrain = 16384;    // elements one core takes at a time
constexpr int64_t kPartElements = 1 << 17;  // of a block's part of the sums

bool IsTransposed(const GemmOperand& x) {
  return x.transpose == Transpose::kYes;
}

// 1 / scale, for each scale of an operand.
std::vector<float> Reciprocals(const GemmOperand& x) {
  const float* scale = x.scale.as<float>();
  std::vector<float> reciprocals(x.scale.num_elements());
  for (size_t i = 0; i < reciprocals.size(); ++i) {
    reciprocals[i] = 1.0f / scale[i];
  }
  return reciprocals;
}

// Whether q / scale is a bf16 value whatever the code q is: the scale is a
// power of two, not so far out that products leave f32's range. 2^127 is what
// e8m0 gives a tile of zeros.
bool IsExactInBf16(const GemmOperand& x) {
  if (!IsFloat8(x.data.dtype())) return true;
  const float* scale = x.scale.as<float>();
  return std::all_of(scale, scale + x.scale.num_elements(), [](float s) {
    int exponent;
    return std::frexp(s, &exponent) == 0.5f &&
           ((exponent > -60 && exponent <= 60) || s == 0x1p127f);
  });
}

// An operand as the library takes it, in its own orientation.
struct Prepared {
  Tensor memory;  // empty if the operand is used where it lies
  PlainMatrix matrix;
};

// Codes to T, each times the reciprocal of its tile (`reciprocals`, or all
// one).
template <typename T>
void DecodeAll(const GemmOperand& x, const std::vector<float>& reciprocals,
               T* out) {
  const int64_t rows = x.data.rows(), cols = x.data.cols();
  const auto& kernels = DecodeKernelsFor<T>(x.data.dtype(), BestIsa());
  const uint8_t* codes = x.data.as<uint8_t>();
  const Tile tile = reciprocals.empty() ? Tile{0, 0} : TileOf(x.granularity);
  const int64_t scales_across = tile.cols == 0 ? 1 : CeilDiv(cols, tile.cols);
  const float one = 1.0f;
  const float* multipliers = reciprocals.empty() ? &one : reciprocals.data();
  ParallelFor(rows, std::max<int64_t>(kConvertGrain / cols, 1),
              [&](int64_t begin, int64_t end) {
                for (int64_t i = begin; i < end; ++i) {
                  const float* m =
                      tile.rows == 0
                          ? multipliers
                          : multipliers + i / tile.rows * scales_across;
                  const uint8_t* in = codes + i * x.leading_dim;
                  if (tile.cols == 1) {
                    kernels.columns(in, cols, m, out + i * cols);
                  } else {
                    kernels.blocks(in, cols, tile.cols == 0 ? cols : tile.cols,
                                   m, out + i * cols);
                  }
                }
              });
}

void WidenBf16(const GemmOperand& x, float* out) {
  const int64_t rows = x.data.rows(), cols = x.data.cols();
  const Bfloat16* in = x.data.as<Bfloat16>();
  ParallelFor(rows, std::max<int64_t>(kConvertGrain / cols, 1),
              [&](int64_t begin, int64_t end) {
                for (int64_t i = begin; i < end; ++i) {
                  for (int64_t j = 0; j < cols; ++j) {
                    out[i * cols + j] = ToFloat(in[i * x.leading_dim + j]);
                  }
                }
              });
}

// `reciprocals` empty: the codes' own values.
absl::StatusOr<Prepared> Prepare(const GemmOperand& x, DType dtype,
                                 const std::vector<float>& reciprocals) {
  Prepared prepared;
  prepared.matrix.dtype = dtype;
  int64_t stride = x.leading_dim;
  if (x.data.dtype() == dtype) {
    prepared.matrix.data = x.data.data();
  } else {
    stride = x.data.cols();
    OCTET_ASSIGN_OR_RETURN(
        prepared.memory,
        Tensor::Allocate(dtype, Shape({x.data.rows(), x.data.cols()})));
    prepared.matrix.data = prepared.memory.view().data();
    if (x.data.dtype() == DType::kBf16) {
      WidenBf16(x, prepared.memory.as<float>());
    } else if (dtype == DType::kBf16) {
      DecodeAll(x, reciprocals, prepared.memory.as<Bfloat16>());
    } else {
      DecodeAll(x, reciprocals, prepared.memory.as<float>());
    }
  }
  prepared.matrix.row_stride = IsTransposed(x) ? 1 : stride;
  prepared.matrix.col_stride = IsTransposed(x) ? stride : 1;
  return prepared;
}

// The factors that an operand's scales put on the sums, by the index that
// stays (m for a, n for b) and the block of k.
class Factors {
 public:
  // `by_rows`: the index that stays counts the operand's own rows.
  Factors(const GemmOperand& x, bool by_rows, bool is_folded) {
    if (!IsFloat8(x.data.dtype()) || is_folded) return;
    reciprocals_ = Reciprocals(x);
    const Tile tile = TileOf(x.granularity);
    const int64_t across = x.scale.cols();
    index_tile_ = by_rows ? tile.rows : tile.cols;
    k_tile_ = by_rows ? tile.cols : tile.rows;
    index_stride_ = by_rows ? across : 1;
    k_stride_ = by_rows ? 1 : across;
  }

  // 0: the whole of k shares a scale.
  int64_t k_tile() const { return k_tile_; }

  // Of `count` indices from `begin`, for the block that holds k.
  std::vector<float> At(int64_t begin, int64_t count, int64_t k) const {
    std::vector<float> factors(count, 1.0f);
    if (reciprocals_.empty()) return factors;
    const float* row =
        reciprocals_.data() + (k_tile_ == 0 ? 0 : k / k_tile_ * k_stride_);
    for (int64_t i = 0; i < count; ++i) {
      factors[i] =
          row[index_tile_ == 0 ? 0 : (begin + i) / index_tile_ * index_stride_];
    }
    return factors;
  }

 private:
  std::vector<float> reciprocals_;
  int64_t index_tile_ = 0;
  int64_t index_stride_ = 0;
  int64_t k_tile_ = 0;
  int64_t k_stride_ = 0;
};

std::vector<float> BiasOf(const GemmArguments& g) {
  const TensorView& bias = g.options.bias;
  std::vector<float> values;
  if (bias.empty()) return values;
  values.resize(g.n);
  for (int64_t j = 0; j < g.n; ++j) {
    values[j] = bias.dtype() == DType::kF32    ? bias.as<float>()[j]
                : bias.dtype() == DType::kBf16 ? ToFloat(bias.as<Bfloat16>()[j])
                                               : ToFloat(bias.as<Float16>()[j]);
  }
  return values;
}

// Sums block by block along k, each scaled by its own factors. Some rows at a
// time, so that a block's part and the total stay in the cores' caches.
absl::Status SumBlocks(const GemmArguments& g, const PlainMatrix& a,
                       const PlainMatrix& b, const Factors& row,
                       const Factors& col, int64_t block, float* sums) {
  const int64_t rows =
      std::min(g.m, std::max<int64_t>(kPartElements / g.n, 64));
  OCTET_ASSIGN_OR_RETURN(const Tensor part,
                         Tensor::Allocate(DType::kF32, Shape({rows, g.n})));
  for (int64_t i = 0; i < g.m; i += rows) {
    const int64_t m = std::min(rows, g.m - i);
    for (int64_t k = 0; k < g.k; k += block) {
      OCTET_RETURN_IF_ERROR(Product(
          m, g.n, std::min(block, g.k - k), a.Offset(i, k), b.Offset(k, 0),
          WriteMode::kOverwrite, DType::kF32, part.as<float>(), g.n));
      AddScaled(m, g.n, part.as<float>(), row.At(i, m, k).data(),
                col.At(0, g.n, k).data(),
                k == 0 ? WriteMode::kOverwrite : WriteMode::kAdd,
                sums + i * g.n);
    }
  }
  return absl::OkStatus();
}

int64_t BlockAlongK(const Factors& row, const Factors& col, int64_t k) {
  int64_t block = k;
  for (const int64_t tile : {row.k_tile(), col.k_tile()}) {
    if (tile != 0) block = std::min(block, tile);
  }
  return block;
}

template <typename T>
double BiasF64(const TensorView& bias, int64_t j) {
  return ToFloat(bias.as<T>()[j]);
}

double BiasF64(const TensorView& bias, int64_t j) {
  switch (bias.dtype()) {
    case DType::kF64:
      return bias.as<double>()[j];
    case DType::kBf16:
      return BiasF64<Bfloat16>(bias, j);
    case DType::kF16:
      return BiasF64<Float16>(bias, j);
    default:
      return BiasF64<float>(bias, j);
  }
}

// For gradient checks: right, not fast.
void GemmF64(const GemmArguments& g) {
  const double* a = g.a.data.as<double>();
  const double* b = g.b.data.as<double>();
  double* out = g.out.as<double>();
  const int64_t a_row = IsTransposed(g.a) ? 1 : g.a.leading_dim;
  const int64_t a_col = IsTransposed(g.a) ? g.a.leading_dim : 1;
  const int64_t b_row = IsTransposed(g.b) ? 1 : g.b.leading_dim;
  const int64_t b_col = IsTransposed(g.b) ? g.b.leading_dim : 1;
  const double alpha = g.options.alpha, beta = g.options.beta;
  ParallelFor(g.m, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      for (int64_t j = 0; j < g.n; ++j) {
        double sum = 0.0;
        for (int64_t p = 0; p < g.k; ++p) {
          sum += a[i * a_row + p * a_col] * b[p * b_row + j * b_col];
        }
        double value = alpha * sum;
        double& slot = out[i * g.n + j];
        if (beta != 0.0) value += beta * slot;
        if (!g.options.bias.empty()) value += BiasF64(g.options.bias, j);
        slot = value;
      }
    }
  });
}

// How the work is split between the library and what comes before and after.
struct Split {
  DType dtype;    // of the plain matrices
  bool a_folded;  // scales go into the operand
  bool b_folded;
  bool is_product;   // the library's product is all there is to do
  bool sums_in_out;  // else sums wait in `out` for the epilogue
};

Split SplitOf(const GemmArguments& g) {
  const auto is_narrow = [](const GemmOperand& x) {
    return x.data.dtype() != DType::kF32;
  };
  Split split;
  split.dtype = is_narrow(g.a) && is_narrow(g.b) && HasBf16Products()
                    ? DType::kBf16
                    : DType::kF32;
  split.a_folded = IsExactInBf16(g.a);
  split.b_folded = IsExactInBf16(g.b);
  const bool f32_out = g.out.dtype() == DType::kF32;
  const float beta = g.options.beta;
  split.is_product = split.a_folded && split.b_folded && g.k > 0 &&
                     g.options.bias.empty() && g.options.alpha == 1.0f &&
                     (f32_out ? beta == 0.0f || beta == 1.0f
                              : beta == 0.0f && split.dtype == DType::kBf16 &&
                                    g.out.dtype() == DType::kBf16);
  split.sums_in_out = f32_out && beta == 0.0f;
  return split;
}

std::vector<float> FoldedReciprocals(const GemmOperand& x, bool is_folded) {
  if (!is_folded || !IsFloat8(x.data.dtype())) return {};
  return Reciprocals(x);
}

absl::Status MultiplyCpu(const GemmArguments& g) {
  const Split split = SplitOf(g);
  Tensor scratch;
  float* sums = g.out.as<float>();
  if (!split.is_product && !split.sums_in_out) {
    OCTET_ASSIGN_OR_RETURN(scratch,
                           Tensor::Allocate(DType::kF32, Shape({g.m, g.n})));
    sums = scratch.as<float>();
  }
  std::vector<float> row_factors(g.m, 1.0f), col_factors(g.n, 1.0f);
  if (g.k == 0) {
    std::fill(sums, sums + g.m * g.n, 0.0f);
  } else {
    OCTET_ASSIGN_OR_RETURN(
        const Prepared a,
        Prepare(g.a, split.dtype, FoldedReciprocals(g.a, split.a_folded)));
    OCTET_ASSIGN_OR_RETURN(
        const Prepared b,
        Prepare(g.b, split.dtype, FoldedReciprocals(g.b, split.b_folded)));
    if (split.is_product) {
      return Product(
          g.m, g.n, g.k, a.matrix, b.matrix,
          g.options.beta == 0.0f ? WriteMode::kOverwrite : WriteMode::kAdd,
          g.out.dtype(), g.out.data(), g.n);
    }
    const Factors row(g.a, !IsTransposed(g.a), split.a_folded);
    const Factors col(g.b, IsTransposed(g.b), split.b_folded);
    const int64_t block = BlockAlongK(row, col, g.k);
    if (block < g.k) {
      OCTET_RETURN_IF_ERROR(
          SumBlocks(g, a.matrix, b.matrix, row, col, block, sums));
    } else {
      OCTET_RETURN_IF_ERROR(Product(g.m, g.n, g.k, a.matrix, b.matrix,
                                    WriteMode::kOverwrite, DType::kF32, sums,
                                    g.n));
      row_factors = row.At(0, g.m, 0);
      col_factors = col.At(0, g.n, 0);
    }
  }
  const std::vector<float> bias = BiasOf(g);
  Epilogue epilogue;
  epilogue.row = row_factors.data();
  epilogue.col = col_factors.data();
  epilogue.alpha = g.options.alpha;
  epilogue.beta = g.options.beta;
  epilogue.bias = bias.empty() ? nullptr : bias.data();
  Finish(g.m, g.n, sums, epilogue, g.out);
  return absl::OkStatus();
}

bool HasData(const GemmOperand& x) { return x.data.data() != nullptr; }

// Of an operand that has its transpose alone: the bytes the right way round, in
// `memory`.
absl::Status MakeData(GemmOperand* x, Tensor* memory) {
  if (HasData(*x) || x->transposed.empty()) return absl::OkStatus();
  const int64_t rows = x->rows(), cols = x->cols();
  OCTET_ASSIGN_OR_RETURN(*memory,
                         Tensor::Allocate(x->dtype(), Shape({rows, cols})));
  const uint8_t* in = x->transposed.as<uint8_t>();
  uint8_t* out = memory->as<uint8_t>();
  ParallelFor(rows, std::max<int64_t>(kConvertGrain / cols, 1),
              [&](int64_t begin, int64_t end) {
                for (int64_t i = begin; i < end; ++i) {
                  for (int64_t j = 0; j < cols; ++j) {
                    out[i * cols + j] = in[j * rows + i];
                  }
                }
              });
  x->data = *memory;
  x->leading_dim = cols;
  return absl::OkStatus();
}

}  // namespace

absl::Status GemmCpu(const Stream&, const GemmArguments& g) {
  if (g.out.dtype() == DType::kF64) {
    GemmF64(g);
    return absl::OkStatus();
  }
  if (!HasData(g.a) || !HasData(g.b)) {
    GemmArguments whole = g;
    Tensor a, b;  // alive until the product is done
    OCTET_RETURN_IF_ERROR(MakeData(&whole.a, &a));
    OCTET_RETURN_IF_ERROR(MakeData(&whole.b, &b));
    return MultiplyCpu(whole);
  }
  return MultiplyCpu(g);
}

}  // namespace octet::float8::internal
