// SPDX-License-Identifier: Apache-2.0

#include "train/job_config.h"

#include <algorithm>
#include <variant>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/device.h"
#include "base/status_macros.h"
#include "float8/recipe_override.h"
#include "train/job_keys.h"
#include "train/job_recipe.h"

namespace octet::train {
namespace {

constexpr absl::string_view kFloat8Prefix = "float8.";

absl::Status Wrong(const JobKey& key, absl::string_view value,
                   absl::string_view right) {
  return absl::InvalidArgumentError(
      absl::StrCat(key.name, " is ", value, ", must be ", right));
}

std::string BoundText(const JobKey& key, double bound) {
  return std::holds_alternative<int64_t*>(key.value)
             ? absl::StrCat(static_cast<int64_t>(bound))
             : absl::StrFormat("%.9g", bound);
}

std::string RangeText(const JobKey& key) {
  return absl::StrCat("in [", BoundText(key, key.min), ", ",
                      BoundText(key, key.max), "]");
}

// "-12": what fails to be an int64 only by its size.
bool IsWholeNumber(absl::string_view text) {
  absl::ConsumePrefix(&text, "-");
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return c >= '0' && c <= '9';
  });
}

// Sets a value from its text by type.
struct Setter {
  const JobKey& key;
  absl::string_view text;

  absl::Status operator()(bool* value) const {
    if (text != "true" && text != "false") {
      return Wrong(key, text, "true or false");
    }
    *value = text == "true";
    return absl::OkStatus();
  }
  absl::Status operator()(int64_t* value) const {
    int64_t number;
    if (!absl::SimpleAtoi(text, &number)) {
      return Wrong(key, text,
                   IsWholeNumber(text) ? RangeText(key) : "a whole number");
    }
    // As integers: 2^53 + 1 is 2^53 as a double.
    if (number < static_cast<int64_t>(key.min) ||
        number > static_cast<int64_t>(key.max)) {
      return Wrong(key, text, RangeText(key));
    }
    *value = number;
    return absl::OkStatus();
  }
  absl::Status operator()(double* value) const {
    double number;
    if (!absl::SimpleAtod(text, &number)) return Wrong(key, text, "a number");
    if (!(number >= key.min && number <= key.max)) {
      return Wrong(key, text, RangeText(key));
    }
    *value = number;
    return absl::OkStatus();
  }
  absl::Status operator()(std::string* value) const {
    bool known = key.choices.empty();
    for (const std::string& choice : key.choices) known |= text == choice;
    if (!known) {
      return Wrong(key, absl::StrCat("\"", text, "\""),
                   absl::StrJoin(key.choices, ", "));
    }
    *value = std::string(text);
    return absl::OkStatus();
  }
  absl::Status operator()(std::vector<std::string>* value) const {
    *value = absl::StrSplit(text, ',', absl::SkipWhitespace());
    return absl::OkStatus();
  }
};

std::vector<std::string> AllNames() {
  JobConfig config;
  std::vector<std::string> names;
  for (const JobKey& key : JobKeys(&config)) names.push_back(key.name);
  for (const std::string& key : float8::OverrideKeys()) {
    names.push_back(absl::StrCat(kFloat8Prefix, key));
  }
  return names;
}

// "job, model, ..."
std::string Sections() {
  std::vector<std::string> sections;
  for (const std::string& name : AllNames()) {
    const std::string section = name.substr(0, name.find('.'));
    if (std::find(sections.begin(), sections.end(), section) ==
        sections.end()) {
      sections.push_back(section);
    }
  }
  return absl::StrJoin(sections, ", ");
}

}  // namespace

absl::Status SetKey(absl::string_view name, absl::string_view value,
                    JobConfig* config) {
  for (const JobKey& key : JobKeys(config)) {
    if (key.name == name) return std::visit(Setter{key, value}, key.value);
  }
  if (absl::StartsWith(name, kFloat8Prefix)) {
    const std::string inner(name.substr(kFloat8Prefix.size()));
    for (const std::string& known : float8::OverrideKeys()) {
      if (known != inner) continue;
      float8::Recipe scratch;
      OCTET_RETURN_IF_ERROR(float8::ApplyOverride(&scratch, inner, value));
      auto& overrides = config->float8.overrides;
      overrides.erase(
          std::remove_if(overrides.begin(), overrides.end(),
                         [&](const auto& o) { return o.first == inner; }),
          overrides.end());
      overrides.emplace_back(inner, std::string(value));
      return absl::OkStatus();
    }
  }
  const std::string nearest = NearestWord(std::string(name), AllNames());
  return absl::InvalidArgumentError(absl::StrCat(
      "unknown key ", name, "; ",
      nearest.empty() ? absl::StrCat("sections are ", Sections())
                      : absl::StrCat("the nearest one is ", nearest)));
}

