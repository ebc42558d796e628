// SPDX-License-Identifier: Apache-2.0
#include "tools/roofline/options.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "roofline/hardware_file.h"
#include "roofline/torchao_hardware.h"

namespace octet::tools {
namespace {

using roofline::CostModel;

constexpr char kOurs[] = "H200";
constexpr char kTorchaos[] = "H100";
constexpr char kMaker[] = "NVIDIA ";
constexpr int64_t kMany = 1 << 20;

// The value of whichever of two names for one thing is given.
absl::StatusOr<std::string> Either(const CommandLine& line,
                                   absl::string_view ours,
                                   absl::string_view theirs) {
  if (line.Has(ours) && line.Has(theirs)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--", ours, " and --", theirs, " are given at once"));
  }
  return line.Get(line.Has(theirs) ? theirs : ours, "");
}

absl::StatusOr<std::string> RecipeOf(const CommandLine& line) {
  for (const char* flag : {"recipe", "float8_recipe_name", "mx_recipe_name"}) {
    if (line.Get(flag, "-").empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--", flag, "= names no recipe"));
    }
  }
  OCTET_ASSIGN_OR_RETURN(std::string recipe,
                         Either(line, "recipe", "float8_recipe_name"));
  const std::string mx = line.Get("mx_recipe_name", "");
  if (mx.empty() || mx == "None") return recipe.empty() ? "tensorwise" : recipe;
  if (recipe.empty() || recipe == "None") return mx;
  return absl::InvalidArgumentError(absl::StrCat(
      "--mx_recipe_name=", mx, " and recipe ", recipe, " are given at once"));
}

absl::StatusOr<bool> EitherBool(const CommandLine& line, absl::string_view ours,
                                absl::string_view theirs) {
  OCTET_ASSIGN_OR_RETURN(const std::string value, Either(line, ours, theirs));
  return value == "true";
}

absl::Status SetScaling(const CommandLine& line, absl::string_view flag,
                        roofline::Scaling* scaling) {
  OCTET_ASSIGN_OR_RETURN(const std::string value,
                         line.GetChoice(flag, {"dynamic", "delayed"}));
  OCTET_ASSIGN_OR_RETURN(*scaling, roofline::ParseScaling(value));
  return absl::OkStatus();
}

absl::StatusOr<roofline::LinearOptions> OptionsOf(const CommandLine& line,
                                                  CostModel model) {
  roofline::LinearOptions options;
  options.model = model;
  OCTET_ASSIGN_OR_RETURN(options.recipe, RecipeOf(line));
  OCTET_ASSIGN_OR_RETURN(
      options.fused_producer,
      EitherBool(line, "fused_producer", "enable_fusion_modeling"));
  OCTET_ASSIGN_OR_RETURN(options.compile_limitations,
                         EitherBool(line, "compile_limitations",
                                    "model_torch_compile_limitations"));
  OCTET_RETURN_IF_ERROR(
      SetScaling(line, "scaling_type_input", &options.scaling_input));
  OCTET_RETURN_IF_ERROR(
      SetScaling(line, "scaling_type_weight", &options.scaling_weight));
  OCTET_RETURN_IF_ERROR(SetScaling(line, "scaling_type_grad_output",
                                   &options.scaling_grad_output));
  options.saved_transposes = line.GetBool("saved_transposes", true);
  options.recompute = line.GetBool("recompute", false);
  options.norm = line.GetBool("norm", false);
  OCTET_ASSIGN_OR_RETURN(options.microbatches,
                         line.GetInt("microbatches", 1, 1, kMany));
  OCTET_ASSIGN_OR_RETURN(options.ranks, line.GetInt("ranks", 1, 1, kMany));
  OCTET_ASSIGN_OR_RETURN(
      const std::string gather,
      line.GetChoice("gather", {"none", "bf16", "fp8", "float8"}));
  options.gather = gather == "fp8" || gather == "float8"
                       ? roofline::Gather::kFp8
                   : gather == "bf16" ? roofline::Gather::kBf16
                                      : roofline::Gather::kNone;
  if (model == CostModel::kOctet) {
    if (options.ranks > 1 && options.gather == roofline::Gather::kNone) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--ranks=", options.ranks,
          " needs --gather=bf16 or --gather=fp8: what the GPUs gather"));
    }
    if (!line.Has("ranks") && options.gather != roofline::Gather::kNone) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--gather=", gather, " is of several GPUs: --ranks=COUNT"));
    }
  }
  // One rank has all of it; the other models say that they have no gather.
  if (options.ranks == 1 && model == CostModel::kOctet) {
    options.gather = roofline::Gather::kNone;
  }
  return options;
}

