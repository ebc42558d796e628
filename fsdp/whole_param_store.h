// SPDX-License-Identifier: Apache-2.0

// The ParamStore of one rank: everything is here, whole.
//
//   compute f32:  weights are the f32 masters themselves
//   compute bf16: weights are bf16 masters, or rounded copies of f32 ones
//   compute f64:  masters and gradients are f64 too, for gradient checks
//
// Gradients(unit) gives the shards' gradients themselves, so Reduce has nothing
// to add. Weights and gradients begin as zeros. Memory is allocated at creation
// and stays where it is. Not thread-safe; work is queued on the stream.
#ifndef OCTET_FSDP_WHOLE_PARAM_STORE_H_
#define OCTET_FSDP_WHOLE_PARAM_STORE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/dtype.h"
#include "base/stream.h"
#include "base/tensor.h"
#include "fsdp/param_store.h"

namespace octet::fsdp {

struct WholeParamStoreOptions {
  DType compute_dtype = DType::kF32;
  // f32 or bf16, of matrices: vectors, which are few, stay f32. bf16 masters
  // want compute bf16. Not for f64.
  DType master_dtype = DType::kF32;
  DType gradient_dtype = DType::kF32;
  // Units whose copies share one piece of memory and are made again whenever
  // the unit is acquired: for weights that are read once a step, to cast them.
  // One of them may be acquired at a time.
  std::vector<int64_t> transient_units = {};
  // Gradients that lie in memory of the caller's, by parameter, of
  // gradient_dtype: they hold what they should from a unit's first Gradients
  // after ZeroGradients on, and the caller may use the memory before that. Not
  // for more than one microbatch then.
  std::map<std::string, TensorView> gradient_memory = {};
};

class WholeParamStore : public ParamStore {
 public:
  // InvalidArgument for a name given twice, a dtype that is not listed above or
  // a unit that is none.
  static absl::StatusOr<std::unique_ptr<WholeParamStore>> Create(
      const Stream& stream, std::vector<UnitSpec> units,
      const WholeParamStoreOptions& options);

  absl::Span<const UnitSpec> units() const override { return specs_; }
  absl::StatusOr<absl::Span<const TensorView>> Acquire(int64_t unit) override;
  absl::StatusOr<absl::Span<const TensorView>> AcquireVectors(
      int64_t unit) override;
  absl::Status Release(int64_t unit) override;
  absl::Span<const TensorView> WeightAmaxes(int64_t unit) const override;
  absl::StatusOr<UnitGradients> Gradients(int64_t unit) override;
  absl::Status Reduce(int64_t unit) override;
  absl::Span<const ParamShard> shards() const override { return shards_; }
  absl::Status ZeroGradients() override;
  absl::Status FinishGradients() override;
  absl::Status WeightsChanged() override;
  absl::Status MastersAndWeightsChanged() override;
  int64_t version() const override { return version_; }

 private:
  struct Unit {
    std::vector<TensorView> weights;
    std::vector<TensorView> masters;
    std::vector<TensorView> gradients;
    std::vector<TensorView> amaxes;
    bool is_transient = false;
    int64_t acquired = 0;
    bool gradients_open = false;
    bool gradients_fresh = false;
  };

  WholeParamStore(const Stream& stream, std::vector<UnitSpec> specs,
                  const WholeParamStoreOptions& options)
      : stream_(stream), specs_(std::move(specs)), options_(options) {}
  absl::Status AddUnits();
  absl::Status AllocateAmaxes();
  absl::Status AddParam(const ParamSpec& spec, Unit* unit);
  // Memory for the copies of transient units.
  absl::Status ShareCopies();
  absl::StatusOr<Unit*> FindUnit(int64_t unit, const char* call);
  absl::Status RefreshCopies(const Unit& unit, bool vectors_only);
  absl::Status NewVersion();

  Stream stream_;
  std::vector<UnitSpec> specs_;
  WholeParamStoreOptions options_;
  std::vector<Unit> units_;
  std::vector<ParamShard> shards_;
  std::vector<Tensor> memory_;
  Tensor amaxes_;          // f32, one for each matrix; absent for f64
  Tensor rounded_amaxes_;  // of the compute dtype; absent where that is f32
  int64_t num_amaxes_ = 0;
  const Unit* transient_ = nullptr;  // the one whose copies are in memory
  bool amaxes_known_ = false;
  int64_t version_ = 0;
};

}  // namespace octet::fsdp

#endif  // OCTET_FSDP_WHOLE_PARAM_STORE_H_
