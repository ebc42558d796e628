// SPDX-License-Identifier: Apache-2.0
#include "fsdp/whole_param_store.h"

#include "fsdp/param_store_conformance.h"
#include "testing/status_matchers.h"

namespace octet::fsdp {
namespace {

using ::octet::testing::IsOk;
using ::octet::testing::StatusIs;
using ::testing::HasSubstr;

ParamStoreWorld World(const char* name, DType compute, DType master) {
  return {name, compute, master,
          [compute](const std::vector<UnitSpec>& units,
                    absl::FunctionRef<void(const RankOfTest&)> body) {
            OCTET_ASSERT_OK_AND_ASSIGN(
                const auto store,
                WholeParamStore::Create(Stream(), units, compute));
            RankOfTest rank;
            rank.store = store.get();
            body(rank);
          }};
}

INSTANTIATE_TEST_SUITE_P(
    Whole, ParamStoreConformanceTest,
    ::testing::Values(World("f32", DType::kF32, DType::kF32),
                      World("bf16", DType::kBf16, DType::kF32),
                      World("f64", DType::kF64, DType::kF64)),
    [](const auto& info) { return info.param.name; });

TEST(WholeParamStoreTest, F32WeightsAreTheMasters) {
  OCTET_ASSERT_OK_AND_ASSIGN(
      const auto store,
      WholeParamStore::Create(Stream(), {{"u", {{"w", Shape({2, 3})}}}},
                              DType::kF32));
  OCTET_ASSERT_OK_AND_ASSIGN(const auto weights, store->Acquire(0));
  EXPECT_EQ(weights[0].data(), store->shards()[0].master.data());
  EXPECT_EQ(weights[0].as<float>()[5], 0.0f);
  EXPECT_THAT(store->Release(0), IsOk());
}

TEST(WholeParamStoreTest, NoUnitsAndEmptyParameters) {
  EXPECT_THAT(WholeParamStore::Create(Stream(), {}, DType::kF32), IsOk());
  OCTET_ASSERT_OK_AND_ASSIGN(
      const auto store,
      WholeParamStore::Create(Stream(), {{"u", {{"w", Shape({0, 3})}}}},
                              DType::kBf16));
  EXPECT_THAT(store->WeightsChanged(), IsOk());
  EXPECT_THAT(store->ZeroGradients(), IsOk());
}

TEST(WholeParamStoreTest, CreateRefuses) {
  EXPECT_THAT(
      WholeParamStore::Create(
          Stream(), {{"u", {{"w", Shape({2})}}}, {"v", {{"w", Shape({2})}}}},
          DType::kF32),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("'w' is given twice")));
  EXPECT_THAT(WholeParamStore::Create(Stream(), {}, DType::kI32),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("i32")));
}

TEST(WholeParamStoreTest, ErrorsNameTheUnit) {
  OCTET_ASSERT_OK_AND_ASSIGN(
      const auto store,
      WholeParamStore::Create(Stream(), {{"layers.3", {}}}, DType::kF32));
  EXPECT_THAT(store->Release(0),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("unit 'layers.3' is not acquired")));
  EXPECT_THAT(store->Acquire(7), StatusIs(absl::StatusCode::kInvalidArgument,
                                          HasSubstr("unit 7 of 1 units")));
}

}  // namespace
}  // namespace octet::fsdp
