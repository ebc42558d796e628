// SPDX-License-Identifier: Apache-2.0
#include "tools/roofline/input/shapes.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "io/csv.h"
#include "io/file.h"
#include "io/json.h"
#include "models/llama/config.h"
#include "models/llama/hf.h"

namespace octet::tools {
namespace {

using Shapes = std::vector<LayerShape>;

constexpr int64_t kDefaultTokens = 8192;
constexpr absl::string_view kLlama = "llama3_";

bool IsModelFolder(const std::string& path) {
  return access(io::JoinPath(path, "config.json").c_str(), F_OK) == 0;
}

absl::StatusOr<int64_t> SizeOf(absl::string_view text, absl::string_view what) {
  int64_t size = 0;
  if (!absl::SimpleAtoi(text, &size) || size <= 0 || size > kMaxSize) {
    return absl::InvalidArgumentError(absl::StrCat(
        what, " ", text, " is no whole number from 1 to ", kMaxSize));
  }
  return size;
}

// All M, K, N of min, 2 min ... max, M outermost.
Shapes Sweep(int64_t min, int64_t max) {
  Shapes shapes;
  for (int64_t m = min; m <= max; m *= 2) {
    for (int64_t k = min; k <= max; k *= 2) {
      for (int64_t n = min; n <= max; n *= 2) {
        shapes.push_back({"", {m, k, n}});
      }
    }
  }
  return shapes;
}

absl::StatusOr<Shapes> SweepOf(const CommandLine& line) {
  OCTET_ASSIGN_OR_RETURN(const int64_t min,
                         line.GetInt("min_size", 512, 1, kMaxSize));
  OCTET_ASSIGN_OR_RETURN(const int64_t max,
                         line.GetInt("max_size", 32768, min, kMaxSize));
  return Sweep(min, max);
}

Shapes Squares(bool is_extended) {
  Shapes shapes;
  for (int64_t size = 1024; size <= 16384; size *= 2) {
    shapes.push_back({"", {size, size, size}});
    const int64_t between = size + size / 2;
    if (is_extended) shapes.push_back({"", {between, between, between}});
  }
  return shapes;
}

// torchao's "llama": Llama 2 70B's on one of eight GPUs.
Shapes TorchaoLlama() {
  constexpr int64_t kTokens = 16384;
  return {{"attn.wqkv", {kTokens, 8192, 1280}},
          {"attn.w0", {kTokens, 1024, 8192}},
          {"ffn.w13", {kTokens, 8192, 7168}},
          {"ffn.w2", {kTokens, 3584, 8192}}};
}

// "dsv3-671b" (pytorch/ao#3645): DeepSeek-V3's linear layers but the output
// projection and the router's gate, on 10 times 8192 tokens. The first four are
// known to come in this order; each shape is here once.
Shapes TorchaoDeepSeek() {
  constexpr int64_t kTokens = 81920;
  return {{"attn.wq_a", {kTokens, 7168, 1536}},
          {"attn.wq_b", {kTokens, 1536, 24576}},
          {"attn.wo", {kTokens, 16384, 7168}},
          {"attn.wkv_a", {kTokens, 7168, 576}},
          {"attn.wkv_b", {kTokens, 512, 32768}},
          {"ffn.w1", {kTokens, 7168, 18432}},
          {"ffn.w2", {kTokens, 18432, 7168}},
          {"shared_experts.w1", {kTokens, 7168, 2048}},
          {"shared_experts.w2", {kTokens, 2048, 7168}}};
}

// "dsv3-16b-671b" (#4344): its dense feed-forward layers, 4096 tokens.
Shapes TorchaoDeepSeekFeedForward() {
  return {{"ffn.w1", {4096, 7168, 18432}}, {"ffn.w2", {4096, 18432, 7168}}};
}

Shapes LayersOf(const models::LlamaConfig& c, int64_t tokens) {
  const int64_t q = c.num_heads * c.head_dim;
  const int64_t kv = c.num_kv_heads * c.head_dim;
  const int64_t h = c.hidden_size, inner = c.intermediate_size;
  const int64_t layers = c.num_layers;
  return {{"q_proj", {tokens, h, q}, layers},
          {"k_proj", {tokens, h, kv}, layers},
          {"v_proj", {tokens, h, kv}, layers},
          {"o_proj", {tokens, q, h}, layers},
          {"gate_proj", {tokens, h, inner}, layers},
          {"up_proj", {tokens, h, inner}, layers},
          {"down_proj", {tokens, inner, h}, layers},
          {"lm_head", {tokens, h, c.vocab_size}, 1}};
}

// Columns M, K, N in either case, and perhaps layer and count.
absl::StatusOr<Shapes> ReadShapes(const std::string& path) {
  OCTET_ASSIGN_OR_RETURN(const std::string text, io::ReadFile(path));
  OCTET_ASSIGN_OR_RETURN(const io::CsvTable csv, io::ParseCsv(text, path));
  std::array<int, 3> columns;
  for (int i = 0; i < 3; ++i) {
    const absl::string_view name = absl::string_view("MKN").substr(i, 1);
    columns[i] =
        std::max(csv.Find(name), csv.Find(absl::AsciiStrToLower(name)));
    if (columns[i] < 0) {
      return absl::DataLossError(
          absl::StrCat(path, ":1: no column ", name, "; it has ",
                       absl::StrJoin(csv.header, ","),
                       ", and needs M,K,N, perhaps layer,count"));
    }
  }
  const int layer = csv.Find("layer"), count = csv.Find("count");
  Shapes shapes;
  for (const io::CsvRow& row : csv.rows) {
    const std::string at = absl::StrCat(path, ":", row.line, ":");
    LayerShape shape;
    OCTET_ASSIGN_OR_RETURN(shape.sizes.m, SizeOf(row.fields[columns[0]], at));
    OCTET_ASSIGN_OR_RETURN(shape.sizes.k, SizeOf(row.fields[columns[1]], at));
    OCTET_ASSIGN_OR_RETURN(shape.sizes.n, SizeOf(row.fields[columns[2]], at));
    if (layer >= 0) shape.layer = row.fields[layer];
    if (count >= 0) {
      OCTET_ASSIGN_OR_RETURN(shape.count, SizeOf(row.fields[count], at));
    }
    shapes.push_back(std::move(shape));
  }
  if (shapes.empty()) {
    return absl::DataLossError(
        absl::StrCat(path, ": no shape below the header"));
  }
  return shapes;
}

absl::StatusOr<Shapes> CustomShape(const CommandLine& line) {
  LayerShape shape;
  for (const auto& flag :
       {std::pair("M", &shape.sizes.m), std::pair("K", &shape.sizes.k),
        std::pair("N", &shape.sizes.n)}) {
    if (!line.Has(flag.first)) {
      return absl::InvalidArgumentError(
          absl::StrCat("--", flag.first,
                       " is missing: a shape is --M, --K and --N together"));
    }
    OCTET_ASSIGN_OR_RETURN(*flag.second,
                           line.GetInt(flag.first, 0, 1, kMaxSize));
  }
  return Shapes{shape};
}

// torchao's names. Its sweep begins at 2^8.
absl::StatusOr<Shapes> GeneratedShapes(const CommandLine& line) {
  OCTET_ASSIGN_OR_RETURN(
      const std::string name,
      line.GetChoice("shape_gen_name",
                     {"pow2", "pow2_extended", "sweep", "llama", "custom",
                      "dsv3-671b", "dsv3-16b-671b"}));
  if (name == "sweep") return Sweep(256, 32768);
  if (name == "llama") return TorchaoLlama();
  if (name == "custom") return CustomShape(line);
  if (name == "dsv3-671b") return TorchaoDeepSeek();
  if (name == "dsv3-16b-671b") return TorchaoDeepSeekFeedForward();
  return Squares(name == "pow2_extended");
}

// Empty for what may be a model.
absl::StatusOr<Shapes> ListedShapes(const CommandLine& line,
                                    const std::string& name) {
  if (name == "sweep") return SweepOf(line);
  if (name == "pow2") return Squares(false);
  if (absl::EndsWith(name, ".csv")) return ReadShapes(name);
  if (!name.empty() && IsModelFolder(name)) return Shapes();
  if (!name.empty() && absl::ascii_isdigit(name[0])) {
    return ParseShapeList(name);
  }
  return Shapes();
}

absl::Status RefuseTokens(const CommandLine& line) {
  if (!line.Has("tokens")) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--tokens=", line.Get("tokens", ""),
                   " is of a model's layers, and no model is asked for"));
}

