// SPDX-License-Identifier: Apache-2.0
#include "float8/format.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace octet::float8 {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

constexpr DType kE4M3 = DType::kF8E4M3;
constexpr DType kE5M2 = DType::kF8E5M2;
constexpr Overflow kSat = Overflow::kSaturate;
constexpr Overflow kNoSat = Overflow::kNonFinite;
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::vector<int> Bytes(const std::vector<float>& values, DType format,
                       Overflow overflow) {
  std::vector<uint8_t> bulk(values.size());
  Encode(absl::MakeConstSpan(values), format, overflow, absl::MakeSpan(bulk));
  std::vector<int> codes;
  for (size_t i = 0; i < values.size(); ++i) {
    const uint8_t one = Encode(values[i], format, overflow);
    EXPECT_EQ(one, bulk[i]) << values[i];
    EXPECT_EQ(one, Encode(static_cast<double>(values[i]), format, overflow))
        << values[i];
    codes.push_back(one);
  }
  return codes;
}

// CRC-32 as zlib and PNG define it.
uint32_t Crc32(const std::vector<uint8_t>& bytes) {
  uint32_t crc = 0xffffffffu;
  for (uint8_t byte : bytes) {
    crc ^= byte;
    for (int bit = 0; bit < 8; ++bit) {
      crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
    }
  }
  return ~crc;
}

template <typename T>
uint32_t CrcOfAllPatterns(DType format, Overflow overflow) {
  std::vector<T> in(65536);
  for (int i = 0; i < 65536; ++i) in[i].bits = static_cast<uint16_t>(i);
  std::vector<uint8_t> out(in.size());
  Encode(absl::MakeConstSpan(in), format, overflow, absl::MakeSpan(out));
  for (int i = 0; i < 65536; ++i) {
    EXPECT_EQ(out[i], Encode(ToFloat(in[i]), format, overflow)) << i;
  }
  return Crc32(out);
}

// Checksums of what cuda_fp8.h's host conversions give.
TEST(FormatTest, EverySixteenBitPattern) {
  EXPECT_EQ(Crc32({'1', '2', '3', '4', '5', '6', '7', '8', '9'}), 0xcbf43926u);
  EXPECT_EQ(CrcOfAllPatterns<Bfloat16>(kE4M3, kSat), 0x452a7ae4u);
  EXPECT_EQ(CrcOfAllPatterns<Bfloat16>(kE4M3, kNoSat), 0x3a170622u);
  EXPECT_EQ(CrcOfAllPatterns<Bfloat16>(kE5M2, kSat), 0x62c73e5eu);
  EXPECT_EQ(CrcOfAllPatterns<Bfloat16>(kE5M2, kNoSat), 0x5af1edefu);
  EXPECT_EQ(CrcOfAllPatterns<Float16>(kE4M3, kSat), 0x5f1b19ecu);
  EXPECT_EQ(CrcOfAllPatterns<Float16>(kE4M3, kNoSat), 0x1b1cdb40u);
  EXPECT_EQ(CrcOfAllPatterns<Float16>(kE5M2, kSat), 0xbcd08540u);
  EXPECT_EQ(CrcOfAllPatterns<Float16>(kE5M2, kNoSat), 0x25a88b7au);
}

// Case 1 (jax-ml/ml_dtypes#400, #260): 464 is the tie between 448 and the 480
// that e4m3fn does not have.
TEST(FormatTest, OverflowEdgeOfE4M3) {
  const std::vector<float> in = {
      448.0f, 449.0f, 456.0f, 464.0f, std::nextafter(464.0f, kInf),
      465.0f, 480.0f, 1e30f,  -1e30f, kInf,
      -kInf,  kNan};
  EXPECT_THAT(Bytes(in, kE4M3, kSat),
              ElementsAre(0x7e, 0x7e, 0x7e, 0x7e, 0x7e, 0x7e, 0x7e, 0x7e, 0xfe,
                          0x7e, 0xfe, 0x7f));
  EXPECT_THAT(Bytes(in, kE4M3, kNoSat),
              ElementsAre(0x7e, 0x7e, 0x7e, 0x7e, 0x7f, 0x7f, 0x7f, 0x7f, 0xff,
                          0x7f, 0xff, 0x7f));
}

