// SPDX-License-Identifier: Apache-2.0
#include "fsdp/whole_param_store.h"

#include <algorithm>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/convert.h"
#include "base/status_macros.h"

namespace octet::fsdp {
namespace {

bool IsMatrix(const Shape& shape) { return shape.rank() > 1; }

absl::Status CheckDTypes(const WholeParamStoreOptions& o) {
  const auto is_narrow = [](DType dtype) {
    return dtype == DType::kF32 || dtype == DType::kBf16;
  };
  if (!is_narrow(o.compute_dtype) && o.compute_dtype != DType::kF64) {
    return absl::InvalidArgumentError(
        absl::StrCat("param store: the compute dtype must be f32, bf16 or f64, "
                     "is ",
                     Name(o.compute_dtype)));
  }
  const bool plain =
      o.master_dtype == DType::kF32 && o.gradient_dtype == DType::kF32;
  if (plain) return absl::OkStatus();
  if (!is_narrow(o.master_dtype) || !is_narrow(o.gradient_dtype) ||
      o.compute_dtype == DType::kF64 ||
      (o.master_dtype == DType::kBf16 && o.compute_dtype != DType::kBf16)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "param store: masters are ", Name(o.master_dtype), ", gradients ",
        Name(o.gradient_dtype), ", compute is ", Name(o.compute_dtype),
        "; masters and gradients must be f32 or bf16, and bf16 masters want "
        "compute bf16"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<WholeParamStore>> WholeParamStore::Create(
    const Stream& stream, std::vector<UnitSpec> units,
    const WholeParamStoreOptions& options) {
  OCTET_RETURN_IF_ERROR(CheckDTypes(options));
  // Not make_unique: the constructor is private.
  std::unique_ptr<WholeParamStore> store(
      new WholeParamStore(stream, std::move(units), options));
  OCTET_RETURN_IF_ERROR(store->AddUnits());
  return store;
}

absl::Status WholeParamStore::AddUnits() {
  units_.resize(specs_.size());
  for (const int64_t unit : options_.transient_units) {
    OCTET_ASSIGN_OR_RETURN(Unit * found, FindUnit(unit, "transient units"));
    found->is_transient = true;
  }
  OCTET_RETURN_IF_ERROR(AllocateAmaxes());
  std::set<std::string> names;
  for (size_t u = 0; u < specs_.size(); ++u) {
    for (const ParamSpec& param : specs_[u].params) {
      if (!names.insert(param.name).second) {
        return absl::InvalidArgumentError(absl::StrCat(
            "param store: parameter '", param.name, "' is given twice"));
      }
      OCTET_RETURN_IF_ERROR(AddParam(param, &units_[u]));
    }
  }
  return ShareCopies();
}

absl::Status WholeParamStore::AllocateAmaxes() {
  if (options_.compute_dtype == DType::kF64) return absl::OkStatus();
  int64_t matrices = 0;
  for (const UnitSpec& unit : specs_) {
    for (const ParamSpec& param : unit.params) {
      matrices += IsMatrix(param.shape);
    }
  }
  const Shape shape({matrices});
  OCTET_ASSIGN_OR_RETURN(amaxes_, Tensor::Zeros(stream_, DType::kF32, shape));
  if (options_.compute_dtype != DType::kF32) {
    OCTET_ASSIGN_OR_RETURN(
        rounded_amaxes_,
        Tensor::Allocate(options_.compute_dtype, shape, stream_.device()));
  }
  return absl::OkStatus();
}

absl::Status WholeParamStore::AddParam(const ParamSpec& spec, Unit* unit) {
  const bool is_matrix = IsMatrix(spec.shape);
  const DType wide =
      options_.compute_dtype == DType::kF64 ? DType::kF64 : DType::kF32;
  const auto zeros = [&](DType dtype, TensorView* view) -> absl::Status {
    OCTET_ASSIGN_OR_RETURN(Tensor tensor,
                           Tensor::Zeros(stream_, dtype, spec.shape));
    *view = tensor;
    memory_.push_back(std::move(tensor));
    return absl::OkStatus();
  };
  const auto dtype_of = [&](DType asked) {
    return is_matrix && asked == DType::kBf16 ? asked : wide;
  };
  ParamShard shard;
  shard.name = spec.name;
  shard.global_shape = spec.shape;
  OCTET_RETURN_IF_ERROR(zeros(dtype_of(options_.master_dtype), &shard.master));
  const auto elsewhere = options_.gradient_memory.find(spec.name);
  if (elsewhere == options_.gradient_memory.end()) {
    OCTET_RETURN_IF_ERROR(
        zeros(dtype_of(options_.gradient_dtype), &shard.gradient));
  } else {
    unit->gradients_fresh = true;  // holds anything
    shard.gradient = elsewhere->second;
    if (shard.gradient.shape() != spec.shape ||
        shard.gradient.dtype() != dtype_of(options_.gradient_dtype) ||
        shard.gradient.device() != stream_.device()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "param store: the gradient given for '", spec.name, "' is ",
          shard.gradient.ToString(), ", must be ",
          Name(dtype_of(options_.gradient_dtype)), " ", spec.shape.ToString(),
          " on ", stream_.device().ToString()));
    }
  }
  TensorView weight = shard.master;
  if (shard.master.dtype() != options_.compute_dtype) {
    if (unit->is_transient && is_matrix) {
      weight = TensorView();  // see ShareCopies
    } else {
      OCTET_RETURN_IF_ERROR(zeros(options_.compute_dtype, &shard.weight));
      weight = shard.weight;
    }
  }
  if (is_matrix && amaxes_.view().present()) {
    shard.amax = TensorView(amaxes_.as<float>() + num_amaxes_++, DType::kF32,
                            Shape({1, 1}), stream_.device());
  }
  unit->amaxes.push_back(shard.amax);
  unit->weights.push_back(weight);
  unit->masters.push_back(shard.master);
  unit->gradients.push_back(shard.gradient);
  shards_.push_back(std::move(shard));
  return absl::OkStatus();
}

absl::Status WholeParamStore::ShareCopies() {
  constexpr int64_t kAlignment = 256;
  const DType dtype = options_.compute_dtype;
  const Device device = stream_.device();
  // Adds up what the unit's copies need; places them where there is memory.
  const auto lay_out = [&](Unit* unit, char* base) {
    int64_t bytes = 0;
    for (size_t p = 0; p < unit->weights.size(); ++p) {
      const Shape& shape = unit->masters[p].shape();
      if (unit->masters[p].dtype() == dtype || !IsMatrix(shape)) continue;
      if (base != nullptr) {
        unit->weights[p] = TensorView(base + bytes, dtype, shape, device);
      }
      const int64_t size = shape.num_elements() * SizeOf(dtype);
      bytes += CeilDiv(size, kAlignment) * kAlignment;
    }
    return bytes;
  };
  int64_t most = 0;
  for (Unit& unit : units_) {
    if (unit.is_transient) most = std::max(most, lay_out(&unit, nullptr));
  }
  if (most == 0) return absl::OkStatus();
  OCTET_ASSIGN_OR_RETURN(Tensor memory,
                         Tensor::Allocate(DType::kU8, Shape({most}), device));
  for (Unit& unit : units_) {
    if (unit.is_transient) lay_out(&unit, memory.as<char>());
  }
  memory_.push_back(std::move(memory));
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
  if (found->is_transient && found != transient_) {
    if (transient_ != nullptr && transient_->acquired > 0) {
      return absl::FailedPreconditionError(absl::StrCat(
          "acquire: unit '", specs_[unit].name,
          "' has its copies where those "
          "of '",
          specs_[transient_ - units_.data()].name, "' are, which is acquired"));
    }
    OCTET_RETURN_IF_ERROR(RefreshCopies(*found, /*vectors_only=*/false));
    transient_ = found;
  }
  ++found->acquired;
  return absl::MakeConstSpan(found->weights);
}

absl::StatusOr<absl::Span<const TensorView>> WholeParamStore::AcquireVectors(
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

absl::Span<const TensorView> WholeParamStore::WeightAmaxes(int64_t unit) const {
  if (!amaxes_known_ || unit < 0 ||
      unit >= static_cast<int64_t>(units_.size())) {
    return {};
  }
  return units_[unit].amaxes;
}

absl::StatusOr<UnitGradients> WholeParamStore::Gradients(int64_t unit) {
  OCTET_ASSIGN_OR_RETURN(Unit * found, FindUnit(unit, "gradients"));
  found->gradients_open = true;
  const bool fresh = found->gradients_fresh;
  found->gradients_fresh = false;
  return UnitGradients{absl::MakeConstSpan(found->gradients), fresh};
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
  for (Unit& unit : units_) {
    unit.gradients_open = false;
    unit.gradients_fresh = true;
  }
  return absl::OkStatus();
}

absl::Status WholeParamStore::FinishGradients() {
  for (Unit& unit : units_) {
    if (!unit.gradients_fresh) continue;
    for (const TensorView& gradient : unit.gradients) {
      OCTET_RETURN_IF_ERROR(FillZero(stream_, gradient));
    }
    unit.gradients_fresh = false;
  }
  return absl::OkStatus();
}

absl::Status WholeParamStore::RefreshCopies(const Unit& unit,
                                            bool vectors_only) {
  for (size_t p = 0; p < unit.weights.size(); ++p) {
    const TensorView& master = unit.masters[p];
    if (unit.weights[p].data() == master.data()) continue;
    if (vectors_only && IsMatrix(master.shape())) continue;
    OCTET_RETURN_IF_ERROR(Convert(stream_, master, unit.weights[p]));
  }
  return absl::OkStatus();
}

absl::Status WholeParamStore::NewVersion() {
  for (size_t i = 0; i < units_.size(); ++i) {
    if (units_[i].acquired > 0) {
      return absl::FailedPreconditionError(
          absl::StrCat("weights changed: unit '", specs_[i].name,
                       "' is acquired ", units_[i].acquired, " times"));
    }
  }
  ++version_;
  transient_ = nullptr;
  return absl::OkStatus();
}

absl::Status WholeParamStore::WeightsChanged() {
  OCTET_RETURN_IF_ERROR(NewVersion());
  amaxes_known_ = false;
  for (const Unit& unit : units_) {
    OCTET_RETURN_IF_ERROR(RefreshCopies(unit, unit.is_transient));
  }
  return absl::OkStatus();
}

absl::Status WholeParamStore::MastersAndWeightsChanged() {
  OCTET_RETURN_IF_ERROR(NewVersion());
  amaxes_known_ = true;
  if (!rounded_amaxes_.view().present()) return absl::OkStatus();
  // Those of masters that have no copy yet: rounding keeps the order, so the
  // largest one rounded is the largest of the rounded ones.
  OCTET_RETURN_IF_ERROR(Convert(stream_, amaxes_, rounded_amaxes_));
  return Convert(stream_, rounded_amaxes_, amaxes_);
}

}  // namespace octet::fsdp
