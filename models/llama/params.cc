// SPDX-License-Identifier: Apache-2.0
#include "models/llama/params.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/convert.h"
#include "base/parallel.h"
#include "base/philox.h"
#include "base/status_macros.h"
#include "base/tensor.h"

namespace octet::models {
namespace {

using fsdp::ParamShard;
using fsdp::ParamSpec;
using fsdp::UnitSpec;

// How one parameter starts: all 1 when `deviation` is 0.
struct Start {
  double deviation = 0.0;
  double cut = 0.0;  // in standard deviations; 0 for no cut
};

Start StartOf(const LlamaConfig& config, int64_t unit, int64_t param) {
  const Start head = {1.0 / std::sqrt(static_cast<double>(config.hidden_size)),
                      3.0};
  if (unit == 0) return config.tie_word_embeddings ? head : Start{1.0, 0.0};
  if (unit == config.num_layers + 1) {
    return param == kFinalNorm ? Start{} : head;
  }
  switch (param) {
    case kInputNorm:
    case kPostAttentionNorm:
      return {};
    case kOutput:
    case kUp:
    case kDown:
      return {0.02 / std::sqrt(2.0 * static_cast<double>(unit)), 0.0};
    default:
      return {0.02, 0.0};
  }
}

// FNV-1a, 64 bits: the same on every machine.
uint64_t HashName(const std::string& name) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : name) {
    hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3u;
  }
  return hash;
}

// Element i. A number past the cut is drawn again, from a stream of that round;
// `z` is what the first round gave.
float Draw(uint64_t seed, uint64_t stream, const Start& start, uint64_t i,
           float z) {
  for (uint64_t round = 1;
       start.cut != 0.0 && std::abs(static_cast<double>(z)) > start.cut;
       ++round) {
    z = Philox(seed, stream + round * 0x9e3779b97f4a7c15u).Normal(i);
  }
  return static_cast<float>(start.deviation * static_cast<double>(z));
}

void Fill(uint64_t seed, const ParamShard& shard, const Start& start,
          float* out) {
  const int64_t n = shard.master.num_elements();
  if (start.deviation == 0.0) {
    std::fill_n(out, n, 1.0f);
    return;
  }
  const uint64_t first = shard.first_row * (n == 0 ? 0 : shard.master.cols());
  const uint64_t stream = HashName(shard.name);
  const Philox philox(seed, stream);
  ParallelFor(n, 4096, [&](int64_t begin, int64_t end) {
    const uint64_t last = first + end;
    for (uint64_t i = first + begin; i < last;) {
      const std::array<float, 2> pair = philox.NormalPair(i / 2);
      do {
        out[i - first] = Draw(seed, stream, start, i, pair[i % 2]);
        ++i;
      } while (i % 2 == 1 && i < last);
    }
  });
}

absl::Status InitShard(uint64_t seed, const ParamShard& shard,
                       const Start& start, MasterWriter* writer) {
  if (shard.master.empty()) return absl::OkStatus();
  OCTET_ASSIGN_OR_RETURN(const TensorView values, writer->Values(shard.master));
  Fill(seed, shard, start, values.as<float>());
  return writer->Write(values, shard.master);
}

// A piece of `memory`, which grows where it is too small.
absl::StatusOr<TensorView> HostView(DType dtype, const Shape& shape,
                                    Tensor* memory) {
  const int64_t bytes = shape.num_elements() * SizeOf(dtype);
  if (memory->view().num_bytes() < bytes) {
    OCTET_ASSIGN_OR_RETURN(*memory,
                           Tensor::Allocate(DType::kU8, Shape({bytes})));
  }
  return TensorView(memory->view().data(), dtype, shape);
}

}  // namespace

