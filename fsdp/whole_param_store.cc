// SPDX-License-Identifier: Apache-2.0
#include "fsdp/whole_param_store.h"

#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/convert.h"
#include "base/status_macros.h"

namespace octet::fsdp {

absl::StatusOr<std::unique_ptr<WholeParamStore>> WholeParamStore::Create(
    const Stream& stream, std::vector<UnitSpec> units, DType compute_dtype) {
  if (compute_dtype != DType::kF32 && compute_dtype != DType::kBf16 &&
      compute_dtype != DType::kF64) {
    return absl::InvalidArgumentError(
        absl::StrCat("param store: the compute dtype must be f32, bf16 or f64, "
                     "is ",
                     Name(compute_dtype)));
  }
  // Not make_unique: the constructor is private.
  std::unique_ptr<WholeParamStore> store(
      new WholeParamStore(stream, std::move(units)));
  std::set<std::string> names;
  for (const UnitSpec& spec : store->specs_) {
    Unit& unit = store->units_.emplace_back();
    for (const ParamSpec& param : spec.params) {
      if (!names.insert(param.name).second) {
        return absl::InvalidArgumentError(absl::StrCat(
            "param store: parameter '", param.name, "' is given twice"));
      }
      OCTET_RETURN_IF_ERROR(store->AddParam(param, compute_dtype, &unit));
    }
  }
  return store;
}

absl::Status WholeParamStore::AddParam(const ParamSpec& spec,
                                       DType compute_dtype, Unit* unit) {
  const DType master_dtype =
      compute_dtype == DType::kF64 ? DType::kF64 : DType::kF32;
  ParamShard shard;
  shard.name = spec.name;
  shard.global_shape = spec.shape;
  OCTET_ASSIGN_OR_RETURN(Tensor master,
                         Tensor::Zeros(stream_, master_dtype, spec.shape));
  OCTET_ASSIGN_OR_RETURN(Tensor gradient,
                         Tensor::Zeros(stream_, master_dtype, spec.shape));
  shard.master = master;
  shard.gradient = gradient;
  memory_.push_back(std::move(master));
  memory_.push_back(std::move(gradient));
  TensorView weight = shard.master;
  if (compute_dtype != master_dtype) {
    OCTET_ASSIGN_OR_RETURN(Tensor copy,
                           Tensor::Zeros(stream_, compute_dtype, spec.shape));
    weight = copy;
    memory_.push_back(std::move(copy));
  }
  unit->weights.push_back(weight);
  unit->gradients.push_back(shard.gradient);
  weights_.push_back(weight);
  shards_.push_back(std::move(shard));
  return absl::OkStatus();
}

absl::StatusOr<WholeParamStore::Unit*> WholeParamStore::FindUnit(
    int64_t unit, const char* call) {
  if (unit < 0 || unit >= static_cast<int64_t>(units_.size())) {
    return absl::InvalidArgumentError(
        absl::StrCat(call, ": unit ", unit, " of ", units_.size(), " units"));
  }
  return &units_[unit];
}

absl::StatusOr<absl::Span<const TensorView>> WholeParamStore::Acquire(
    int64_t unit) {
  OCTET_ASSIGN_OR_RETURN(Unit * found, FindUnit(unit, "acquire"));
  ++found->acquired;
  return absl::MakeConstSpan(found->weights);
}

absl::Status WholeParamStore::Release(int64_t unit) {
  OCTET_ASSIGN_OR_RETURN(Unit * found, FindUnit(unit, "release"));
  if (found->acquired == 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        "release: unit '", specs_[unit].name, "' is not acquired"));
  }
  --found->acquired;
  return absl::OkStatus();
}

absl::StatusOr<absl::Span<const TensorView>> WholeParamStore::Gradients(
    int64_t unit) {
  OCTET_ASSIGN_OR_RETURN(Unit * found, FindUnit(unit, "gradients"));
  found->gradients_open = true;
  return absl::MakeConstSpan(found->gradients);
}

absl::Status WholeParamStore::Reduce(int64_t unit) {
  OCTET_ASSIGN_OR_RETURN(Unit * found, FindUnit(unit, "reduce"));
  if (!found->gradients_open) {
    return absl::FailedPreconditionError(absl::StrCat(
        "reduce: nobody took the gradients of unit '", specs_[unit].name, "'"));
  }
  found->gradients_open = false;
  return absl::OkStatus();
}

absl::Status WholeParamStore::ZeroGradients() {
  for (const ParamShard& shard : shards_) {
    OCTET_RETURN_IF_ERROR(FillZero(stream_, shard.gradient));
  }
  for (Unit& unit : units_) unit.gradients_open = false;
  return absl::OkStatus();
}

absl::Status WholeParamStore::WeightsChanged() {
  for (size_t i = 0; i < units_.size(); ++i) {
    if (units_[i].acquired > 0) {
      return absl::FailedPreconditionError(
          absl::StrCat("weights changed: unit '", specs_[i].name,
                       "' is acquired ", units_[i].acquired, " times"));
    }
  }
  ++version_;
  for (size_t i = 0; i < shards_.size(); ++i) {
    if (weights_[i].data() == shards_[i].master.data()) continue;
    OCTET_RETURN_IF_ERROR(Convert(stream_, shards_[i].master, weights_[i]));
  }
  return absl::OkStatus();
}

}  // namespace octet::fsdp
