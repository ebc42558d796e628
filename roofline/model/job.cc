// SPDX-License-Identifier: Apache-2.0

#include "roofline/model/job.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace octet::roofline {
namespace {

struct Field {
  const char* name;
  int64_t value;
  int64_t largest;
};

absl::Status CheckFields(absl::string_view what,
                         std::initializer_list<Field> fields) {
  for (const Field& field : fields) {
    if (field.value < 1 || field.value > field.largest) {
      return absl::InvalidArgumentError(
          absl::StrCat(what, ": ", field.name, " is ", field.value,
                       ", expected 1 to ", field.largest));
    }
  }
  return absl::OkStatus();
}

double Queries(const ModelShape& s) {
  return static_cast<double>(s.heads) * static_cast<double>(s.head_dim);
}
double Keys(const ModelShape& s) {
  return static_cast<double>(s.kv_heads) * static_cast<double>(s.head_dim);
}

double BlockLinearParameters(const ModelShape& s) {
  return static_cast<double>(s.hidden) *
         (2.0 * Queries(s) + 2.0 * Keys(s) + 3.0 * static_cast<double>(s.mlp));
}

}  // namespace

absl::StatusOr<Recompute> ParseRecompute(absl::string_view name) {
  if (name == "none") return Recompute::kNone;
  if (name == "full") return Recompute::kFull;
  return absl::InvalidArgumentError(
      absl::StrCat("recompute is \"", name, "\", expected none or full"));
}

absl::Status CheckShape(const ModelShape& s) {
  constexpr int64_t kSize = int64_t{1} << 24;
  const absl::Status status =
      CheckFields("model", {{"layers", s.layers, 10000},
                            {"hidden", s.hidden, kSize},
                            {"heads", s.heads, 65536},
                            {"kv_heads", s.kv_heads, 65536},
                            {"head_dim", s.head_dim, 65536},
                            {"mlp", s.mlp, kSize},
                            {"vocab", s.vocab, kSize}});
  if (!status.ok()) return status;
  if (s.heads % s.kv_heads != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("model: heads is ", s.heads,
                     ", not a multiple of kv_heads, ", s.kv_heads));
  }
  return absl::OkStatus();
}

absl::Status CheckJob(const ModelJob& job) {
  constexpr int64_t kLarge = int64_t{1} << 30;
  const absl::Status status =
      CheckFields("job", {{"batch", job.batch, kLarge},
                          {"sequence", job.sequence, kLarge},
                          {"microbatches", job.microbatches, kLarge},
                          {"ranks", job.ranks, 1 << 20},
                          {"loss_chunk", job.loss_chunk, kLarge}});
  if (!status.ok()) return status;
  if (job.shard_ranks < 0 ||
      (job.shard_ranks > 0 && job.ranks % job.shard_ranks != 0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("job: shard_ranks is ", job.shard_ranks,
                     ", expected a divisor of the ranks, ", job.ranks));
  }
  for (const Field& field : {Field{"state_bytes", job.state_bytes, 0},
                             Field{"reduce_bytes", job.reduce_bytes, 0}}) {
    if (field.value != 2 && field.value != 4) {
      return absl::InvalidArgumentError(
          absl::StrCat("job: ", field.name, " is ", field.value,
                       ", expected 2 (bf16) or 4 (f32)"));
    }
  }
  if (!(job.attention_share > 0.0 && job.attention_share <= 1.0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("job: attention_share is ", job.attention_share,
                     ", expected more than 0, at most 1"));
  }
  if (job.gather == Gather::kNone) {
    return absl::InvalidArgumentError(
        "job: gather is none, expected bf16 or fp8");
  }
  const std::vector<std::string>& recipes = CostRecipes(CostModel::kOctet);
  if (std::find(recipes.begin(), recipes.end(), job.recipe) == recipes.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("job: recipe is \"", job.recipe,
                     "\"; there are: ", absl::StrJoin(recipes, ", ")));
  }
  return absl::OkStatus();
}

double BlockParameters(const ModelShape& s) {
  return BlockLinearParameters(s) + 2.0 * static_cast<double>(s.hidden);
}

double EmbeddingParameters(const ModelShape& s) {
  return static_cast<double>(s.vocab) * static_cast<double>(s.hidden);
}

double LinearParameters(const ModelShape& s) {
  return static_cast<double>(s.layers) * BlockLinearParameters(s);
}

double Parameters(const ModelShape& s) {
  return (s.tied ? 1.0 : 2.0) * EmbeddingParameters(s) +
         static_cast<double>(s.layers) * BlockParameters(s) +
         static_cast<double>(s.hidden);
}

double FlopsPerToken(const ModelShape& s, int64_t sequence) {
  const double embedding = s.tied ? 0.0 : EmbeddingParameters(s);
  return 6.0 * (Parameters(s) - embedding) +
         12.0 * static_cast<double>(s.layers) * Queries(s) *
             static_cast<double>(sequence);
}

std::vector<ModelLinear> ModelLinears(const ModelShape& s, int64_t tokens) {
  const int64_t queries = s.heads * s.head_dim;
  const int64_t keys = s.kv_heads * s.head_dim;
  return {
      {"qkv", {tokens, s.hidden, queries + 2 * keys}, true, false},
      {"o", {tokens, queries, s.hidden}, false, true},
      {"gate_up", {tokens, s.hidden, 2 * s.mlp}, true, true},
      {"down", {tokens, s.mlp, s.hidden}, true, true},
  };
}

}  // namespace octet::roofline