// Case 2 (stillwater-sc/universal#1302).
TEST(FormatTest, OverflowEdgeOfE5M2) {
  const std::vector<float> in = {57344.0f, 58000.0f, 61439.0f, 61440.0f,
                                 65504.0f, 65536.0f, 1e30f,    -1e30f,
                                 kInf,     -kInf,    kNan};
  EXPECT_THAT(Bytes(in, kE5M2, kSat),
              ElementsAre(0x7b, 0x7b, 0x7b, 0x7b, 0x7b, 0x7b, 0x7b, 0xfb, 0x7b,
                          0xfb, 0x7f));
  EXPECT_THAT(Bytes(in, kE5M2, kNoSat),
              ElementsAre(0x7b, 0x7b, 0x7b, 0x7c, 0x7c, 0x7c, 0x7c, 0xfc, 0x7c,
                          0xfc, 0x7f));
}

// Case 3 (jax-ml/ml_dtypes#221).
TEST(FormatTest, TiesGoToEven) {
  EXPECT_THAT(
      Bytes({1.0625f, 1.1875f, 4.25f, 4.75f, 8.5f, 9.5f, 17.0f, 19.0f, -17.0f},
            kE4M3, kSat),
      ElementsAre(0x38, 0x3a, 0x48, 0x4a, 0x50, 0x52, 0x58, 0x5a, 0xd8));
  EXPECT_THAT(Bytes({1.125f, 1.375f, 1.625f, 4.5f, 5.5f, -1.125f}, kE5M2, kSat),
              ElementsAre(0x3c, 0x3e, 0x3e, 0x44, 0x46, 0xbc));
}

class EachFormat : public ::testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(FormatTest, EachFormat,
                         ::testing::Values(kE4M3, kE5M2));

// Case 3's rule, for every pair of neighbours and both signs.
TEST_P(EachFormat, MidpointsGoToEven) {
  const FormatTraits& traits = TraitsOf(GetParam());
  for (int code = 0; code < traits.max_code; ++code) {
    const float low = Decode(static_cast<uint8_t>(code), GetParam());
    const float high = Decode(static_cast<uint8_t>(code + 1), GetParam());
    const float mid = low + (high - low) / 2;
    const std::vector<float> around = {low, std::nextafter(mid, 0.0f), mid,
                                       std::nextafter(mid, kInf), high};
    std::vector<float> negative;
    for (float x : around) negative.push_back(-x);
    const int even = code + (code & 1);
    const std::vector<int> want = {code, code, even, code + 1, code + 1};
    std::vector<int> want_negative;
    for (int c : want) want_negative.push_back(c | 0x80);
    EXPECT_THAT(Bytes(around, GetParam(), kSat), ElementsAreArray(want));
    EXPECT_THAT(Bytes(negative, GetParam(), kNoSat),
                ElementsAreArray(want_negative));
  }
}

TEST_P(EachFormat, DecodeThenEncodeIsIdentity) {
  const FormatTraits& traits = TraitsOf(GetParam());
  std::vector<uint8_t> codes(256);
  for (int i = 0; i < 256; ++i) codes[i] = static_cast<uint8_t>(i);
  std::vector<float> values(256);
  std::vector<Bfloat16> brain(256);
  std::vector<Float16> half(256);
  Decode(codes, GetParam(), absl::MakeSpan(values));
  Decode(codes, GetParam(), absl::MakeSpan(brain));
  Decode(codes, GetParam(), absl::MakeSpan(half));
  for (int i = 0; i < 256; ++i) {
    const int magnitude = i & 0x7f;
    if (magnitude > traits.max_code &&
        !(traits.has_infinity && magnitude == traits.overflow_code)) {
      EXPECT_TRUE(std::isnan(values[i])) << i;
      EXPECT_TRUE(std::isnan(ToFloat(brain[i]))) << i;
      EXPECT_TRUE(std::isnan(ToFloat(half[i]))) << i;
      continue;
    }
    const float x = values[i];
    EXPECT_EQ(x, Decode(codes[i], GetParam()));
    EXPECT_EQ(x, ToFloat(brain[i]));
    EXPECT_EQ(x, ToFloat(half[i]));
    EXPECT_EQ(std::signbit(x), i >= 0x80) << i;
    EXPECT_EQ(Encode(x, GetParam(), kNoSat), i);
    // The value from the definition: (-1)^s 2^(e - bias) (1 + m / 2^bits).
    const int m = magnitude & ((1 << traits.mantissa_bits) - 1);
    const int e = magnitude >> traits.mantissa_bits;
    if (magnitude <= traits.max_code) {
      const double fraction = std::ldexp(m, -traits.mantissa_bits);
      const double want = e == 0 ? std::ldexp(fraction, 1 - traits.bias)
                                 : std::ldexp(1 + fraction, e - traits.bias);
      EXPECT_EQ(std::abs(x), want) << i;
    } else {
      EXPECT_EQ(std::abs(x), kInf) << i;
    }
  }
}

