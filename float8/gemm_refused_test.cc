// SPDX-License-Identifier: Apache-2.0

// What a GPU does not multiply is an error before anything is queued, with both
// sides and a way out. (The CPU multiplies all of it.)

#include <string>
#include <utility>
#include <vector>

#include "float8/gemm.h"
#include "float8/gemm_scales_fixture.h"
#include "gtest/gtest.h"
#include "testing/numbers.h"
#include "testing/status_matchers.h"

namespace octet::float8 {
namespace {

using octet::testing::FromDoubles;
using octet::testing::IsOk;
using octet::testing::StatusIs;
using octet::testing::ToDoubles;
using octet::testing::ToHost;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using G = Granularity;

class GemmRefusedTest : public GemmScalesTest {
 protected:
  void Expect(const GemmOperand& a, const GemmOperand& b,
              const GemmOptions& options, const std::string& side_a,
              const std::string& side_b, const std::string& way_out) {
    const Tensor out = OnDevice(*FromDoubles(
        std::vector<double>(128 * 128, 7.0), DType::kF32, Shape({128, 128})));
    const absl::Status status = Gemm(stream_, a, b, options, out);
    if (!IsGpu()) {
      EXPECT_THAT(status, IsOk());
      return;
    }
    EXPECT_THAT(status,
                StatusIs(absl::StatusCode::kUnimplemented,
                         AllOf(HasSubstr("a (" + side_a),
                               HasSubstr("b (" + side_b), HasSubstr(way_out))));
    EXPECT_THAT(*ToDoubles(*ToHost(stream_, out)), Each(7.0));
  }
  Quantized Make(G granularity) {
    return Quantise(Random(Shape({128, 128}), 1), granularity,
                    ScaleRounding::kExact, DType::kF8E4M3);
  }
};

TEST_F(GemmRefusedTest, PairsOfScales) {
  const std::vector<std::pair<G, G>> pairs = {
      {G::kBlock128x128, G::kBlock128x128},
      {G::kRow, G::kBlock1x128},
      {G::kBlock1x128, G::kRow},
      {G::kTensor, G::kBlock128x128},
      {G::kBlock1x32, G::kBlock1x32},
      {G::kBlock1x32, G::kTensor}};
  const std::vector<std::string> ways_out = {
      "1x128 along k",
      "both in blocks of 128, or both by row or tensor",
      "both in blocks of 128, or both by row or tensor",
      "both in blocks of 128, or both by row or tensor",
      "the CPU multiplies them",
      "the CPU multiplies them"};
  for (size_t i = 0; i < pairs.size(); ++i) {
    const Quantized a = Make(pairs[i].first), b = Make(pairs[i].second);
    Expect(OperandOf(a), OperandOf(b, Transpose::kYes), {},
           "f8_e4m3 by " + std::string(Name(pairs[i].first)),
           "f8_e4m3 by " + std::string(Name(pairs[i].second)), ways_out[i]);
  }
}

TEST_F(GemmRefusedTest, FastBlocks) {
  const Quantized a = Make(G::kBlock1x128), b = Make(G::kBlock128x128);
  GemmOptions options;
  options.accumulation = Accumulation::kFast;
  Expect(OperandOf(a), OperandOf(b, Transpose::kYes), options,
         "f8_e4m3 by 1x128", "f8_e4m3 by 128x128", "ask for precise");
}

TEST_F(GemmRefusedTest, OneSideQuantised) {
  const Quantized q = Make(G::kTensor);
  const Tensor plain = OnDevice(Random(Shape({128, 128}), 2));
  Expect(OperandOf(q), OperandOf(plain.view()), {}, "f8_e4m3 by tensor", "bf16",
         "quantise both or neither");
  Expect(OperandOf(plain.view()), OperandOf(q), {}, "bf16", "f8_e4m3 by tensor",
         "quantise both or neither");
}

}  // namespace
}  // namespace octet::float8