absl::StatusOr<Shapes> NamedShapes(const CommandLine& line,
                                   const std::string& name) {
  OCTET_ASSIGN_OR_RETURN(Shapes shapes, ListedShapes(line, name));
  if (!shapes.empty()) {
    OCTET_RETURN_IF_ERROR(RefuseTokens(line));
    return shapes;
  }
  OCTET_ASSIGN_OR_RETURN(const int64_t tokens,
                         line.GetInt("tokens", kDefaultTokens, 1, kMaxSize));
  const absl::StatusOr<Shapes> model = ModelShapes(name, tokens);
  if (!absl::IsInvalidArgument(model.status())) return model;
  return absl::InvalidArgumentError(
      absl::StrCat("--shapes=", name, " is none of sweep, pow2, ", ModelNames(),
                   ", MxKxN, FILE.csv, FOLDER/config.json"));
}

absl::StatusOr<Shapes> AllShapes(const CommandLine& line,
                                 absl::string_view or_else) {
  const bool has_size = line.Has("M") || line.Has("K") || line.Has("N");
  if (line.Has("shape_gen_name")) {
    if (line.Has("shapes") ||
        (has_size && line.Get("shape_gen_name", "") != "custom")) {
      return absl::InvalidArgumentError(
          "--shape_gen_name and other shapes are given at once");
    }
    OCTET_RETURN_IF_ERROR(RefuseTokens(line));
    return GeneratedShapes(line);
  }
  if (!has_size) {
    return NamedShapes(line, line.Get("shapes", or_else));
  }
  if (line.Has("shapes")) {
    return absl::InvalidArgumentError(
        "--shapes and one of --M, --K, --N are given at once");
  }
  OCTET_RETURN_IF_ERROR(RefuseTokens(line));
  return CustomShape(line);
}

}  // namespace