std::vector<UnitSpec> UnitSpecs(const LlamaConfig& c) {
  const int64_t queries = c.num_heads * c.head_dim;
  const int64_t keys = c.num_kv_heads * c.head_dim;
  const Shape table({c.vocab_size, c.hidden_size});
  const Shape norm({c.hidden_size});
  std::vector<UnitSpec> units;
  units.push_back(
      {"model.embed_tokens", {ParamSpec{"model.embed_tokens.weight", table}}});
  for (int64_t layer = 0; layer < c.num_layers; ++layer) {
    const std::string name = absl::StrCat("model.layers.", layer);
    UnitSpec unit;
    unit.name = name;
    const auto add = [&](const char* part, const Shape& shape) {
      unit.params.push_back({absl::StrCat(name, ".", part, ".weight"), shape});
    };
    add("input_layernorm", norm);
    add("self_attn.q_proj", Shape({queries, c.hidden_size}));
    add("self_attn.k_proj", Shape({keys, c.hidden_size}));
    add("self_attn.v_proj", Shape({keys, c.hidden_size}));
    add("self_attn.o_proj", Shape({c.hidden_size, queries}));
    add("post_attention_layernorm", norm);
    add("mlp.gate_proj", Shape({c.intermediate_size, c.hidden_size}));
    add("mlp.up_proj", Shape({c.intermediate_size, c.hidden_size}));
    add("mlp.down_proj", Shape({c.hidden_size, c.intermediate_size}));
    units.push_back(std::move(unit));
  }
  UnitSpec head;
  head.name = "lm_head";
  head.params.push_back({"model.norm.weight", norm});
  if (!c.tie_word_embeddings) head.params.push_back({"lm_head.weight", table});
  units.push_back(std::move(head));
  return units;
}

absl::Status CheckStore(const LlamaConfig& config,
                        const fsdp::ParamStore& store) {
  const std::vector<UnitSpec> expected = UnitSpecs(config);
  if (store.units().size() != expected.size()) {
    return absl::FailedPreconditionError(
        absl::StrCat("llama: the store has ", store.units().size(),
                     " units, the model ", expected.size()));
  }
  for (size_t u = 0; u < expected.size(); ++u) {
    const auto& params = store.units()[u].params;
    for (size_t p = 0; p < std::max(params.size(), expected[u].params.size());
         ++p) {
      const auto describe = [p](const std::vector<ParamSpec>& specs) {
        return p < specs.size()
                   ? absl::StrCat(specs[p].name, " ", specs[p].shape.ToString())
                   : std::string("nothing");
      };
      const std::string is = describe(params);
      const std::string should_be = describe(expected[u].params);
      if (is != should_be) {
        return absl::FailedPreconditionError(absl::StrCat(
            "llama: parameter ", p, " of unit ", u, " in the store is ", is,
            ", of the model ", should_be));
      }
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<TensorView> MasterWriter::Values(const TensorView& master) {
  if (master.device().kind == DeviceKind::kCpu &&
      master.dtype() == DType::kF32) {
    return master;
  }
  return HostView(DType::kF32, master.shape(), &values_);
}

absl::Status MasterWriter::Write(const TensorView& values,
                                 const TensorView& master) {
  if (values.data() == master.data()) return absl::OkStatus();
  TensorView host = values;
  if (master.dtype() != DType::kF32) {
    OCTET_ASSIGN_OR_RETURN(host,
                           HostView(master.dtype(), master.shape(), &rounded_));
    OCTET_RETURN_IF_ERROR(Convert(Stream(), values, host));
  }
  OCTET_RETURN_IF_ERROR(Copy(stream_, host, master));
  return stream_.Synchronize();
}

absl::Status InitParams(const Stream& stream, const LlamaConfig& config,
                        uint64_t seed, fsdp::ParamStore* store) {
  OCTET_RETURN_IF_ERROR(Validate(config));
  OCTET_RETURN_IF_ERROR(CheckStore(config, *store));
  const std::vector<UnitSpec> units = UnitSpecs(config);
  MasterWriter writer(stream);
  for (size_t u = 0; u < units.size(); ++u) {
    for (size_t p = 0; p < units[u].params.size(); ++p) {
      for (const ParamShard& shard : store->shards()) {
        if (shard.name != units[u].params[p].name) continue;
        OCTET_RETURN_IF_ERROR(
            InitShard(seed, shard, StartOf(config, u, p), &writer));
      }
    }
  }
  return store->WeightsChanged();
}

}  // namespace octet::models
