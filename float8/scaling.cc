// SPDX-License-Identifier: Apache-2.0
#include "float8/scaling.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "float8/format_traits.h"

namespace octet::float8 {
namespace {

struct GranularityInfo {
  Granularity granularity;
  absl::string_view name;
  Tile tile;
};

constexpr GranularityInfo kGranularities[] = {
    {Granularity::kTensor, "tensor", {0, 0}},
    {Granularity::kRow, "row", {1, 0}},
    {Granularity::kColumn, "column", {0, 1}},
    {Granularity::kBlock1x128, "1x128", {1, 128}},
    {Granularity::kBlock128x1, "128x1", {128, 1}},
    {Granularity::kBlock128x128, "128x128", {128, 128}},
    {Granularity::kBlock1x32, "1x32", {1, 32}},
    {Granularity::kBlock32x1, "32x1", {32, 1}},
};

const GranularityInfo& InfoOf(Granularity granularity) {
  return kGranularities[static_cast<int>(granularity)];
}

// Keeps 2^floor(log2(x)) of x >= 0 by dropping the mantissa, which is exact;
// exp2(floor(log2(x))) in f32 differs a few ulp below a power of two, where its
// log2 rounds up.
float FloorToPowerOfTwo(float x) {
  if (!std::isfinite(x)) return x;
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  bits &= 0x7f800000u;
  std::memcpy(&x, &bits, sizeof(x));
  return x;
}

uint32_t BitsOf(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  return bits;
}

// 2^-ceil(log2(amax / max)), in integers so that nothing rounds. The exponent
// of a zero or subnormal amax is so low that the clamp alone matters.
float E8m0Scale(float amax, float max) {
  if (std::isnan(amax)) return amax;
  if (std::isinf(amax)) return 0.0f;
  constexpr uint32_t kMantissa = 0x7fffffu;
  const uint32_t a = BitsOf(amax), m = BitsOf(max);
  const int exponent = static_cast<int>(a >> 23) - static_cast<int>(m >> 23) +
                       ((a & kMantissa) > (m & kMantissa) ? 1 : 0);
  if (exponent >= 127) return 0x1p-127f;
  const uint32_t bits = static_cast<uint32_t>(127 - std::max(exponent, -127))
                        << 23;
  float scale;
  std::memcpy(&scale, &bits, sizeof(scale));
  return scale;
}

}  // namespace

Tile TileOf(Granularity granularity) { return InfoOf(granularity).tile; }

Shape ScaleShape(Granularity granularity, int64_t rows, int64_t cols) {
  const Tile tile = TileOf(granularity);
  return Shape({tile.rows == 0 ? 1 : CeilDiv(rows, tile.rows),
                tile.cols == 0 ? 1 : CeilDiv(cols, tile.cols)});
}

Shape ReciprocalShape(Granularity granularity, int64_t rows, int64_t cols) {
  const auto padded = [](int64_t n) { return 4 * CeilDiv(n, 4); };
  switch (granularity) {
    case Granularity::kTensor:
      return Shape({1});
    case Granularity::kRow:
      return Shape({rows});
    case Granularity::kColumn:
      return Shape({cols});
    case Granularity::kBlock1x128:
      return Shape({CeilDiv(cols, 128), padded(rows)});
    case Granularity::kBlock128x1:
      return Shape({CeilDiv(rows, 128), padded(cols)});
    case Granularity::kBlock128x128:
      return Shape({CeilDiv(rows, 128), padded(CeilDiv(cols, 128))});
    case Granularity::kBlock1x32:
    case Granularity::kBlock32x1:
      break;
  }
  return Shape({0});
}

absl::string_view Name(Granularity granularity) {
  return InfoOf(granularity).name;
}

absl::StatusOr<Granularity> ParseGranularity(absl::string_view name) {
  for (const GranularityInfo& info : kGranularities) {
    if (info.name == name) return info.granularity;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "granularity \"", name, "\" is none of ",
      absl::StrJoin(kGranularities, ", ",
                    [](std::string* out, const GranularityInfo& info) {
                      absl::StrAppend(out, info.name);
                    })));
}

absl::string_view Name(ScaleRounding rounding) {
  switch (rounding) {
    case ScaleRounding::kExact:
      return "exact";
    case ScaleRounding::kPowerOfTwo:
      return "pow2";
    case ScaleRounding::kE8m0:
      return "e8m0";
  }
  return "?";
}

float ScaleFor(float amax, DType dtype, ScaleRounding rounding) {
  const float max = TraitsOf(dtype).max;
  if (rounding == ScaleRounding::kE8m0) return E8m0Scale(amax, max);
  if (std::isnan(amax)) return amax;
  // The floor keeps the scale of a zero or tiny tile finite. In double, so that
  // the one rounding is the conversion to f32.
  const double scale =
      static_cast<double>(max) / std::max(static_cast<double>(amax), 1e-12);
  const float exact = static_cast<float>(scale);
  return rounding == ScaleRounding::kPowerOfTwo ? FloorToPowerOfTwo(exact)
                                                : exact;
}

}  // namespace octet::float8
