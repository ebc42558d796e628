// SPDX-License-Identifier: Apache-2.0
#include "tools/roofline/model_options.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "roofline/cost.h"
#include "tools/roofline/input/shapes.h"
#include "tools/roofline/options.h"

namespace octet::tools {
namespace {

constexpr int64_t kMany = int64_t{1} << 30;
constexpr int64_t kMostRanks = 1 << 20;

roofline::ModelShape ShapeOf(const models::LlamaConfig& c) {
  return {c.num_layers,   c.hidden_size,        c.num_heads,
          c.num_kv_heads, c.head_dim,           c.intermediate_size,
          c.vocab_size,   c.tie_word_embeddings};
}

absl::StatusOr<std::vector<int64_t>> RanksOf(const CommandLine& line) {
  std::vector<int64_t> ranks;
  for (const absl::string_view word :
       absl::StrSplit(line.Get("ranks", "1"), ',')) {
    int64_t value = 0;
    if (!absl::SimpleAtoi(word, &value) || value < 1 || value > kMostRanks) {
      return absl::InvalidArgumentError(
          absl::StrCat("--ranks=", line.Get("ranks", ""), ": \"", word,
                       "\" is no number of GPUs from 1 to ", kMostRanks));
    }
    ranks.push_back(value);
  }
  return ranks;
}

// Bytes of f32 or bf16.
absl::StatusOr<int64_t> WidthOf(const CommandLine& line,
                                absl::string_view flag) {
  OCTET_ASSIGN_OR_RETURN(const std::string name,
                         line.GetChoice(flag, {"f32", "bf16"}));
  return name == "f32" ? 4 : 2;
}

absl::StatusOr<roofline::ModelJob> JobOf(const CommandLine& line) {
  for (const char* flag : {"gather", "reduce"}) {
    if (line.Has(flag) && !line.Has("ranks")) {
      return absl::InvalidArgumentError(
          absl::StrCat("--", flag, "=", line.Get(flag, ""),
                       " is of several GPUs: --ranks=COUNT"));
    }
  }
  roofline::ModelJob job;
  OCTET_ASSIGN_OR_RETURN(job.batch, line.GetInt("batch", 1, 1, kMany));
  OCTET_ASSIGN_OR_RETURN(job.sequence, line.GetInt("sequence", 8192, 1, kMany));
  OCTET_ASSIGN_OR_RETURN(job.microbatches,
                         line.GetInt("microbatches", 1, 1, kMany));
  OCTET_ASSIGN_OR_RETURN(const std::string recompute,
                         line.GetChoice("recompute", {"none", "full"}));
  OCTET_ASSIGN_OR_RETURN(job.recompute, roofline::ParseRecompute(recompute));
  OCTET_ASSIGN_OR_RETURN(const std::string gather,
                         line.GetChoice("gather", {"bf16", "fp8"}));
  job.gather =
      gather == "fp8" ? roofline::Gather::kFp8 : roofline::Gather::kBf16;
  OCTET_ASSIGN_OR_RETURN(job.state_bytes, WidthOf(line, "state"));
  OCTET_ASSIGN_OR_RETURN(job.reduce_bytes, WidthOf(line, "reduce"));
  job.fused_producer = line.GetBool("fused_producer", true);
  job.only_faster = line.GetBool("only_faster", false);
  OCTET_ASSIGN_OR_RETURN(
      job.attention_share,
      line.GetDouble("attention_share", job.attention_share, 1e-6, 1.0));
  return job;
}

}  // namespace

const std::vector<FlagSpec>& JobFlags() {
  static const auto& flags =
      *new std::vector<FlagSpec>{{"model"},
                                 {"layers"},
                                 {"batch"},
                                 {"sequence"},
                                 {"microbatches"},
                                 {"ranks"},
                                 {"shard_ranks"},
                                 {"recipe"},
                                 {"recompute"},
                                 {"gather"},
                                 {"state"},
                                 {"reduce"},
                                 {"fused_producer", FlagKind::kBool},
                                 {"only_faster", FlagKind::kBool},
                                 {"attention_share"}};
  return flags;
}

std::string JobUsage() {
  return absl::StrCat(
      "  --model=NAME|FOLDER|config.json   ", ModelNames(),
      "\n"
      "  --layers=COUNT           instead of the model's\n"
      "  --batch=1 --sequence=8192 --microbatches=1   of each GPU\n"
      "  --ranks=COUNT[,COUNT...]   GPUs, full shards (FSDP)\n"
      "  --shard_ranks=COUNT      GPUs that share one copy (HSDP); 0: all, and "
      "all where\n"
      "                           --ranks lists fewer; it divides the others\n"
      "  --recipe=NAME[,NAME...]  ",
      absl::StrJoin(roofline::CostRecipes(roofline::CostModel::kOctet), ", "),
      "\n"
      "  --recompute=none|full    activations of a block, in backward\n"
      "  --gather=bf16|fp8        weights on the wire\n"
      "  --state=f32|bf16         master weights, moments and gradients\n"
      "  --reduce=f32|bf16        gradients on the wire\n"
      "  --nofused_producer       norms and SwiGLU take no amax and do not "
      "cast\n"
      "  --only_faster            layers that float8 slows down stay in bf16\n"
      "  --attention_share=0.494  what attention reaches of the bf16 peak, the "
      "causal half\n"
      "                           counted\n");
}

roofline::ModelJob JobSetup::JobOn(int64_t num_ranks) const {
  roofline::ModelJob on = job;
  on.ranks = num_ranks;
  on.shard_ranks = std::min(shard_ranks, num_ranks);
  return on;
}

absl::StatusOr<JobSetup> JobSetupOf(const CommandLine& line,
                                    const std::string& recipes) {
  JobSetup setup;
  setup.model = line.Get("model", "llama3_8b");
  OCTET_ASSIGN_OR_RETURN(const models::LlamaConfig config,
                         ModelConfig(setup.model));
  setup.shape = ShapeOf(config);
  OCTET_ASSIGN_OR_RETURN(setup.shape.layers,
                         line.GetInt("layers", setup.shape.layers, 1, 10000));
  OCTET_ASSIGN_OR_RETURN(setup.job, JobOf(line));
  OCTET_ASSIGN_OR_RETURN(setup.ranks, RanksOf(line));
  OCTET_ASSIGN_OR_RETURN(setup.shard_ranks,
                         line.GetInt("shard_ranks", 0, 0, kMostRanks));
  const int64_t most =
      *std::max_element(setup.ranks.begin(), setup.ranks.end());
  if (setup.shard_ranks > most) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--shard_ranks=", setup.shard_ranks, " is more than --ranks, ", most));
  }
  setup.recipes = absl::StrSplit(line.Get("recipe", recipes), ',');
  // The hardware's flags alone: others have the same names and other values.
  CommandLine hardware;
  for (const FlagSpec& flag : HardwareFlags()) {
    if (line.Has(flag.name)) {
      hardware.flags.emplace(flag.name, line.Get(flag.name, ""));
    }
  }
  OCTET_ASSIGN_OR_RETURN(
      const LinearSetup linear,
      SetupOf(hardware, roofline::CostModel::kOctet, "roofline"));
  setup.hardware = linear.hardware;
  setup.bound = linear.bound;
  setup.lookups = linear.lookups;
  for (const std::string& recipe : setup.recipes) {
    OCTET_RETURN_IF_ERROR(CheckRecipe(hardware, recipe, setup.hardware));
    setup.job.recipe = recipe;
    for (const int64_t ranks : setup.ranks) {
      OCTET_RETURN_IF_ERROR(roofline::CheckJob(setup.JobOn(ranks)));
    }
  }
  setup.job.recipe = setup.recipes.front();
  setup.job = setup.JobOn(setup.ranks.front());
  return setup;
}

}  // namespace octet::tools
