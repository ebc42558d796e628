// SPDX-License-Identifier: Apache-2.0

// Where a model's parameters live: whole, or sharded over ranks.
//
// Parameters come in units, one per transformer block and one each for what
// stands before and after them. The model acquires a unit's whole weights in
// the compute dtype, uses them, releases them; adds to its whole gradients,
// then reduces them. It never sees a rank. The optimizer sees this rank's part:
// master weights and gradients, f32 unless the store was made otherwise. One
// step is: ZeroGradients; for each microbatch, for each unit Acquire, Release,
// then backward Acquire, Gradients, Reduce, Release; FinishGradients; the
// optimizer; WeightsChanged.
#ifndef OCTET_FSDP_PARAM_STORE_H_
#define OCTET_FSDP_PARAM_STORE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/shape.h"
#include "base/tensor.h"

namespace octet::fsdp {

struct ParamSpec {
  std::string name;  // Hugging Face's, e.g. model.layers.0.mlp.up_proj.weight
  Shape shape;
};

struct UnitSpec {
  std::string name;
  std::vector<ParamSpec> params;
};

// This rank's rows of one parameter: [first_row, first_row + rows) of dim 0.
struct ParamShard {
  std::string name;
  Shape global_shape;
  int64_t first_row = 0;
  TensorView master;    // f32 or bf16 [rows, ...]
  TensorView gradient;  // f32 or bf16, the same shape
  // The rows of the weights that the model reads, where these are copies that
  // an optimizer may write beside the masters; absent otherwise.
  TensorView weight = {};
  // f32 [1, 1]: the largest magnitude of `weight`, or of the master where there
  // is none, which an optimizer that calls MastersAndWeightsChanged writes;
  // absent where nobody wants it.
  TensorView amax = {};
};

// Whole gradients of a unit, in the order of its spec.
struct UnitGradients {
  absl::Span<const TensorView> views;
  // Nothing has been added yet, and what they hold counts for nothing: the
  // first part overwrites all of them, which spares filling them with zeros.
  bool fresh = false;
};

class ParamStore {
 public:
  virtual ~ParamStore() = default;

  virtual absl::Span<const UnitSpec> units() const = 0;

  // Whole weights of a unit, in the order of its spec; valid until Release.
  // Calls nest. FailedPrecondition for a Release without Acquire;
  // InvalidArgument, as in all calls below, for a unit that is none.
  virtual absl::StatusOr<absl::Span<const TensorView>> Acquire(
      int64_t unit) = 0;
  virtual absl::Status Release(int64_t unit) = 0;
  // The same where matrices are not wanted, because what was made of them is
  // still there: a store may then leave them absent.
  virtual absl::StatusOr<absl::Span<const TensorView>> AcquireVectors(
      int64_t unit) {
    return Acquire(unit);
  }

  // The amax of each of Acquire's weights, f32 [1, 1], in their order; absent
  // views where it is not known, an empty span where none is.
  virtual absl::Span<const TensorView> WeightAmaxes(int64_t) const {
    return {};
  }

  // May be asked for several times before Reduce; fresh the first time.
  virtual absl::StatusOr<UnitGradients> Gradients(int64_t unit) = 0;
  // This microbatch has added all it will to the unit's gradients: their mean
  // over the ranks is added to shards()' gradients. FailedPrecondition without
  // Gradients before it.
  virtual absl::Status Reduce(int64_t unit) = 0;

  virtual absl::Span<const ParamShard> shards() const = 0;
  // All gradients count as zero, also what was added and not yet reduced.
  virtual absl::Status ZeroGradients() = 0;
  // After the last microbatch: shards()' gradients can be read, those of units
  // that nobody asked for as zeros.
  virtual absl::Status FinishGradients() { return absl::OkStatus(); }
  // The master weights were written: refreshes what Acquire gives and moves
  // version() on. FailedPrecondition while a unit is acquired.
  virtual absl::Status WeightsChanged() = 0;
  // The same by whoever wrote shards()' weights and amaxes too, the weights
  // rounded to nearest.
  virtual absl::Status MastersAndWeightsChanged() { return WeightsChanged(); }
  // Changes whenever the weights may have: what caches made from them compare.
  virtual int64_t version() const = 0;
};

}  // namespace octet::fsdp

#endif  // OCTET_FSDP_PARAM_STORE_H_
