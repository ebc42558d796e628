// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <type_traits>
#include <vector>

#include "base/float16.h"
#include "base/parallel.h"
#include "base/simd.h"
#include "base/status_macros.h"
#include "float8/amax_kernel.h"
#include "float8/cast_kernel.h"
#include "float8/format_traits.h"
#include "float8/simd/format_kernel.h"
#include "float8/tile_kernel.h"
#include "float8/transpose_kernel.h"

namespace octet::float8::internal {
namespace {

// Calls body with a null pointer of the dtype's storage type.
template <typename Body>
void ForType(DType dtype, Body body) {
  switch (dtype) {
    case DType::kBf16:
      return body(static_cast<Bfloat16*>(nullptr));
    case DType::kF16:
      return body(static_cast<Float16*>(nullptr));
    default:
      return body(static_cast<float*>(nullptr));
  }
}

template <typename T>
class Caster {
 public:
  Caster(const TensorView& in, const CastPlan& plan, uint8_t* out)
      : in_(in.as<T>()),
        out_(out),
        cols_(in.cols()),
        plan_(plan),
        walk_(plan.granularity, in.rows(), in.cols()),
        encode_(
            EncodeKernelsFor<T>(plan.dtype, Overflow::kSaturate, BestIsa())),
        amax_(AmaxKernelsFor<T>(BestIsa())) {}

  const TileWalk& walk() const { return walk_; }

  void Encode(const Piece& piece, const float* scale) const {
    for (int64_t row = piece.row; row < piece.row_end; ++row) {
      const int64_t i = ElementIndex(row, cols_, piece.col);
      if (walk_.by_column()) {
        encode_.encode_columns(in_ + i, piece.cols(), scale, out_ + i);
      } else {
        encode_.encode_blocks(in_ + i, piece.cols(), walk_.block(piece), scale,
                              out_ + i);
      }
    }
  }

  // All of a piece whose tiles it holds: amax, scales, bytes.
  void CastLocal(const Piece& piece, float* scale) const {
    const int64_t n = walk_.num_scales(piece);
    std::fill(scale, scale + n, 0.0f);
    for (int64_t row = piece.row; row < piece.row_end; ++row) {
      const T* first = in_ + ElementIndex(row, cols_, piece.col);
      if (walk_.by_column()) {
        amax_.columns(first, piece.cols(), scale);
      } else {
        amax_.blocks(first, piece.cols(), walk_.block(piece), scale);
      }
    }
    ToScales(scale, n);
    Encode(piece, scale);
  }

  void ToScales(float* amax, int64_t n) const {
    for (int64_t i = 0; i < n; ++i) {
      amax[i] = ScaleFor(amax[i], plan_.dtype, plan_.rounding);
    }
  }

