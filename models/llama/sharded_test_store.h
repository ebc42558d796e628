// SPDX-License-Identifier: Apache-2.0

// A store that holds one rank's rows of each parameter and nothing else: for
// what writes shards.
#ifndef OCTET_MODELS_LLAMA_SHARDED_TEST_STORE_H_
#define OCTET_MODELS_LLAMA_SHARDED_TEST_STORE_H_

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "fsdp/param_store.h"
#include "models/layers/test_tensors.h"

namespace octet::models {

class ShardedTestStore : public fsdp::ParamStore {
 public:
  // Rank r of n holds rows [r rows_per_rank, (r + 1) rows_per_rank).
  ShardedTestStore(std::vector<fsdp::UnitSpec> units, int64_t rank,
                   int64_t ranks)
      : units_(std::move(units)) {
    for (const fsdp::UnitSpec& unit : units_) {
      for (const fsdp::ParamSpec& param : unit.params) {
        const int64_t rows = param.shape.dim(0);
        const int64_t each = CeilDiv(rows, ranks);
        fsdp::ParamShard shard;
        shard.name = param.name;
        shard.global_shape = param.shape;
        shard.first_row = std::min(rows, rank * each);
        const int64_t mine = std::min(each, rows - shard.first_row);
        memory_.push_back(
            MakeZeros(DType::kF32, param.shape.rank() == 1
                                       ? Shape({mine})
                                       : Shape({mine, param.shape.dim(1)})));
        shard.master = memory_.back().view();
        shards_.push_back(shard);
      }
    }
  }

  absl::Span<const fsdp::UnitSpec> units() const override { return units_; }
  absl::StatusOr<absl::Span<const TensorView>> Acquire(int64_t) override {
    return absl::UnimplementedError("Acquire");
  }
  absl::Status Release(int64_t) override {
    return absl::UnimplementedError("Release");
  }
  absl::StatusOr<fsdp::UnitGradients> Gradients(int64_t) override {
    return absl::UnimplementedError("Gradients");
  }
  absl::Status Reduce(int64_t) override {
    return absl::UnimplementedError("Reduce");
  }
  absl::Span<const fsdp::ParamShard> shards() const override { return shards_; }
  absl::Status ZeroGradients() override { return absl::OkStatus(); }
  absl::Status WeightsChanged() override {
    ++version_;
    return absl::OkStatus();
  }
  int64_t version() const override { return version_; }

 private:
  std::vector<fsdp::UnitSpec> units_;
  std::vector<Tensor> memory_;
  std::vector<fsdp::ParamShard> shards_;
  int64_t version_ = 0;
};

}  // namespace octet::models

#endif  // OCTET_MODELS_LLAMA_SHARDED_TEST_STORE_H_