absl::StatusOr<models::LlamaConfig> ModelConfig(absl::string_view model) {
  for (const models::LlamaPreset& preset : models::LlamaPresets()) {
    if (absl::EqualsIgnoreCase(absl::StrCat(kLlama, preset.name), model)) {
      return preset.config;
    }
  }
  const std::string path(model);
  if (absl::EndsWith(model, ".json")) {
    OCTET_ASSIGN_OR_RETURN(const io::Json json, io::ReadJsonFile(path));
    return models::ParseHfConfig(json, path);
  }
  if (model.find('/') != absl::string_view::npos ||
      (!model.empty() && IsModelFolder(path))) {
    return models::ReadHfConfig(path);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("model ", model, " is none of ", ModelNames(),
                   ", no config.json, and no path of a folder that has one"));
}

const std::vector<FlagSpec>& ShapeFlags() {
  static const auto& flags = *new std::vector<FlagSpec>{
      {"shapes"},  {"tokens"},         {"M"},        {"K"},       {"N"},
      {"n_limit"}, {"shape_gen_name"}, {"min_size"}, {"max_size"}};
  return flags;
}

std::string ShapeUsage() {
  return absl::StrCat(
      "  --shapes=WHICH           sweep (M, K, N of 512 to 32768), pow2 "
      "(squares "
      "of 1024 to\n"
      "                           16384), MxKxN[,MxKxN...], FILE.csv with "
      "M,K,N, "
      "a model's:\n                           FOLDER, its config.json or ",
      ModelNames(),
      "\n  --tokens=8192            M of a model's layers\n"
      "  --min_size=, --max_size= of the sweep, which doubles\n"
      "  --M=, --K=, --N=         one shape\n"
      "  --n_limit=COUNT          the first ones alone\n"
      "  --shape_gen_name=WHICH   torchao's: pow2, pow2_extended, sweep (from "
      "256), llama, custom,\n"
      "                           dsv3-671b (DeepSeek-V3's shapes, 81920 "
      "tokens), dsv3-16b-671b\n"
      "                           (its dense feed-forward layers, 4096 "
      "tokens)\n");
}