TEST_P(EachFormat, TraitsDescribeTheCodes) {
  const FormatTraits& traits = TraitsOf(GetParam());
  EXPECT_EQ(traits.exponent_bits + traits.mantissa_bits, 7);
  EXPECT_EQ(Decode(traits.max_code, GetParam()), traits.max);
  EXPECT_EQ(Decode(0x01, GetParam()), traits.smallest_subnormal);
  EXPECT_EQ(Decode(static_cast<uint8_t>(1 << traits.mantissa_bits), GetParam()),
            traits.min_normal);
  EXPECT_EQ(Encode(1e30f, GetParam(), kNoSat), traits.overflow_code);
  EXPECT_EQ(std::isinf(Decode(traits.overflow_code, GetParam())),
            traits.has_infinity);
}

// Case 4 (triton-lang/triton#2583, uxlfoundation/oneDNN#2361).
TEST(FormatTest, RoundsOnce) {
  EXPECT_EQ(Encode(1.0625f + 0x1p-20f, kE4M3), 0x39);
  EXPECT_EQ(Encode(1.1875f - 0x1p-20f, kE4M3), 0x39);
  EXPECT_EQ(Encode(464.0f + 0x1p-10f, kE4M3, kNoSat), 0x7f);
  EXPECT_EQ(Encode(0x1p-10f + 0x1p-30f, kE4M3), 0x01);
  EXPECT_EQ(Encode(1.0625 + 0x1p-30, kE4M3), 0x39);
  EXPECT_EQ(Encode(static_cast<float>(1.0625 + 0x1p-30), kE4M3), 0x38);
  EXPECT_EQ(Encode(-1.1875 + 0x1p-40, kE4M3), 0xb9);
  EXPECT_EQ(Encode(0x1p-10 + 0x1p-60, kE4M3), 0x01);
  EXPECT_EQ(Encode(464.0 + 0x1p-40, kE4M3, kNoSat), 0x7f);
  EXPECT_EQ(Encode(464.0 + 0x1p-40, kE4M3, kSat), 0x7e);
}

TEST(FormatTest, DoublesOutsideTheRangeOfFloat) {
  EXPECT_EQ(Encode(1e300, kE4M3), 0x7e);
  EXPECT_EQ(Encode(-1e300, kE4M3, kNoSat), 0xff);
  EXPECT_EQ(Encode(1e300, kE5M2, kNoSat), 0x7c);
  EXPECT_EQ(Encode(1e-300, kE4M3), 0x00);
  EXPECT_EQ(Encode(-1e-300, kE4M3), 0x80);
  EXPECT_EQ(Encode(std::nan(""), kE5M2, kNoSat), 0x7f);
}

