// SPDX-License-Identifier: Apache-2.0

// The ParamStore of one rank: everything is here, whole.
//
//   compute f32:  weights are the f32 masters themselves
//   compute bf16: weights are rounded copies, made by WeightsChanged
//   compute f64:  masters and gradients are f64 too, for gradient checks
//
// Gradients(unit) gives the shards' gradients themselves, so Reduce has nothing
// to add. Weights and gradients begin as zeros. Memory is allocated at creation
// and stays where it is. Not thread-safe; work is queued on the stream.
#ifndef OCTET_FSDP_WHOLE_PARAM_STORE_H_
#define OCTET_FSDP_WHOLE_PARAM_STORE_H_

#include <cstdint>
#include <memory>
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

class WholeParamStore : public ParamStore {
 public:
  // InvalidArgument for a name given twice or another compute dtype.
  static absl::StatusOr<std::unique_ptr<WholeParamStore>> Create(
      const Stream& stream, std::vector<UnitSpec> units, DType compute_dtype);

  absl::Span<const UnitSpec> units() const override { return specs_; }
  absl::StatusOr<absl::Span<const TensorView>> Acquire(int64_t unit) override;
  absl::Status Release(int64_t unit) override;
  absl::StatusOr<absl::Span<const TensorView>> Gradients(int64_t unit) override;
  absl::Status Reduce(int64_t unit) override;
  absl::Span<const ParamShard> shards() const override { return shards_; }
  absl::Status ZeroGradients() override;
  absl::Status WeightsChanged() override;
  int64_t version() const override { return version_; }

 private:
  struct Unit {
    std::vector<TensorView> weights;
    std::vector<TensorView> gradients;
    int64_t acquired = 0;
    bool gradients_open = false;
  };

  WholeParamStore(const Stream& stream, std::vector<UnitSpec> specs)
      : stream_(stream), specs_(std::move(specs)) {}
  absl::Status AddParam(const ParamSpec& spec, DType compute_dtype, Unit* unit);
  absl::StatusOr<Unit*> FindUnit(int64_t unit, const char* call);

  Stream stream_;
  std::vector<UnitSpec> specs_;
  std::vector<Unit> units_;
  std::vector<ParamShard> shards_;
  std::vector<TensorView> weights_;  // parallel to shards_
  std::vector<Tensor> memory_;
  int64_t version_ = 0;
};

}  // namespace octet::fsdp

#endif  // OCTET_FSDP_WHOLE_PARAM_STORE_H_
