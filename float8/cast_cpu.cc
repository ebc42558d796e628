// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <type_traits>
#include <vector>

#include "base/float16.h"
#include "base/simd.h"
#include "base/status_macros.h"
#include "float8/amax_kernel.h"
#include "float8/cast_kernel.h"
#include "float8/simd/format_kernel.h"
#include "float8/format_traits.h"
#include "float8/tile_kernel.h"

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
  Caster(const TensorView& in, const CastPlan& plan, const TensorView& data)
      : in_(in.as<T>()),
        out_(data.as<uint8_t>()),
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
void DequantizeTo(const TensorView& data, const float* scale,
                  Granularity granularity, const TensorView& out) {
  const TileWalk walk(granularity, data.rows(), data.cols());
  const DecodeKernels<T>& kernels =
      DecodeKernelsFor<T>(data.dtype(), BestIsa());
  walk.ForEach([&](const Piece& piece) {
    std::vector<float> reciprocal(walk.num_scales(piece));
    for (size_t i = 0; i < reciprocal.size(); ++i) {
      reciprocal[i] = 1.0f / scale[piece.scale + static_cast<int64_t>(i)];
    }
    for (int64_t row = piece.row; row < piece.row_end; ++row) {
      const int64_t i = ElementIndex(row, data.cols(), piece.col);
      if (walk.by_column()) {
        kernels.columns(data.as<uint8_t>() + i, piece.cols(), reciprocal.data(),
                        out.as<T>() + i);
      } else {
        kernels.blocks(data.as<uint8_t>() + i, piece.cols(), walk.block(piece),
                       reciprocal.data(), out.as<T>() + i);
      }
    }
  });
}

}  // namespace

absl::Status CastCpu(const Stream& stream, const TensorView& in,
                     const CastPlan& plan, const TensorView& data,
                     const TensorView& scale) {
  float* const scales = scale.as<float>();
  // An empty matrix has no pieces, but may have scales.
  const TileWalk walk(plan.granularity, in.rows(), in.cols());
  if (walk.local() && !in.empty()) {
    ForType(in.dtype(), [&](auto* type) {
      const Caster<std::remove_pointer_t<decltype(type)>> caster(in, plan,
                                                                 data);
      caster.walk().ForEach([&](const Piece& piece) {
        caster.CastLocal(piece, scales + piece.scale);
      });
    });
    return absl::OkStatus();
  }
  OCTET_RETURN_IF_ERROR(AmaxCpu(stream, in, plan.granularity, scale));
  for (int64_t i = 0; i < scale.num_elements(); ++i) {
    scales[i] = ScaleFor(scales[i], plan.dtype, plan.rounding);
  }
  return CastWithScaleCpu(stream, in, scale, plan, TensorView(), data);
}

absl::Status CastWithScaleCpu(const Stream& stream, const TensorView& in,
                              const TensorView& scale, const CastPlan& plan,
                              const TensorView& amax, const TensorView& data) {
  if (amax.data() != nullptr) {
    OCTET_RETURN_IF_ERROR(AmaxCpu(stream, in, plan.granularity, amax));
  }
  ForType(in.dtype(), [&](auto* type) {
    const Caster<std::remove_pointer_t<decltype(type)>> caster(in, plan, data);
    caster.walk().ForEach([&](const Piece& piece) {
      caster.Encode(piece, scale.as<float>() + piece.scale);
    });
  });
  return absl::OkStatus();
}

absl::Status DequantizeCpu(const Stream&, const TensorView& data,
                           const TensorView& scale, Granularity granularity,
                           const TensorView& out) {
  ForType(out.dtype(), [&](auto* type) {
    DequantizeTo<std::remove_pointer_t<decltype(type)>>(data, scale.as<float>(),
                                                        granularity, out);
  });
  return absl::OkStatus();
}

}  // namespace octet::float8::internal
