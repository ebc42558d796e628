// SPDX-License-Identifier: Apache-2.0

// The variants of each loop against the scalar one, bit for bit.
#include "float8/simd/format_kernel.h"

#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "base/philox.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace octet::float8::internal {
namespace {

// Every kind of value: all exponents and both signs, then NaN and infinity.
template <typename T>
std::vector<T> Patterns(int64_t n) {
  const Philox random(1, 2);
  std::vector<T> values(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) {
    const uint32_t word = random.Words(static_cast<uint64_t>(i))[0];
    std::memcpy(&values[i], &word, sizeof(T));
  }
  return values;
}

template <typename T>
std::vector<T> AllSixteenBit() {
  std::vector<T> values(65536);
  for (int i = 0; i < 65536; ++i) values[i].bits = static_cast<uint16_t>(i);
  return values;
}

template <typename T>
std::vector<T> Inputs() {
  if constexpr (std::is_same_v<T, float>) {
    return Patterns<float>(200000);
  } else {
    return AllSixteenBit<T>();
  }
}

std::vector<float> Scales(size_t n) {
  const Philox random(3, 4);
  std::vector<float> scales(n);
  for (size_t i = 0; i < n; ++i) scales[i] = 1000.0f * random.Uniform(i);
  if (n > 3) scales[3] = 0.0f;
  if (n > 5) scales[5] = 4.48e14f;
  // Those that a fast path leaves to another.
  constexpr float kOdd[] = {-2.0f, 3e38f, 1e-40f, 1e-38f,
                            std::numeric_limits<float>::infinity()};
  for (size_t i = 0; n > 100 && i < 5; ++i) scales[7 + 2 * i] = kOdd[i];
  return scales;
}

template <typename T>
class EachType : public ::testing::Test {};
using Types = ::testing::Types<float, Bfloat16, Float16>;
TYPED_TEST_SUITE(EachType, Types);

constexpr int64_t kBlocks[] = {1, 7, 32, 128, 1 << 30};
// Lengths around every vector's, at an odd offset as well.
constexpr int64_t kLengths[] = {0, 1, 15, 16, 17, 31, 33, 63, 64, 65, 127, 200};

TYPED_TEST(EachType, EncodeIsTheSameOnAllInstructionSets) {
  const std::vector<TypeParam> in = Inputs<TypeParam>();
  const int64_t n = static_cast<int64_t>(in.size());
  const std::vector<float> scales = Scales(in.size());
  for (DType format : {DType::kF8E4M3, DType::kF8E5M2}) {
    for (Overflow overflow : {Overflow::kSaturate, Overflow::kNonFinite}) {
      for (Isa isa : UsableIsas()) {
        const auto& scalar =
            EncodeKernelsFor<TypeParam>(format, overflow, Isa::kScalar);
        const auto& kernels =
            EncodeKernelsFor<TypeParam>(format, overflow, isa);
        std::vector<uint8_t> want(in.size()), got(in.size());
        for (int64_t block : kBlocks) {
          scalar.encode_blocks(in.data(), n, block, scales.data(), want.data());
          kernels.encode_blocks(in.data(), n, block, scales.data(), got.data());
          ASSERT_EQ(got, want) << Name(isa) << " block " << block;
        }
        scalar.encode_columns(in.data(), n, scales.data(), want.data());
        kernels.encode_columns(in.data(), n, scales.data(), got.data());
        ASSERT_EQ(got, want) << Name(isa) << " columns";
      }
    }
  }
}

TYPED_TEST(EachType, ShortRowsWriteNothingElse) {
  const std::vector<TypeParam> in = Patterns<TypeParam>(300);
  const std::vector<float> scales = Scales(300);
  for (Isa isa : UsableIsas()) {
    const auto& kernels =
        EncodeKernelsFor<TypeParam>(DType::kF8E4M3, Overflow::kSaturate, isa);
    const auto& scalar = EncodeKernelsFor<TypeParam>(
        DType::kF8E4M3, Overflow::kSaturate, Isa::kScalar);
    for (int64_t n : kLengths) {
      for (int64_t block : kBlocks) {
        std::vector<uint8_t> want(302, 0xaa), got(302, 0xaa);
        scalar.encode_blocks(in.data() + 1, n, block, scales.data(),
                             want.data() + 1);
        kernels.encode_blocks(in.data() + 1, n, block, scales.data(),
                              got.data() + 1);
        ASSERT_EQ(got, want) << Name(isa) << " n " << n << " block " << block;
      }
    }
  }
}

// As integers, so that NaN compares.
std::vector<uint32_t> BitsOf(const std::vector<float>& values) {
  std::vector<uint32_t> bits(values.size());
  std::memcpy(bits.data(), values.data(), values.size() * sizeof(float));
  return bits;
}

TYPED_TEST(EachType, AmaxIsTheSameOnAllInstructionSets) {
  const std::vector<TypeParam> in = Inputs<TypeParam>();
  const int64_t n = static_cast<int64_t>(in.size());
  for (Isa isa : UsableIsas()) {
    const auto& scalar = AmaxKernelsFor<TypeParam>(Isa::kScalar);
    const auto& kernels = AmaxKernelsFor<TypeParam>(isa);
    for (int64_t block : kBlocks) {
      std::vector<float> want(in.size(), 0.0f), got(in.size(), 0.0f);
      scalar.blocks(in.data(), n, block, want.data());
      kernels.blocks(in.data(), n, block, got.data());
      ASSERT_EQ(BitsOf(got), BitsOf(want)) << Name(isa) << " block " << block;
    }
    std::vector<float> want = Scales(in.size()), got = want;
    scalar.columns(in.data(), n, want.data());
    kernels.columns(in.data(), n, got.data());
    ASSERT_EQ(BitsOf(got), BitsOf(want)) << Name(isa) << " columns";
  }
}

TYPED_TEST(EachType, DecodeIsTheSameOnAllInstructionSets) {
  const int64_t n = 100000;
  const Philox random(5, 6);
  std::vector<uint8_t> in(n);
  for (int64_t i = 0; i < n; ++i) {
    in[i] = static_cast<uint8_t>(random.Words(static_cast<uint64_t>(i))[0]);
  }
  const std::vector<float> multipliers = Scales(n);
  for (DType format : {DType::kF8E4M3, DType::kF8E5M2}) {
    for (Isa isa : UsableIsas()) {
      const auto& scalar = DecodeKernelsFor<TypeParam>(format, Isa::kScalar);
      const auto& kernels = DecodeKernelsFor<TypeParam>(format, isa);
      std::vector<TypeParam> want(n), got(n);
      const auto same = [&] {
        return std::memcmp(want.data(), got.data(), n * sizeof(TypeParam)) == 0;
      };
      for (int64_t block : kBlocks) {
        scalar.blocks(in.data(), n, block, multipliers.data(), want.data());
        kernels.blocks(in.data(), n, block, multipliers.data(), got.data());
        ASSERT_TRUE(same()) << Name(isa) << " block " << block;
      }
      scalar.columns(in.data(), n, multipliers.data(), want.data());
      kernels.columns(in.data(), n, multipliers.data(), got.data());
      ASSERT_TRUE(same()) << Name(isa) << " columns";
    }
  }
}

}  // namespace
}  // namespace octet::float8::internal