absl::Status Validate(const JobConfig& config) {
  const auto& t = config.training;
  if (t.global_batch_size != -1 &&
      (t.global_batch_size < 1 || t.global_batch_size % t.local_batch_size)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "training.global_batch_size is ", t.global_batch_size,
        ", must be -1 or a multiple of training.local_batch_size, which is ",
        t.local_batch_size));
  }
  if (t.dtype == "bfloat16" && t.mixed_precision_param != "bfloat16") {
    return absl::InvalidArgumentError(
        absl::StrCat("training.dtype is bfloat16, which wants "
                     "training.mixed_precision_param=bfloat16, not ",
                     t.mixed_precision_param));
  }
  for (const auto& [key, value] :
       {std::make_pair("job.dump_folder", config.job.dump_folder),
        std::make_pair("data.path", config.data.path)}) {
    if (value.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(key, " is empty"));
    }
  }
  // Whether there is such a device is not the arguments' matter.
  const absl::Status device = ResolveDevice(config.job.device).status();
  if (absl::IsInvalidArgument(device)) {
    return absl::InvalidArgumentError(
        absl::StrCat("job.device: ", device.message()));
  }
  const std::string& folder = config.checkpoint.folder;
  if (folder.empty() || folder[0] == '/' || folder == "." ||
      absl::StrContains(folder, "..")) {
    return absl::InvalidArgumentError(
        absl::StrCat("checkpoint.folder is \"", folder,
                     "\", must be a folder inside job.dump_folder"));
  }
  if (config.lr_scheduler.decay_ratio < 0 &&
      config.lr_scheduler.decay_ratio != -1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "lr_scheduler.decay_ratio is ", config.lr_scheduler.decay_ratio,
        ", must be -1 or in [0, 1]"));
  }
  if (config.sample.tokens > 0 && config.sample.prompt.empty()) {
    return absl::InvalidArgumentError(
        "sample.prompt is empty; sample.tokens=0 wants no sample");
  }
  return MakeRecipe(config).status();
}

std::string DumpToml(const JobConfig& config) {
  JobConfig copy = config;
  std::string out;
  std::string section;
  for (const JobKey& key : JobKeys(&copy)) {
    const std::pair<std::string, std::string> name =
        absl::StrSplit(key.name, '.');
    if (name.first != section) {
      section = name.first;
      absl::StrAppend(&out, out.empty() ? "" : "\n", "[", section, "]\n");
    }
    absl::StrAppend(&out, name.second, " = ", ToToml(key.value), "\n");
    if (key.name != "float8.filter_fqns") continue;
    for (auto& [inner, value] : copy.float8.overrides) {
      absl::StrAppend(&out, inner, " = ", ToToml(&value), "\n");
    }
  }
  return out;
}

std::vector<std::string> Differences(const JobConfig& now,
                                     const JobConfig& before) {
  JobConfig a = now;
  JobConfig b = before;
  const std::vector<JobKey> keys = JobKeys(&a);
  const std::vector<JobKey> others = JobKeys(&b);
  std::vector<std::string> differences;
  for (size_t i = 0; i < keys.size(); ++i) {
    const std::string x = ToToml(keys[i].value);
    const std::string y = ToToml(others[i].value);
    if (keys[i].is_fixed && x != y) {
      differences.push_back(absl::StrCat(keys[i].name, " is ", x, ", was ", y));
    }
  }
  if (a.float8.overrides != b.float8.overrides) {
    differences.push_back("the float8 overrides differ");
  }
  return differences;
}

std::string KeysHelp() {
  JobConfig config;
  std::string out;
  for (const JobKey& key : JobKeys(&config)) {
    absl::StrAppend(&out, "  --", key.name, "=", ToToml(key.value), "\n      ",
                    key.help);
    if (!key.choices.empty()) {
      absl::StrAppend(&out, " (", absl::StrJoin(key.choices, ", "), ")");
    }
    absl::StrAppend(&out, "\n");
  }
  absl::StrAppend(&out,
                  "  --float8.<choice>=...\n      changes one choice of "
                  "the recipe: ",
                  absl::StrJoin(float8::OverrideKeys(), ", "), "\n");
  return out;
}

}  // namespace octet::train
