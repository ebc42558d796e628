// SPDX-License-Identifier: Apache-2.0
#include "fsdp/whole_param_store.h"

#include "base/float16.h"
#include "fsdp/param_store_conformance.h"
#include "testing/status_matchers.h"

namespace octet::fsdp {
namespace {

using ::octet::testing::IsOk;
using ::octet::testing::StatusIs;
using ::testing::HasSubstr;

ParamStoreWorld World(const char* name, DType compute, DType master,
                      std::vector<int64_t> transient_units = {}) {
  return {name, compute, master,
          [compute, transient_units](
              const std::vector<UnitSpec>& units,
              absl::FunctionRef<void(const RankOfTest&)> body) {
            WholeParamStoreOptions options{compute};
            options.transient_units = transient_units;
            OCTET_ASSERT_OK_AND_ASSIGN(
                const auto store,
                WholeParamStore::Create(Stream(), units, options));
            RankOfTest rank;
            rank.store = store.get();
            body(rank);
          }};
}

INSTANTIATE_TEST_SUITE_P(
    Whole, ParamStoreConformanceTest,
    ::testing::Values(World("f32", DType::kF32, DType::kF32),
                      World("bf16", DType::kBf16, DType::kF32),
                      World("transient", DType::kBf16, DType::kF32, {1}),
                      World("f64", DType::kF64, DType::kF64)),
    [](const auto& info) { return info.param.name; });

TEST(WholeParamStoreTest, F32WeightsAreTheMasters) {
  OCTET_ASSERT_OK_AND_ASSIGN(
      const auto store,
      WholeParamStore::Create(Stream(), {{"u", {{"w", Shape({2, 3})}}}},
                              {DType::kF32}));
  OCTET_ASSERT_OK_AND_ASSIGN(const auto weights, store->Acquire(0));
  EXPECT_EQ(weights[0].data(), store->shards()[0].master.data());
  EXPECT_EQ(weights[0].as<float>()[5], 0.0f);
  EXPECT_THAT(store->Release(0), IsOk());
}

TEST(WholeParamStoreTest, MatricesMayBeNarrow) {
  OCTET_ASSERT_OK_AND_ASSIGN(
      const auto store,
      WholeParamStore::Create(
          Stream(), {{"u", {{"w", Shape({2, 3})}, {"norm", Shape({3})}}}},
          {DType::kBf16, DType::kBf16, DType::kBf16}));
  const ParamShard& matrix = store->shards()[0];
  EXPECT_EQ(matrix.master.dtype(), DType::kBf16);
  EXPECT_EQ(matrix.gradient.dtype(), DType::kBf16);
  EXPECT_FALSE(matrix.weight.present());
  const ParamShard& vector = store->shards()[1];
  EXPECT_EQ(vector.master.dtype(), DType::kF32);
  EXPECT_EQ(vector.gradient.dtype(), DType::kF32);
  EXPECT_EQ(vector.weight.dtype(), DType::kBf16);
  OCTET_ASSERT_OK_AND_ASSIGN(const auto weights, store->Acquire(0));
  EXPECT_EQ(weights[0].data(), matrix.master.data());
  EXPECT_EQ(weights[1].data(), vector.weight.data());
  EXPECT_THAT(store->Release(0), IsOk());
}

// One unit's copies after the other's, made from the masters of the moment.
TEST(WholeParamStoreTest, TransientUnitsShareTheirCopies) {
  WholeParamStoreOptions options{DType::kBf16};
  options.transient_units = {0, 1};
  OCTET_ASSERT_OK_AND_ASSIGN(
      const auto store, WholeParamStore::Create(Stream(),
                                                {{"a", {{"x", Shape({1, 2})}}},
                                                 {"b", {{"y", Shape({1, 2})}}}},
                                                options));
  for (int64_t u = 0; u < 2; ++u) {
    EXPECT_FALSE(store->shards()[u].weight.present());
    store->shards()[u].master.as<float>()[0] = static_cast<float>(3 + u);
  }
  ASSERT_THAT(store->WeightsChanged(), IsOk());
  for (const int64_t u : {0, 1, 0}) {
    OCTET_ASSERT_OK_AND_ASSIGN(const auto weights, store->Acquire(u));
    EXPECT_EQ(ToFloat(weights[0].as<Bfloat16>()[0]), 3.0f + u);
    EXPECT_THAT(store->Acquire(1 - u),
                StatusIs(absl::StatusCode::kFailedPrecondition,
                         HasSubstr("which is acquired")));
    OCTET_ASSERT_OK_AND_ASSIGN(const auto vectors,
                               store->AcquireVectors(1 - u));
    EXPECT_EQ(vectors.size(), 1u);
    EXPECT_THAT(store->Release(1 - u), IsOk());
    EXPECT_THAT(store->Release(u), IsOk());
  }
}

TEST(WholeParamStoreTest, NoUnitsAndEmptyParameters) {
  EXPECT_THAT(WholeParamStore::Create(Stream(), {}, {DType::kF32}), IsOk());
  OCTET_ASSERT_OK_AND_ASSIGN(
      const auto store,
      WholeParamStore::Create(Stream(), {{"u", {{"w", Shape({0, 3})}}}},
                              {DType::kBf16}));
  EXPECT_THAT(store->WeightsChanged(), IsOk());
  EXPECT_THAT(store->ZeroGradients(), IsOk());
}

TEST(WholeParamStoreTest, CreateRefuses) {
  EXPECT_THAT(
      WholeParamStore::Create(
          Stream(), {{"u", {{"w", Shape({2})}}}, {"v", {{"w", Shape({2})}}}},
          {DType::kF32}),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("'w' is given twice")));
  EXPECT_THAT(WholeParamStore::Create(Stream(), {}, {DType::kI32}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("i32")));
  EXPECT_THAT(
      WholeParamStore::Create(Stream(), {}, {DType::kF32, DType::kBf16}),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("bf16 masters want compute bf16")));
  WholeParamStoreOptions options{DType::kBf16};
  options.transient_units = {2};
  EXPECT_THAT(
      WholeParamStore::Create(Stream(), {}, options),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("unit 2 of 0")));
}

TEST(WholeParamStoreTest, ErrorsNameTheUnit) {
  OCTET_ASSERT_OK_AND_ASSIGN(
      const auto store,
      WholeParamStore::Create(Stream(), {{"layers.3", {}}}, {DType::kF32}));
  EXPECT_THAT(store->Release(0),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("unit 'layers.3' is not acquired")));
  EXPECT_THAT(store->Acquire(7), StatusIs(absl::StatusCode::kInvalidArgument,
                                          HasSubstr("unit 7 of 1 units")));
}

}  // namespace
}  // namespace octet::fsdp