// Case 5 (1bit-MONSTER/1bit-MONSTER#300).
TEST(FormatTest, SubnormalsDecode) {
  for (int m = 0; m < 8; ++m) {
    EXPECT_EQ(Decode(static_cast<uint8_t>(m), kE4M3), m * 0x1p-9f);
    EXPECT_EQ(Decode(static_cast<uint8_t>(m | 0x80), kE4M3), m * -0x1p-9f);
  }
  EXPECT_EQ(Decode(0x07, kE4M3), 0.013671875f);
  EXPECT_EQ(Decode(0x08, kE4M3), 0.015625f);
  EXPECT_EQ(Decode(0x01, kE5M2), 1.52587890625e-05f);
  EXPECT_EQ(Decode(0x02, kE5M2), 3.0517578125e-05f);
  EXPECT_EQ(Decode(0x03, kE5M2), 4.57763671875e-05f);
  EXPECT_EQ(Decode(0x04, kE5M2), 6.103515625e-05f);
}

// Case 7 (apache/tvm#20315).
TEST(FormatTest, SmallestValuesOfE5M2) {
  EXPECT_THAT(Bytes({0.0f, 0x1p-17f, std::nextafter(0x1p-17f, 1.0f), 0x1p-16f,
                     -0x1p-16f},
                    kE5M2, kSat),
              ElementsAre(0x00, 0x00, 0x01, 0x01, 0x81));
  EXPECT_EQ(Decode(0x00, kE5M2), 0.0f);
}

// Case 8 (microsoft/onnxruntime#18473, intel/llm-scaler#569).
TEST(FormatTest, NegativeZeroAndTinyNegatives) {
  const std::vector<float> in = {-0.0f, -1e-8f, -0x1p-10f, -0x1p-11f};
  EXPECT_THAT(Bytes(in, kE4M3, kSat), ElementsAre(0x80, 0x80, 0x80, 0x80));
  EXPECT_THAT(Bytes(in, kE5M2, kSat), ElementsAre(0x80, 0x80, 0x94, 0x90));
  EXPECT_EQ(Decode(0x80, kE4M3), 0.0f);
  EXPECT_TRUE(std::signbit(Decode(0x80, kE4M3)));
}

// Case 10 (stillwater-sc/universal#1351): one code for every NaN.
TEST_P(EachFormat, EveryNanIsNan) {
  for (uint32_t bits :
       {0x7fc00000u, 0xffc00000u, 0x7f800001u, 0xff800001u, 0x7fffffffu}) {
    float x;
    std::memcpy(&x, &bits, sizeof(x));
    EXPECT_THAT(Bytes(std::vector<float>(70, x), GetParam(), kSat),
                ::testing::Each(0x7f));
    EXPECT_THAT(Bytes(std::vector<float>(70, x), GetParam(), kNoSat),
                ::testing::Each(0x7f));
  }
}

// Case 11 (pytorch/pytorch#172767).
TEST(FormatTest, ConvertsBetweenTheFormats) {
  const std::vector<uint8_t> in = {0x7b, 0x5f, 0x60, 0x01, 0x14,
                                   0x15, 0x18, 0x7c, 0xfc};
  std::vector<uint8_t> out(in.size());
  Convert(in, kE5M2, kE4M3, kSat, absl::MakeSpan(out));
  EXPECT_THAT(
      out, ElementsAre(0x7e, 0x7e, 0x7e, 0x00, 0x00, 0x01, 0x01, 0x7e, 0xfe));
  Convert(in, kE5M2, kE4M3, kNoSat, absl::MakeSpan(out));
  EXPECT_THAT(
      out, ElementsAre(0x7f, 0x7e, 0x7f, 0x00, 0x00, 0x01, 0x01, 0x7f, 0xff));
  // From e4m3 only the mantissa is lost.
  EXPECT_EQ(Convert(0x39, kE4M3, kE5M2), 0x3c);
  EXPECT_EQ(Convert(0x01, kE4M3, kE5M2), 0x18);
  EXPECT_EQ(Convert(0xff, kE4M3, kE5M2), 0x7f);
  EXPECT_EQ(Convert(0x80, kE4M3, kE5M2), 0x80);
}

TEST(FormatTest, EmptySpans) {
  Encode(absl::Span<const float>(), kE4M3, kSat, {});
  Decode({}, kE4M3, absl::Span<float>());
  Convert({}, kE4M3, kE5M2, kSat, {});
}

}  // namespace
}  // namespace octet::float8
