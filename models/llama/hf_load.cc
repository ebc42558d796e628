// SPDX-License-Identifier: Apache-2.0

// Tensors of a folder into the store's shards.
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "base/float16.h"
#include "base/parallel.h"
#include "base/status_macros.h"
#include "float8/format.h"
#include "io/safetensors_set.h"
#include "models/llama/hf.h"
#include "models/llama/params.h"

namespace octet::models {
namespace {

// Rows and columns of a weight that share a scale.
struct ScaleTile {
  int64_t rows;
  int64_t cols;
};

absl::StatusOr<ScaleTile> TileOfScale(const std::string& name,
                                      const TensorView& weight,
                                      const TensorView& scale) {
  constexpr int64_t kBlock = 128;
  const int64_t rows = weight.rows();
  const int64_t cols = weight.cols();
  if (scale.num_elements() == 1) return ScaleTile{rows, cols};
  if (scale.num_elements() == rows) return ScaleTile{1, cols};
  if (scale.shape() == Shape({CeilDiv(rows, kBlock), CeilDiv(cols, kBlock)})) {
    return ScaleTile{kBlock, kBlock};
  }
  return absl::InvalidArgumentError(absl::StrCat(
      name, ": ", weight.ToString(), " has scales ", scale.ToString(),
      ", expected [1], [", rows, ", 1] or one for each 128 x 128 block"));
}

float Widen(const TensorView& view, int64_t i) {
  switch (view.dtype()) {
    case DType::kF64:
      return static_cast<float>(view.as<double>()[i]);
    case DType::kF32:
      return view.as<float>()[i];
    case DType::kBf16:
      return ToFloat(view.as<Bfloat16>()[i]);
    case DType::kF16:
      return ToFloat(view.as<Float16>()[i]);
    default:
      return float8::Decode(view.as<uint8_t>()[i], view.dtype());
  }
}

bool IsWeightType(DType dtype) {
  return dtype == DType::kF64 || dtype == DType::kF32 ||
         dtype == DType::kBf16 || dtype == DType::kF16 ||
         dtype == DType::kF8E4M3 || dtype == DType::kF8E5M2;
}

absl::Status ConvertRows(const std::string& name,
                         const io::StoredWeight& stored, int64_t first_row,
                         const TensorView& out) {
  const TensorView& data = stored.data;
  const int64_t cols = out.shape().rank() > 1 ? out.cols() : 1;
  const int64_t first = first_row * cols;
  float* values = out.as<float>();
  ParallelFor(out.num_elements(), 1 << 14, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) values[i] = Widen(data, first + i);
  });
  if (stored.scale.data() == nullptr) return absl::OkStatus();
  if (!IsWeightType(stored.scale.dtype())) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": its scale is ", stored.scale.ToString()));
  }
  OCTET_ASSIGN_OR_RETURN(const ScaleTile tile,
                         TileOfScale(name, data, stored.scale));
  const int64_t tiles = CeilDiv(cols, tile.cols);
  for (int64_t i = 0; i < out.num_elements(); ++i) {
    const int64_t row = first_row + i / cols;
    values[i] *=
        Widen(stored.scale, row / tile.rows * tiles + i % cols / tile.cols);
  }
  return absl::OkStatus();
}

absl::Status LoadShard(const io::SafetensorsSet& set,
                       const fsdp::ParamShard& shard, MasterWriter* writer) {
  OCTET_ASSIGN_OR_RETURN(const io::StoredWeight stored,
                         io::FindWeight(set, shard.name));
  if (stored.data.shape() != shard.global_shape ||
      !IsWeightType(stored.data.dtype())) {
    return absl::InvalidArgumentError(absl::StrCat(
        set.folder(), ": ", shard.name, " is ", stored.data.ToString(),
        ", config.json asks for a floating-point ",
        shard.global_shape.ToString()));
  }
  if (shard.master.empty()) return absl::OkStatus();
  OCTET_ASSIGN_OR_RETURN(const TensorView values, writer->Values(shard.master));
  OCTET_RETURN_IF_ERROR(
      ConvertRows(shard.name, stored, shard.first_row, values));
  return writer->Write(values, shard.master);
}

// Names that are neither parameters nor belong to one. A tied head may be
// there again, and old files hold the rotary frequencies, which follow from
// config.json.
absl::Status CheckNames(const io::SafetensorsSet& set,
                        const LlamaConfig& config) {
  std::set<std::string> known;
  for (const fsdp::UnitSpec& unit : UnitSpecs(config)) {
    for (const fsdp::ParamSpec& param : unit.params) known.insert(param.name);
  }
  if (config.tie_word_embeddings) known.insert("lm_head.weight");
  std::vector<std::string> surplus;
  for (const std::string& name : set.names()) {
    absl::string_view base = name;
    if (!absl::ConsumeSuffix(&base, "_scale_inv")) {
      absl::ConsumeSuffix(&base, "_scale");
    }
    if (known.count(std::string(base)) == 0 &&
        !absl::EndsWith(name, ".rotary_emb.inv_freq")) {
      surplus.push_back(name);
    }
  }
  if (surplus.empty()) return absl::OkStatus();
  const size_t count = surplus.size();
  if (count > 5) surplus.resize(5);
  return absl::InvalidArgumentError(absl::StrCat(
      set.folder(), ": ", count, " tensors that this model does not have: ",
      absl::StrJoin(surplus, ", "), count > 5 ? ", ..." : ""));
}

}  // namespace

absl::Status LoadHfWeights(const Stream& stream, const std::string& folder,
                           const LlamaConfig& config, fsdp::ParamStore* store) {
  OCTET_RETURN_IF_ERROR(CheckStore(config, *store));
  OCTET_ASSIGN_OR_RETURN(const io::SafetensorsSet set,
                         io::SafetensorsSet::Open(folder));
  OCTET_RETURN_IF_ERROR(CheckNames(set, config));
  MasterWriter writer(stream);
  for (const fsdp::ParamShard& shard : store->shards()) {
    OCTET_RETURN_IF_ERROR(LoadShard(set, shard, &writer));
  }
  return store->WeightsChanged();
}

}  // namespace octet::models