absl::Status SetRates(const CommandLine& line, LinearSetup* setup) {
  OCTET_ASSIGN_OR_RETURN(
      const std::string rates,
      line.GetChoice("rates", {"auto", "peak", "calibrated"}));
  const bool has_rates = !setup->hardware.gemm_flops.empty();
  const bool is_ours = setup->options.model == CostModel::kOctet;
  if (rates == "calibrated" && !has_rates) {
    return absl::InvalidArgumentError(
        absl::StrCat("--rates=calibrated, but no rates of ",
                     setup->hardware.name, " were measured"));
  }
  if (rates == "calibrated" || (rates == "auto" && has_rates && is_ours)) {
    setup->bound.rates = roofline::Rates::kCalibrated;
  }
  OCTET_ASSIGN_OR_RETURN(const std::string launch,
                         line.GetChoice("launch", {"graph", "single"}));
  setup->bound.launch =
      launch == "graph" ? roofline::Launch::kGraph : roofline::Launch::kSingle;
  setup->bound.overlap_communication =
      line.GetBool("overlap_communication", true);
  return absl::OkStatus();
}

bool IsFile(const CommandLine& line) {
  return absl::EndsWith(line.Get("hardware", ""), ".toml");
}

// What the recipe needs of the card and a card that is built in lacks; "": it
// lacks nothing. cuBLASLt has 128x128 scales on compute capability 9.0 alone,
// and the tensor cores that take 1x32 scales are those that have 4-bit floats.
std::string LackOf(const std::string& recipe,
                   const roofline::Hardware& hardware) {
  if (recipe == "mxfp8" && hardware.fp4_flops <= 0) {
    return "products with 1x32 scales, which are of Blackwell (B200, GB200)";
  }
  const bool is_hopper = absl::StartsWith(hardware.name, "H100") ||
                         absl::StartsWith(hardware.name, "H200");
  if (recipe == "blockwise" && !is_hopper) {
    return "products with 128x128 scales, which are of Hopper (H100, H200)";
  }
  return "";
}

// A file's card is its owner's affair: such a recipe is noted, not refused.
absl::Status CheckCard(const CommandLine& line, LinearSetup* setup) {
  if (setup->options.model != CostModel::kOctet) return absl::OkStatus();
  const std::string lack = LackOf(setup->options.recipe, setup->hardware);
  if (!lack.empty() && IsFile(line)) {
    setup->caveat = absl::StrCat("not checked: whether ", setup->hardware.name,
                                 " has ", lack);
  }
  return CheckRecipe(line, setup->options.recipe, setup->hardware);
}

// The products' modes that have no measured rate, and "memory".
std::vector<std::string> NotCalibrated(const LinearSetup& setup) {
  std::vector<std::string> names;
  for (const std::string& recipe :
       {std::string("bf16"), setup.options.recipe}) {
    roofline::LinearOptions options = setup.options;
    options.recipe = recipe;
    if (recipe == "bf16") options.gather = roofline::Gather::kNone;
    const auto kernels = LinearCost(options);
    if (!kernels.ok()) continue;  // said where the model is made
    for (const roofline::KernelCost& kernel : *kernels) {
      if (kernel.part == "gemm" && setup.lookups == nullptr &&
          setup.hardware.gemm_flops.count(
              CalibratedMode(setup.hardware, kernel.mode)) == 0 &&
          !absl::c_linear_search(names, kernel.mode)) {
        names.push_back(kernel.mode);
      }
    }
  }
  if (setup.hardware.copy_rate <= 0) names.push_back("memory");
  return names;
}

std::string RatesText(const LinearSetup& setup) {
  const std::string shares = "peak times achievable share";
  if (setup.bound.rates != roofline::Rates::kCalibrated) return shares;
  const std::vector<std::string> rest = NotCalibrated(setup);
  if (rest.empty()) return "calibrated";
  return absl::StrCat("calibrated, but ", absl::StrJoin(rest, ", "), ": ",
                      shares);
}

}  // namespace

const std::vector<FlagSpec>& HardwareFlags() {
  static const auto& flags = *new std::vector<FlagSpec>([] {
    std::vector<FlagSpec> all = {{"hardware"}, {"rates"}, {"launch"}};
    all.insert(all.end(), GemmTimeFlags().begin(), GemmTimeFlags().end());
    return all;
  }());
  return flags;
}

std::string HardwareUsage() {
  return absl::StrCat(
      "  --hardware=NAME|FILE.toml  ", roofline::KnownHardwareNames(),
      "\n"
      "  --rates=auto|peak|calibrated   peaks times achievable shares, or what "
      "was measured\n"
      "  --launch=graph|single    kernels in a CUDA graph, or one by "
      "one\n",
      GemmTimeUsage());
}

const std::vector<FlagSpec>& ModelFlags() {
  static const auto& flags = *new std::vector<FlagSpec>{
      {"cost_model"},
      {"recipe"},
      {"float8_recipe_name"},
      {"mx_recipe_name"},
      {"fused_producer", FlagKind::kBool},
      {"enable_fusion_modeling", FlagKind::kBool},
      {"compile_limitations", FlagKind::kBool},
      {"model_torch_compile_limitations", FlagKind::kBool},
      {"scaling_type_input"},
      {"scaling_type_weight"},
      {"scaling_type_grad_output"},
      {"saved_transposes", FlagKind::kBool},
      {"recompute", FlagKind::kBool},
      {"norm", FlagKind::kBool},
      {"microbatches"},
      {"gather"},
      {"ranks"},
      {"overlap_communication", FlagKind::kBool}};
  return flags;
}

