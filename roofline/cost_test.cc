// SPDX-License-Identifier: Apache-2.0

#include "roofline/cost.h"

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "roofline/kernel_cost.h"
#include "testing/status_matchers.h"

namespace octet::roofline {
namespace {

using ::octet::testing::IsOk;
using ::octet::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<KernelCost> Cost(const LinearOptions& options) {
  const auto cost = LinearCost(options);
  EXPECT_THAT(cost, IsOk());
  return cost.ok() ? *cost : std::vector<KernelCost>();
}

LinearOptions Recipe(const std::string& recipe) {
  LinearOptions options;
  options.recipe = recipe;
  return options;
}

std::string Bytes(const LinearOptions& options, Operand operand) {
  return OverheadBytes(Cost(options), operand).ToString();
}

std::vector<std::string> Names(const LinearOptions& options) {
  std::vector<std::string> names;
  for (const KernelCost& kernel : Cost(options)) names.push_back(kernel.name);
  return names;
}

std::vector<std::string> Modes(const std::string& recipe) {
  std::vector<std::string> modes;
  for (const KernelCost& kernel : Cost(Recipe(recipe))) {
    if (kernel.part == "gemm") modes.push_back(kernel.mode);
  }
  return modes;
}

TEST(GemmCost, OfTheThreeMultiplications) {
  const KernelCost y = GemmCost(GemmRole::kOutput, "bf16", 2);
  EXPECT_EQ(y.bytes.ToString(), "2*M*K + 2*M*N + 2*K*N");
  EXPECT_EQ(y.flops.ToString(), "2*M*K*N");
  EXPECT_EQ(y.pass, Pass::kForward);
  const KernelCost dx = GemmCost(GemmRole::kGradInput, "tensor", 1);
  EXPECT_EQ(dx.bytes.ToString(), "2*M*K + M*N + K*N");
  EXPECT_THAT(dx.gemm, ElementsAre(Variable::kM, Variable::kN, Variable::kK));
  const KernelCost dw = GemmCost(GemmRole::kGradWeight, "tensor", 1, 0.5);
  EXPECT_EQ(dw.bytes.ToString(), "0.5*M*K + M*N + 2*K*N");
  EXPECT_THAT(dw.gemm, ElementsAre(Variable::kK, Variable::kM, Variable::kN));
  EXPECT_EQ(dw.pass, Pass::kBackward);
}

TEST(KernelCost, OfNormsActivationsAndCollectives) {
  EXPECT_EQ(NormCost(Pass::kForward).bytes.ToString(), "4*M*K");
  EXPECT_EQ(NormCost(Pass::kBackward).bytes.ToString(), "6*M*K");
  EXPECT_EQ(ActivationCost(Pass::kForward).bytes.ToString(), "6*M*N");
  EXPECT_EQ(ActivationCost(Pass::kBackward).bytes.ToString(), "10*M*N");
  const KernelCost gather = AllGatherCost(kK * kN, 2, 8);
  EXPECT_EQ(gather.wire_bytes.ToString(), "1.75*K*N");
  EXPECT_EQ(gather.bytes.ToString(), "2.25*K*N");
  EXPECT_EQ(ReduceScatterCost(kK * kN, 4, 4).wire_bytes.ToString(), "3*K*N");
  EXPECT_TRUE(AllGatherCost(kK * kN, 2, 1).wire_bytes.IsZero());
}

TEST(LinearCost, Bf16IsThreeMultiplications) {
  EXPECT_THAT(
      Names(Recipe("bf16")),
      ElementsAre("gemm output", "gemm grad_input", "gemm grad_weight"));
  EXPECT_EQ(TotalFlops(Cost(Recipe("bf16"))).ToString(), "6*M*K*N");
  EXPECT_EQ(TotalBytes(Cost(Recipe("bf16"))).ToString(),
            "6*M*K + 6*M*N + 6*K*N");
}

TEST(LinearCost, TensorwiseReadsTwiceAndWritesTwice) {
  LinearOptions options = Recipe("tensorwise");
  EXPECT_EQ(Bytes(options, Operand::kInput), "6*M*K + 4");
  EXPECT_EQ(Bytes(options, Operand::kWeight), "6*K*N + 4");
  EXPECT_EQ(Bytes(options, Operand::kGradOutput), "6*M*N + 4");
  EXPECT_EQ(TotalLaunches(Cost(options)), 9);
  options.fused_producer = true;
  EXPECT_EQ(Bytes(options, Operand::kInput), "4*M*K + 4");
  EXPECT_EQ(Bytes(options, Operand::kWeight), "6*K*N + 4");
  EXPECT_EQ(TotalLaunches(Cost(options)), 7);
}

TEST(LinearCost, DelayedReadsOnce) {
  LinearOptions options = Recipe("tensorwise_delayed");
  EXPECT_EQ(Bytes(options, Operand::kInput), "4*M*K + 4");
  EXPECT_EQ(TotalLaunches(Cost(options)), 6);
  options.fused_producer = true;
  EXPECT_EQ(Bytes(options, Operand::kInput), "2*M*K + 4");
  EXPECT_EQ(Bytes(options, Operand::kWeight), "4*K*N + 4");
  EXPECT_EQ(TotalLaunches(Cost(options)), 4);
}

TEST(LinearCost, RowsAreFoundOnTheChipAndColumnsAreNot) {
  LinearOptions options = Recipe("rowwise");
  EXPECT_EQ(Bytes(options, Operand::kInput), "6*M*K + 4*M + 4*K");
  EXPECT_EQ(Bytes(options, Operand::kWeight), "6*K*N + 4*K + 4*N");
  EXPECT_EQ(Bytes(options, Operand::kGradOutput), "6*M*N + 4*M + 4*N");
  options.recipe = "rowwise_gw_hp";
  EXPECT_EQ(Bytes(options, Operand::kInput), "3*M*K + 4*M");
  EXPECT_EQ(Bytes(options, Operand::kWeight), "6*K*N + 4*N + 4");
  EXPECT_EQ(Bytes(options, Operand::kGradOutput), "3*M*N + 4*M");
  options.fused_producer = true;
  EXPECT_EQ(Bytes(options, Operand::kInput), "M*K + 4*M");
}

TEST(LinearCost, BlocksAreReadOnce) {
  LinearOptions options = Recipe("blockwise");
  EXPECT_EQ(Bytes(options, Operand::kInput), "4.125*M*K");
  EXPECT_EQ(Bytes(options, Operand::kWeight), "4.0009765625*K*N");
  options.fused_producer = true;
  EXPECT_EQ(Bytes(options, Operand::kGradOutput), "2.125*M*N");
  options = Recipe("mxfp8");
  EXPECT_EQ(Bytes(options, Operand::kInput), "4.0625*M*K");
}

TEST(LinearCost, ModesOfMultiplications) {
  EXPECT_THAT(Modes("tensorwise"),
              ElementsAre("tensor_fast", "tensor", "tensor"));
  EXPECT_THAT(Modes("tensorwise_delayed"),
              ElementsAre("tensor_fast", "tensor", "tensor"));
  EXPECT_THAT(Modes("rowwise"), ElementsAre("row_fast", "row", "row"));
  EXPECT_THAT(Modes("rowwise_gw_hp"), ElementsAre("row_fast", "row", "bf16"));
  EXPECT_THAT(Modes("blockwise"),
              ElementsAre("block128", "block128", "block1x128"));
  EXPECT_THAT(Modes("mxfp8"), ElementsAre("mxfp8", "mxfp8", "mxfp8"));
}

TEST(LinearCost, WithoutSavedTransposesBackwardCastsAgain) {
  LinearOptions options = Recipe("tensorwise");
  options.saved_transposes = false;
  EXPECT_EQ(Bytes(options, Operand::kInput), "8*M*K + 4");
  EXPECT_EQ(Bytes(options, Operand::kGradOutput), "6*M*N + 4");
  EXPECT_THAT(
      Names(options),
      ElementsAre("amax input", "cast input", "amax weight", "cast weight",
                  "gemm output", "cast transposed weight", "amax grad_output",
                  "cast grad_output", "gemm grad_input",
                  "cast transposed input", "gemm grad_weight"));
  options.recipe = "rowwise";
  EXPECT_EQ(Bytes(options, Operand::kInput), "8*M*K + 4*M + 4*K");
  options.recipe = "rowwise_gw_hp";
  EXPECT_EQ(Bytes(options, Operand::kInput), "3*M*K + 4*M");
}

TEST(LinearCost, RecomputeRunsForwardAgain) {
  LinearOptions options = Recipe("tensorwise");
  options.recompute = true;
  options.norm = true;
  EXPECT_EQ(TotalFlops(Cost(options)).ToString(), "8*M*K*N");
  // Forward 2 + 3; again 4, with the amax kept.
  EXPECT_EQ(Bytes(options, Operand::kInput), "9*M*K + 8");
  EXPECT_EQ(Bytes(options, Operand::kWeight), "6*K*N + 4");
  EXPECT_THAT(
      Names(options),
      ElementsAre("norm", "amax input", "cast input", "amax weight",
                  "cast weight", "gemm output", "norm, again",
                  "cast input, again", "gemm output, again", "amax grad_output",
                  "cast grad_output", "gemm grad_input", "gemm grad_weight",
                  "norm gradient"));
  options.recipe = "bf16";
  EXPECT_EQ(TotalFlops(Cost(options)).ToString(), "8*M*K*N");
}

TEST(LinearCost, MicrobatchesShareTheCastOfWeights) {
  LinearOptions options = Recipe("tensorwise");
  options.microbatches = 4;
  EXPECT_EQ(Bytes(options, Operand::kWeight), "1.5*K*N + 1");
  EXPECT_EQ(Bytes(options, Operand::kInput), "6*M*K + 4");
  EXPECT_EQ(TotalLaunches(Cost(options)), 7.5);
}

TEST(LinearCost, GathersWeightsForBothPasses) {
  LinearOptions options = Recipe("bf16");
  options.gather = Gather::kBf16;
  options.ranks = 8;
  // Twice 2 bytes and once 4, of 7/8.
  EXPECT_EQ(TotalWireBytes(Cost(options)).ToString(), "7*K*N");
  options.recipe = "tensorwise";
  EXPECT_EQ(TotalWireBytes(Cost(options)).ToString(), "7*K*N");
  // Whole on each rank: amax 2 and cast 3 forward, 3 backward.
  EXPECT_EQ(Bytes(options, Operand::kWeight), "8*K*N + 4");
  options.gather = Gather::kFp8;
  EXPECT_EQ(TotalWireBytes(Cost(options)).ToString(), "5.25*K*N");
  // An eighth of 5, and the bytes' transposition.
  EXPECT_EQ(Bytes(options, Operand::kWeight), "2.625*K*N + 0.5");
  options.recipe = "rowwise";
  EXPECT_EQ(Bytes(options, Operand::kWeight), "2.75*K*N + 0.5*K + 0.5*N");
  options.gather = Gather::kBf16;
  options.recompute = true;
  options.recipe = "tensorwise";
  EXPECT_EQ(Bytes(options, Operand::kWeight), "9*K*N + 8");
}

TEST(LinearCost, TorchaoLimitsReadMore) {
  LinearOptions options = Recipe("tensorwise");
  options.model = CostModel::kPr668;
  EXPECT_EQ(Bytes(options, Operand::kInput), "4*M*K");
  EXPECT_EQ(Bytes(options, Operand::kWeight), "6*K*N");
  options.compile_limitations = true;
  EXPECT_EQ(Bytes(options, Operand::kInput), "5*M*K");
  EXPECT_EQ(Bytes(options, Operand::kWeight), "7*K*N");
  options.scaling_input = Scaling::kDelayed;
  EXPECT_EQ(Bytes(options, Operand::kInput), "5*M*K");
  options.compile_limitations = false;
  EXPECT_EQ(Bytes(options, Operand::kInput), "2*M*K");
}

TEST(LinearCost, EveryRecipeOfEveryModel) {
  for (const CostModel model : CostModels()) {
    for (const std::string& recipe : CostRecipes(model)) {
      LinearOptions options = Recipe(recipe);
      options.model = model;
      const std::vector<KernelCost> kernels = Cost(options);
      EXPECT_EQ(TotalFlops(kernels).ToString(), "6*M*K*N") << recipe;
      EXPECT_EQ(OverheadBytes(kernels, Operand::kInput).IsZero(),
                recipe == "bf16")
          << recipe;
    }
  }
  EXPECT_THAT(LinearCost(Recipe("rowwise_with_gw_hp")), IsOk());
}

TEST(LinearCost, RefusesWhatAModelDoesNotHave) {
  const auto bad = absl::StatusCode::kInvalidArgument;
  EXPECT_THAT(LinearCost(Recipe("foo")),
              StatusIs(bad, AllOf(HasSubstr("\"foo\""), HasSubstr("octet"),
                                  HasSubstr("bf16, tensorwise, "))));
  LinearOptions options = Recipe("blockwise");
  options.model = CostModel::kPr1789;
  EXPECT_THAT(LinearCost(options), StatusIs(bad, HasSubstr("mxfp8_cutlass")));
  options = Recipe("tensorwise");
  options.model = CostModel::kHead;
  options.recompute = true;
  EXPECT_THAT(
      LinearCost(options),
      StatusIs(bad, AllOf(HasSubstr("recompute is true"), HasSubstr("head"))));
  options = Recipe("tensorwise");
  options.compile_limitations = true;
  EXPECT_THAT(LinearCost(options),
              StatusIs(bad, HasSubstr("compile_limitations is true")));
  options = Recipe("tensorwise");
  options.scaling_weight = Scaling::kDelayed;
  EXPECT_THAT(LinearCost(options),
              StatusIs(bad, HasSubstr("scaling_weight is delayed")));
  options = Recipe("tensorwise");
  options.model = CostModel::kPr668;
  options.fused_producer = true;
  EXPECT_THAT(LinearCost(options),
              StatusIs(bad, HasSubstr("fused_producer is true")));
}

TEST(LinearCost, RefusesNumbersThatCannotBe) {
  const auto bad = absl::StatusCode::kInvalidArgument;
  LinearOptions options = Recipe("tensorwise");
  options.microbatches = 0;
  EXPECT_THAT(LinearCost(options), StatusIs(bad, HasSubstr("is 0")));
  options = Recipe("tensorwise");
  options.ranks = -1;
  EXPECT_THAT(LinearCost(options), StatusIs(bad, HasSubstr("ranks is -1")));
  options.ranks = 8;
  EXPECT_THAT(LinearCost(options), StatusIs(bad, HasSubstr("not gathered")));
  options = Recipe("bf16");
  options.gather = Gather::kFp8;
  EXPECT_THAT(LinearCost(options), StatusIs(bad, HasSubstr("bf16")));
}

TEST(Parse, ModelsAndScalings) {
  for (const CostModel model : CostModels()) {
    OCTET_ASSERT_OK_AND_ASSIGN(const CostModel parsed,
                               ParseCostModel(CostModelName(model)));
    EXPECT_EQ(parsed, model);
  }
  EXPECT_THAT(ParseCostModel("PR1"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("octet, pr668, pr1789, head")));
  OCTET_ASSERT_OK_AND_ASSIGN(const Scaling delayed, ParseScaling("delayed"));
  EXPECT_EQ(delayed, Scaling::kDelayed);
  EXPECT_THAT(ParseScaling("dynamic"), IsOk());
  EXPECT_THAT(ParseScaling("static"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("dynamic or delayed")));
}

}  // namespace
}  // namespace octet::roofline
