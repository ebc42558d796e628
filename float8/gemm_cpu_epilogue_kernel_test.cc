// SPDX-License-Identifier: Apache-2.0

#include "float8/gemm_cpu_epilogue_kernel.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/float16.h"
#include "base/philox.h"
#include "base/simd.h"
#include "gtest/gtest.h"

namespace octet::float8::internal {
namespace {

constexpr int64_t kM = 5, kN = 37;  // no vector's multiple

std::vector<float> Normal(int64_t n, uint64_t seed) {
  std::vector<float> values(n);
  for (int64_t i = 0; i < n; ++i) values[i] = Philox(seed, 0).Normal(i);
  return values;
}

bool SameBits(float x, float y) {
  return std::memcmp(&x, &y, sizeof(x)) == 0 ||
         (std::isnan(x) && std::isnan(y));
}

// Every instruction set gives the bits of the formula, rounded step by step.
TEST(GemmEpilogueTest, FinishIsTheFormulaOnEveryIsa) {
  std::vector<float> sums = Normal(kM * kN, 1);
  sums[3] = std::numeric_limits<float>::quiet_NaN();
  sums[40] = std::numeric_limits<float>::infinity();
  const std::vector<float> row = Normal(kM, 2), col = Normal(kN, 3),
                           bias = Normal(kN, 4), old = Normal(kM * kN, 5);
  for (const Isa isa : UsableIsas()) {
    for (const float beta : {0.0f, 0.7f}) {
      for (const bool has_bias : {false, true}) {
        SCOPED_TRACE(absl::StrCat(Name(isa), " ", beta, " ", has_bias));
        Epilogue e;
        e.row = row.data();
        e.col = col.data();
        e.alpha = 1.3f;
        e.beta = beta;
        e.bias = has_bias ? bias.data() : nullptr;
        std::vector<float> out = old;
        std::vector<Bfloat16> narrow(kM * kN);
        for (int64_t i = 0; i < kM * kN; ++i) narrow[i] = ToBfloat16(old[i]);
        const std::vector<Bfloat16> old_narrow = narrow;
        const Shape shape({kM, kN});
        Finish(kM, kN, sums.data(), e,
               TensorView(out.data(), DType::kF32, shape), isa);
        Finish(kM, kN, sums.data(), e,
               TensorView(narrow.data(), DType::kBf16, shape), isa);
        for (int64_t i = 0; i < kM * kN; ++i) {
          const auto want = [&](float before) {
            volatile float value = row[i / kN] * col[i % kN];
            value = sums[i] * value;
            value = 1.3f * value;
            volatile float kept = beta * before;
            if (beta != 0.0f) value = value + kept;
            if (has_bias) value = value + bias[i % kN];
            return static_cast<float>(value);
          };
          EXPECT_TRUE(SameBits(out[i], want(old[i]))) << i;
          EXPECT_TRUE(
              SameBits(ToFloat(narrow[i]),
                       ToFloat(ToBfloat16(want(ToFloat(old_narrow[i]))))))
              << i;
        }
      }
    }
  }
}

TEST(GemmEpilogueTest, AddScaledIsTheFormulaOnEveryIsa) {
  const std::vector<float> part = Normal(kM * kN, 1), row = Normal(kM, 2),
                           col = Normal(kN, 3), old = Normal(kM * kN, 5);
  for (const Isa isa : UsableIsas()) {
    for (const WriteMode mode : {WriteMode::kOverwrite, WriteMode::kAdd}) {
      std::vector<float> total = old;
      AddScaled(kM, kN, part.data(), row.data(), col.data(), mode, total.data(),
                isa);
      for (int64_t i = 0; i < kM * kN; ++i) {
        volatile float value = row[i / kN] * col[i % kN];
        value = part[i] * value;
        if (mode == WriteMode::kAdd) value = old[i] + value;
        EXPECT_TRUE(SameBits(total[i], value)) << Name(isa) << " " << i;
      }
    }
  }
}

}  // namespace
}  // namespace octet::float8::internal
