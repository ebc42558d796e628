// SPDX-License-Identifier: Apache-2.0
#include "fsdp/param_store_conformance.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "base/status_macros.h"
#include "base/tensor.h"
#include "testing/numbers.h"
#include "testing/status_matchers.h"
#include "testing/tensor_matchers.h"
#include "testing/test_device.h"

namespace octet::fsdp {
namespace {

using ::octet::testing::BitwiseEq;
using ::octet::testing::IsOk;
using ::octet::testing::StatusIs;

// Rows that divide by no number of ranks, and fewer rows than ranks.
std::vector<UnitSpec> Units() {
  return {{"embed", {{"embed.weight", Shape({7, 3})}}},
          {"block",
           {{"block.up", Shape({5, 8})},
            {"block.norm", Shape({6})},
            {"block.one", Shape({1, 4})}}},
          {"head", {{"head.weight", Shape({16, 2})}}}};
}

// What element `i` of a whole parameter holds; no bf16 number, so that rounding
// shows.
double WeightAt(const std::string& name, int64_t i) {
  return static_cast<float>((static_cast<double>(i) - 3.0) / 3.0 +
                            static_cast<double>(name.size()));
}

std::vector<double> Values(const std::string& name, int64_t first, int64_t n,
                           double factor) {
  std::vector<double> values;
  for (int64_t i = 0; i < n; ++i) {
    values.push_back(factor * WeightAt(name, first + i));
  }
  return values;
}

int64_t FirstElement(const ParamShard& shard) {
  const int64_t rows =
      shard.global_shape.rank() == 0 ? 1 : shard.global_shape.dim(0);
  return rows == 0
             ? 0
             : shard.first_row * (shard.global_shape.num_elements() / rows);
}

absl::Status WriteValues(const Stream& stream, absl::Span<const double> values,
                         const TensorView& out) {
  OCTET_ASSIGN_OR_RETURN(
      const Tensor host,
      testing::FromDoubles(values, out.dtype(), out.shape()));
  OCTET_RETURN_IF_ERROR(Copy(stream, host, out));
  return stream.Synchronize();
}

// Masters become `factor` times the values of their parameter.
absl::Status SetMasters(const RankOfTest& rank, double factor) {
  for (const ParamShard& shard : rank.store->shards()) {
    OCTET_RETURN_IF_ERROR(
        WriteValues(rank.stream,
                    Values(shard.name, FirstElement(shard),
                           shard.master.num_elements(), factor),
                    shard.master));
  }
  return rank.store->WeightsChanged();
}

// Adds `factor` times the values of their parameter to a unit's gradients.
absl::Status AddGradients(const RankOfTest& rank, int64_t unit, double factor) {
  OCTET_ASSIGN_OR_RETURN(const auto gradients, rank.store->Gradients(unit));
  const std::vector<ParamSpec>& params = rank.store->units()[unit].params;
  for (size_t p = 0; p < params.size(); ++p) {
    const TensorView& gradient = gradients.views[p];
    OCTET_ASSIGN_OR_RETURN(const Tensor host,
                           testing::ToHost(rank.stream, gradient));
    OCTET_ASSIGN_OR_RETURN(std::vector<double> values,
                           testing::ToDoubles(host));
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = (gradients.fresh ? 0.0 : values[i]) +
                  factor * WeightAt(params[p].name, i);
    }
    OCTET_RETURN_IF_ERROR(WriteValues(rank.stream, values, gradient));
  }
  return absl::OkStatus();
}

void ExpectWeights(const RankOfTest& rank, int64_t unit, double factor,
                   DType dtype, absl::Span<const TensorView> weights) {
  const std::vector<ParamSpec>& params = rank.store->units()[unit].params;
  ASSERT_EQ(weights.size(), params.size());
  for (size_t p = 0; p < params.size(); ++p) {
    OCTET_ASSERT_OK_AND_ASSIGN(
        const Tensor expected,
        testing::FromDoubles(
            Values(params[p].name, 0, params[p].shape.num_elements(), factor),
            dtype, params[p].shape));
    OCTET_ASSERT_OK_AND_ASSIGN(const Tensor got,
                               testing::ToHost(rank.stream, weights[p]));
    EXPECT_THAT(got, BitwiseEq(expected)) << params[p].name;
  }
}

void ExpectShardGradients(const RankOfTest& rank, double factor) {
  ASSERT_THAT(rank.store->FinishGradients(), IsOk());
  for (const ParamShard& shard : rank.store->shards()) {
    OCTET_ASSERT_OK_AND_ASSIGN(
        const Tensor expected,
        testing::FromDoubles(Values(shard.name, FirstElement(shard),
                                    shard.gradient.num_elements(), factor),
                             shard.gradient.dtype(), shard.gradient.shape()));
    OCTET_ASSERT_OK_AND_ASSIGN(const Tensor got,
                               testing::ToHost(rank.stream, shard.gradient));
    EXPECT_EQ(testing::RelativeError(got, expected), 0.0) << shard.name;
  }
}

TEST_P(ParamStoreConformanceTest, ShardsTileEachParameterOnce) {
  std::mutex mutex;
  std::map<std::string, std::vector<std::pair<int64_t, int64_t>>> rows;
  GetParam().run(Units(), [&](const RankOfTest& rank) {
    ASSERT_EQ(rank.store->units().size(), Units().size());
    const std::lock_guard<std::mutex> lock(mutex);
    for (const ParamShard& shard : rank.store->shards()) {
      EXPECT_EQ(shard.master.dtype(), GetParam().master_dtype);
      EXPECT_EQ(shard.gradient.dtype(), GetParam().master_dtype);
      EXPECT_EQ(shard.gradient.shape(), shard.master.shape());
      ASSERT_EQ(shard.master.shape().rank(), shard.global_shape.rank());
      for (int d = 1; d < shard.global_shape.rank(); ++d) {
        EXPECT_EQ(shard.master.shape().dim(d), shard.global_shape.dim(d));
      }
      rows[shard.name].push_back(
          {shard.first_row, shard.master.shape().dim(0)});
    }
  });
  for (const UnitSpec& unit : Units()) {
    for (const ParamSpec& param : unit.params) {
      auto& boxes = rows[param.name];
      std::sort(boxes.begin(), boxes.end());
      int64_t next = 0;
      for (const auto& [first, count] : boxes) {
        if (count == 0) continue;
        EXPECT_EQ(first, next) << param.name;
        next = first + count;
      }
      EXPECT_EQ(next, param.shape.dim(0)) << param.name;
    }
  }
}

TEST_P(ParamStoreConformanceTest, AcquireGivesTheWholeRoundedWeights) {
  GetParam().run(Units(), [](const RankOfTest& rank) {
    for (const double factor : {1.0, -0.5}) {
      ASSERT_THAT(SetMasters(rank, factor), IsOk());
      for (int64_t u = 0; u < 3; ++u) {
        OCTET_ASSERT_OK_AND_ASSIGN(const auto weights, rank.store->Acquire(u));
        ExpectWeights(rank, u, factor, GetParam().compute_dtype, weights);
        ASSERT_THAT(rank.store->Release(u), IsOk());
      }
    }
  });
}

TEST_P(ParamStoreConformanceTest, AcquireNests) {
  GetParam().run(Units(), [](const RankOfTest& rank) {
    ASSERT_THAT(SetMasters(rank, 1.0), IsOk());
    OCTET_ASSERT_OK_AND_ASSIGN(const auto outer, rank.store->Acquire(1));
    OCTET_ASSERT_OK_AND_ASSIGN(const auto other, rank.store->Acquire(2));
    OCTET_ASSERT_OK_AND_ASSIGN(const auto inner, rank.store->Acquire(1));
    ExpectWeights(rank, 1, 1.0, GetParam().compute_dtype, inner);
    ASSERT_THAT(rank.store->Release(1), IsOk());
    ExpectWeights(rank, 1, 1.0, GetParam().compute_dtype, outer);
    ASSERT_THAT(rank.store->Release(1), IsOk());
    ExpectWeights(rank, 2, 1.0, GetParam().compute_dtype, other);
    ASSERT_THAT(rank.store->Release(2), IsOk());
    EXPECT_THAT(rank.store->Release(1),
                StatusIs(absl::StatusCode::kFailedPrecondition));
    EXPECT_THAT(rank.store->Release(0),
                StatusIs(absl::StatusCode::kFailedPrecondition));
  });
}

TEST_P(ParamStoreConformanceTest, GradientsAreTheMeanOverRanksAndAddUp) {
  GetParam().run(Units(), [](const RankOfTest& rank) {
    ASSERT_THAT(rank.store->ZeroGradients(), IsOk());
    ExpectShardGradients(rank, 0.0);
    // Ranks add 8 more than the mean and 8 less, in turns; the last of an odd
    // number adds the mean.
    const bool odd_one = rank.rank == rank.world_size - 1 && rank.rank % 2 == 0;
    const double offset = odd_one ? 0.0 : rank.rank % 2 == 0 ? 8.0 : -8.0;
    for (int microbatch = 0; microbatch < 2; ++microbatch) {
      for (int64_t u = 2; u >= 0; --u) {
        // In two parts, as a tied weight gets them.
        ASSERT_THAT(AddGradients(rank, u, 0.5), IsOk());
        ASSERT_THAT(AddGradients(rank, u, 0.5 + offset), IsOk());
        ASSERT_THAT(rank.store->Reduce(u), IsOk());
      }
    }
    if (rank.world_size == 1) {
      ExpectShardGradients(rank, 2.0 * (1.0 + offset));
    } else {
      ASSERT_THAT(rank.store->FinishGradients(), IsOk());
      for (const ParamShard& shard : rank.store->shards()) {
        OCTET_ASSERT_OK_AND_ASSIGN(
            const Tensor expected,
            testing::FromDoubles(Values(shard.name, FirstElement(shard),
                                        shard.gradient.num_elements(), 2.0),
                                 shard.gradient.dtype(),
                                 shard.gradient.shape()));
        OCTET_ASSERT_OK_AND_ASSIGN(
            const Tensor got, testing::ToHost(rank.stream, shard.gradient));
        EXPECT_LT(testing::RelativeError(got, expected), 1e-5) << shard.name;
      }
    }
    ASSERT_THAT(rank.store->ZeroGradients(), IsOk());
    ExpectShardGradients(rank, 0.0);
  });
}

// Garbage in what is fresh must not count.
TEST_P(ParamStoreConformanceTest, UnitsThatNobodyAskedForAreZero) {
  GetParam().run(Units(), [](const RankOfTest& rank) {
    for (int64_t u = 0; u < 3; ++u) {
      ASSERT_THAT(AddGradients(rank, u, 5.0), IsOk());
      ASSERT_THAT(rank.store->Reduce(u), IsOk());
    }
    ASSERT_THAT(rank.store->ZeroGradients(), IsOk());
    ASSERT_THAT(AddGradients(rank, 1, 0.0), IsOk());
    ASSERT_THAT(rank.store->Reduce(1), IsOk());
    ExpectShardGradients(rank, 0.0);
  });
}

TEST_P(ParamStoreConformanceTest, ZeroGradientsForgetsWhatWasNotReduced) {
  GetParam().run(Units(), [](const RankOfTest& rank) {
    ASSERT_THAT(AddGradients(rank, 1, 3.0), IsOk());
    ASSERT_THAT(rank.store->ZeroGradients(), IsOk());
    EXPECT_THAT(rank.store->Reduce(1),
                StatusIs(absl::StatusCode::kFailedPrecondition));
    ASSERT_THAT(AddGradients(rank, 1, 0.0), IsOk());
    ASSERT_THAT(rank.store->Reduce(1), IsOk());
    ExpectShardGradients(rank, 0.0);
  });
}

TEST_P(ParamStoreConformanceTest, VersionMovesWithTheWeights) {
  GetParam().run(Units(), [](const RankOfTest& rank) {
    const int64_t before = rank.store->version();
    ASSERT_THAT(rank.store->Acquire(0), IsOk());
    EXPECT_THAT(rank.store->WeightsChanged(),
                StatusIs(absl::StatusCode::kFailedPrecondition));
    ASSERT_THAT(rank.store->Release(0), IsOk());
    EXPECT_EQ(rank.store->version(), before);
    ASSERT_THAT(rank.store->WeightsChanged(), IsOk());
    EXPECT_NE(rank.store->version(), before);
  });
}

TEST_P(ParamStoreConformanceTest, WrongUnitsAndOrdersAreErrors) {
  GetParam().run(Units(), [](const RankOfTest& rank) {
    const auto invalid = StatusIs(absl::StatusCode::kInvalidArgument);
    for (const int64_t unit : {int64_t{-1}, int64_t{3}}) {
      EXPECT_THAT(rank.store->Acquire(unit), invalid);
      EXPECT_THAT(rank.store->Release(unit), invalid);
      EXPECT_THAT(rank.store->Gradients(unit), invalid);
      EXPECT_THAT(rank.store->Reduce(unit), invalid);
    }
    EXPECT_THAT(rank.store->Reduce(0),
                StatusIs(absl::StatusCode::kFailedPrecondition));
    ASSERT_THAT(AddGradients(rank, 0, 1.0), IsOk());
    ASSERT_THAT(rank.store->Reduce(0), IsOk());
    EXPECT_THAT(rank.store->Reduce(0),
                StatusIs(absl::StatusCode::kFailedPrecondition));
  });
}

}  // namespace
}  // namespace octet::fsdp