absl::StatusOr<Shapes> ShapesOf(const CommandLine& line,
                                absl::string_view or_else) {
  OCTET_ASSIGN_OR_RETURN(const int64_t limit,
                         line.GetInt("n_limit", kMaxSize, 1, kMaxSize));
  OCTET_ASSIGN_OR_RETURN(Shapes shapes, AllShapes(line, or_else));
  if (limit < static_cast<int64_t>(shapes.size())) shapes.resize(limit);
  return shapes;
}

absl::StatusOr<Shapes> FusedShapesOf(const CommandLine& line,
                                     absl::string_view or_else) {
  for (const char* flag : {"M", "shape_gen_name", "n_limit"}) {
    if (line.Has(flag)) return Shapes();
  }
  const std::string name = line.Get("shapes", or_else);
  if (name.empty() || absl::ascii_isdigit(name[0])) return Shapes();
  const auto config = ModelConfig(name);
  if (!config.ok()) return Shapes();  // ShapesOf has said what is wrong
  OCTET_ASSIGN_OR_RETURN(const int64_t tokens,
                         line.GetInt("tokens", kDefaultTokens, 1, kMaxSize));
  const int64_t heads = config->num_heads + 2 * config->num_kv_heads;
  return Shapes{
      {"qkv", {tokens, config->hidden_size, heads * config->head_dim}},
      {"gate_up",
       {tokens, config->hidden_size, 2 * config->intermediate_size}}};
}

absl::Status CheckSweepSizes(const CommandLine& line,
                             absl::string_view or_else) {
  const bool is_sweep = line.Get("shapes", or_else) == "sweep" &&
                        !line.Has("M") && !line.Has("shape_gen_name");
  for (const char* flag : {"min_size", "max_size"}) {
    if (line.Has(flag) && !is_sweep) {
      return absl::InvalidArgumentError(
          absl::StrCat("--", flag, "=", line.Get(flag, ""),
                       " is of --shapes=sweep, which is not asked for"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Shapes> ModelShapes(absl::string_view model, int64_t tokens) {
  OCTET_ASSIGN_OR_RETURN(const models::LlamaConfig config, ModelConfig(model));
  return LayersOf(config, tokens);
}

std::string ModelNames() {
  std::vector<std::string> names;
  for (const models::LlamaPreset& preset : models::LlamaPresets()) {
    names.push_back(absl::StrCat(kLlama, absl::AsciiStrToLower(preset.name)));
  }
  return absl::StrJoin(names, ", ");
}

absl::StatusOr<Shapes> ParseShapeList(absl::string_view text) {
  Shapes shapes;
  for (const absl::string_view word : absl::StrSplit(text, ',')) {
    const std::vector<absl::string_view> sizes = absl::StrSplit(word, 'x');
    if (sizes.size() != 3) {
      return absl::InvalidArgumentError(
          absl::StrCat("shape \"", word, "\" is not MxKxN, as 512x1024x2048"));
    }
    const std::string what = absl::StrCat("shape ", word, ":");
    LayerShape shape;
    OCTET_ASSIGN_OR_RETURN(shape.sizes.m, SizeOf(sizes[0], what));
    OCTET_ASSIGN_OR_RETURN(shape.sizes.k, SizeOf(sizes[1], what));
    OCTET_ASSIGN_OR_RETURN(shape.sizes.n, SizeOf(sizes[2], what));
    shapes.push_back(std::move(shape));
  }
  return shapes;
}

}  // namespace octet::tools