std::string ModelUsage() {
  std::string usage =
      "  --cost_model=octet|pr668|pr1789|head   this engine's kernels, or "
      "torchao's roofline\n"
      "                           of August 2024, March 2025 or August 2026\n"
      "  --recipe=NAME            (also --float8_recipe_name, "
      "--mx_recipe_name)\n";
  for (const CostModel model : roofline::CostModels()) {
    absl::StrAppendFormat(&usage, "                           %-7s %s\n",
                          roofline::CostModelName(model),
                          absl::StrJoin(roofline::CostRecipes(model), ", "));
  }
  absl::StrAppend(
      &usage,
      "  --fused_producer         what makes x and dy also takes amax or "
      "casts\n"
      "                           (--enable_fusion_modeling)\n"
      "  --model_torch_compile_limitations, "
      "--scaling_type_input=dynamic|delayed,\n"
      "  --scaling_type_weight=, --scaling_type_grad_output=   of pr668\n"
      "  --nosaved_transposes, --recompute, --norm, --microbatches=COUNT,\n"
      "  --gather=none|bf16|fp8, --ranks=COUNT, --nooverlap_communication   of "
      "octet\n");
  return usage;
}

absl::StatusOr<roofline::Hardware> HardwareOf(const CommandLine& line,
                                              CostModel model) {
  const bool is_ours = model == CostModel::kOctet;
  const std::string name = line.Get("hardware", is_ours ? kOurs : kTorchaos);
  if (IsFile(line)) return roofline::ReadHardware(name);
  absl::StatusOr<roofline::Hardware> hardware =
      is_ours ? roofline::FindHardware(name)
              : roofline::TorchaoHardware(model, name);
  // The forms after #668 have a driver's names.
  if (!hardware.ok() && !is_ours && model != CostModel::kPr668) {
    absl::StatusOr<roofline::Hardware> full =
        roofline::TorchaoHardware(model, absl::StrCat(kMaker, name));
    if (full.ok()) return full;
  }
  if (!hardware.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--hardware=", name, ": ", hardware.status().message()));
  }
  return hardware;
}

std::string LinearSetup::ToString() const {
  std::string text = absl::StrFormat(
      "%s: %.4g TFLOP/s bf16, %.4g fp8 (dense), %.4g TB/s; rates: %s\n",
      hardware.name, hardware.bf16_flops * 1e-12, hardware.fp8_flops * 1e-12,
      hardware.memory_rate * 1e-12, RatesText(*this));
  absl::StrAppend(&text, "recipe ", options.recipe, ", cost model ",
                  roofline::CostModelName(options.model), ", GEMM times ",
                  lookups == nullptr ? "by roofline"
                  : lookups->table->device().empty()
                      ? "measured"
                      : absl::StrCat("measured on ", lookups->table->device()),
                  "\n");
  if (!caveat.empty()) absl::StrAppend(&text, caveat, "\n");
  return text;
}

absl::StatusOr<LinearSetup> SetupOf(const CommandLine& line,
                                    CostModel default_model,
                                    absl::string_view default_strategy) {
  CostModel model = default_model;
  if (line.Has("cost_model")) {
    OCTET_ASSIGN_OR_RETURN(
        const std::string name,
        line.GetChoice("cost_model", {"octet", "pr668", "pr1789", "head"}));
    OCTET_ASSIGN_OR_RETURN(model, roofline::ParseCostModel(name));
  }
  LinearSetup setup;
  OCTET_ASSIGN_OR_RETURN(setup.options, OptionsOf(line, model));
  OCTET_ASSIGN_OR_RETURN(setup.hardware, HardwareOf(line, model));
  OCTET_RETURN_IF_ERROR(CheckCard(line, &setup));
  OCTET_RETURN_IF_ERROR(SetRates(line, &setup));
  OCTET_ASSIGN_OR_RETURN(
      setup.lookups,
      SetGemmTimes(line, default_strategy, setup.hardware, &setup.bound));
  return setup;
}

absl::Status CheckRecipe(const CommandLine& line, const std::string& recipe,
                         const roofline::Hardware& hardware) {
  const std::string lack = LackOf(recipe, hardware);
  if (lack.empty() || IsFile(line)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "--recipe=", recipe, ": ", hardware.name, " has no ", lack,
      "; choose another recipe or card (a card's own FILE.toml is not "
      "checked)"));
}

absl::StatusOr<roofline::LinearModel> ModelOf(const LinearSetup& setup) {
  return roofline::LinearModel::Create(setup.options, setup.hardware,
                                       setup.bound);
}

}  // namespace octet::tools