 private:
  const T* in_;
  uint8_t* out_;
  int64_t cols_;
  CastPlan plan_;
  TileWalk walk_;
  const EncodeKernels<T>& encode_;
  const AmaxKernels<T>& amax_;
};

template <typename T>
void DequantizeTo(const uint8_t* data, const CastPlan& plan, const float* scale,
                  const TensorView& out) {
  const TileWalk walk(plan.granularity, out.rows(), out.cols());
  const DecodeKernels<T>& kernels = DecodeKernelsFor<T>(plan.dtype, BestIsa());
  walk.ForEach([&](const Piece& piece) {
    std::vector<float> reciprocal(walk.num_scales(piece));
    for (size_t i = 0; i < reciprocal.size(); ++i) {
      reciprocal[i] = 1.0f / scale[piece.scale + static_cast<int64_t>(i)];
    }
    for (int64_t row = piece.row; row < piece.row_end; ++row) {
      const int64_t i = ElementIndex(row, out.cols(), piece.col);
      if (walk.by_column()) {
        kernels.columns(data + i, piece.cols(), reciprocal.data(),
                        out.as<T>() + i);
      } else {
        kernels.blocks(data + i, piece.cols(), walk.block(piece),
                       reciprocal.data(), out.as<T>() + i);
      }
    }
  });
}

// The bytes by known scales.
void EncodeTo(const TensorView& in, const CastForm& form, uint8_t* out) {
  ForType(in.dtype(), [&](auto* type) {
    const Caster<std::remove_pointer_t<decltype(type)>> caster(in, form.plan,
                                                               out);
    caster.walk().ForEach([&](const Piece& piece) {
      caster.Encode(piece, form.scale.as<float>() + piece.scale);
    });
  });
}

// Scales and bytes.
absl::Status EncodeDynamic(const Stream& stream, const TensorView& in,
                           const CastForm& form, const TensorView& known_amax,
                           uint8_t* out) {
  const CastPlan& plan = form.plan;
  float* const scales = form.scale.as<float>();
  // An empty matrix has no pieces, but may have scales.
  const TileWalk walk(plan.granularity, in.rows(), in.cols());
  if (walk.local() && !in.empty() && known_amax.data() == nullptr) {
    ForType(in.dtype(), [&](auto* type) {
      const Caster<std::remove_pointer_t<decltype(type)>> caster(in, plan, out);
      caster.walk().ForEach([&](const Piece& piece) {
        caster.CastLocal(piece, scales + piece.scale);
      });
    });
    return absl::OkStatus();
  }
  if (known_amax.data() == nullptr) {
    OCTET_RETURN_IF_ERROR(AmaxCpu(stream, in, plan.granularity, form.scale));
  } else {
    OCTET_RETURN_IF_ERROR(Copy(stream, known_amax, form.scale));
  }
  for (int64_t i = 0; i < form.scale.num_elements(); ++i) {
    scales[i] = ScaleFor(scales[i], plan.dtype, plan.rounding);
  }
  EncodeTo(in, form, out);
  return absl::OkStatus();
}

// Calls `encode` with where the bytes go, and transposes them.
template <typename Encode>
absl::Status WriteForms(const TensorView& in, const CastForm& form,
                        Encode encode) {
  std::vector<uint8_t> own;
  uint8_t* bytes = form.data.as<uint8_t>();
  if (bytes == nullptr) {
    own.resize(in.num_elements());
    bytes = own.data();
  }
  OCTET_RETURN_IF_ERROR(encode(bytes));
  if (form.transposed.data() != nullptr) {
    TransposeBytes(bytes, in.rows(), in.cols(), form.transposed.as<uint8_t>());
  }
  return absl::OkStatus();
}

// In double, row after row.
void ColumnSum(const TensorView& in, const TensorView& out) {
  if (out.data() == nullptr) return;
  constexpr int64_t kGrain = 64;
  const int64_t rows = in.rows(), cols = in.cols();
  ForType(in.dtype(), [&](auto* type) {
    const auto* data = in.as<std::remove_pointer_t<decltype(type)>>();
    ParallelFor(cols, kGrain, [&](int64_t begin, int64_t end) {
      std::vector<double> sum(end - begin, 0.0);
      for (int64_t row = 0; row < rows; ++row) {
        for (int64_t col = begin; col < end; ++col) {
          sum[col - begin] += ToFloat(data[ElementIndex(row, cols, col)]);
        }
      }
      std::copy(sum.begin(), sum.end(), out.as<float>() + begin);
    });
  });
}

}  // namespace

absl::Status CastCpu(const Stream& stream, const TensorView& in,
                     absl::Span<const CastForm> forms,
                     const CastOptions& options) {
  for (const CastForm& form : forms) {
    OCTET_RETURN_IF_ERROR(WriteForms(in, form, [&](uint8_t* out) {
      return EncodeDynamic(stream, in, form, options.known_amax, out);
    }));
  }
  ColumnSum(in, options.column_sum);
  return absl::OkStatus();
}

absl::Status CastWithScaleCpu(const Stream& stream, const TensorView& in,
                              const CastForm& form,
                              const CastOptions& options) {
  if (options.seen_amax.data() != nullptr) {
    OCTET_RETURN_IF_ERROR(
        AmaxCpu(stream, in, form.plan.granularity, options.seen_amax));
  }
  OCTET_RETURN_IF_ERROR(WriteForms(in, form, [&](uint8_t* out) {
    EncodeTo(in, form, out);
    return absl::OkStatus();
  }));
  ColumnSum(in, options.column_sum);
  return absl::OkStatus();
}

absl::Status CastManyCpu(const Stream& stream,
                         absl::Span<const CastItem> items) {
  for (const CastItem& item : items) {
    OCTET_RETURN_IF_ERROR(CastCpu(
        stream, item.in, absl::MakeConstSpan(&item.form, 1), CastOptions()));
  }
  return absl::OkStatus();
}

absl::Status DequantizeCpu(const Stream&, const CastForm& form,
                           const TensorView& out) {
  std::vector<uint8_t> own;
  const uint8_t* data = form.data.as<uint8_t>();
  if (data == nullptr) {
    own.resize(out.num_elements());
    TransposeBytes(form.transposed.as<uint8_t>(), out.cols(), out.rows(),
                   own.data());
    data = own.data();
  }
  ForType(out.dtype(), [&](auto* type) {
    DequantizeTo<std::remove_pointer_t<decltype(type)>>(
        data, form.plan, form.scale.as<float>(), out);
  });
  return absl::OkStatus();
}

}  // namespace octet::float8::internal
