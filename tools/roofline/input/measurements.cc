// SPDX-License-Identifier: Apache-2.0
#include "tools/roofline/input/measurements.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "io/csv.h"
#include "io/file.h"
#include "io/json.h"

namespace octet::tools {
namespace {

absl::Status Broken(absl::string_view at, absl::string_view what) {
  return absl::DataLossError(absl::StrCat(at, ": ", what));
}

// "tensorwise/M16/K4096/N4096/iterations:1/manual_time".
bool ParseName(absl::string_view name, LinearMeasurement* out) {
  const std::vector<absl::string_view> words = absl::StrSplit(name, '/');
  if (words.size() < 4) return false;
  out->recipe = std::string(words[0]);
  const std::array<int64_t*, 3> sizes = {&out->sizes.m, &out->sizes.k,
                                         &out->sizes.n};
  for (size_t i = 0; i < 3; ++i) {
    absl::string_view word = words[i + 1];
    if (word.empty() || word[0] != "MKN"[i]) return false;
    word.remove_prefix(1);
    if (!absl::SimpleAtoi(word, sizes[i]) || *sizes[i] < 1) return false;
  }
  return !out->recipe.empty();
}

bool IsPositive(double value) { return std::isfinite(value) && value > 0.0; }

bool IsMeasurement(const io::Json& benchmark) {
  if (!benchmark.is_object()) return false;
  if (benchmark.contains("error_occurred") &&
      benchmark["error_occurred"] == true) {
    return false;
  }
  return !benchmark.contains("run_type") ||
         benchmark["run_type"] == "iteration";
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half]
                                : (values[half - 1] + values[half]) / 2.0;
}

struct StepNumbers {
  double seconds = 0, tokens_per_second = 0, tflops = 0, memory_gib = 0;
};

absl::StatusOr<StepNumbers> NumbersOf(const io::Json& json,
                                      const std::string& at) {
  StepNumbers step;
  const std::array<std::pair<const char*, double*>, 4> fields = {
      {{"seconds", &step.seconds},
       {"tokens_per_second", &step.tokens_per_second},
       {"tflops", &step.tflops},
       {"memory_gib", &step.memory_gib}}};
  for (const auto& [key, value] : fields) {
    OCTET_ASSIGN_OR_RETURN(*value, io::GetNumber(json, key, at));
    if (!IsPositive(*value)) {
      return Broken(at, absl::StrCat(key, " is ", *value,
                                     ", expected a positive number"));
    }
  }
  return step;
}

}  // namespace

absl::StatusOr<std::vector<LinearMeasurement>> ReadBenchmarkJson(
    const std::string& path, absl::string_view counter) {
  OCTET_ASSIGN_OR_RETURN(const io::Json json, io::ReadJsonFile(path));
  if (!json.is_object() || !json.contains("benchmarks") ||
      !json["benchmarks"].is_array()) {
    return Broken(path,
                  "has no list \"benchmarks\", as Google Benchmark's JSON has");
  }
  std::vector<LinearMeasurement> all;
  for (const io::Json& benchmark : json["benchmarks"]) {
    if (!IsMeasurement(benchmark)) continue;
    OCTET_ASSIGN_OR_RETURN(const std::string name,
                           io::GetString(benchmark, "name", path));
    LinearMeasurement measurement;
    if (!ParseName(name, &measurement)) {
      return Broken(path, absl::StrCat("\"", name,
                                       "\" is no RECIPE/M16/K4096/N4096 of "
                                       "linear_benchmark"));
    }
    OCTET_ASSIGN_OR_RETURN(
        const double microseconds,
        io::GetNumber(benchmark, counter, absl::StrCat(path, ": ", name)));
    if (!IsPositive(microseconds)) {
      return Broken(path, absl::StrCat(name, " has ", counter, " ",
                                       microseconds, ", expected a time"));
    }
    measurement.seconds = microseconds * 1e-6;
    all.push_back(measurement);
  }
  if (all.empty()) return Broken(path, "has no benchmark with a result");
  return all;
}

absl::StatusOr<std::vector<LinearMeasurement>> ReadMeasuredCsv(
    const std::string& path) {
  OCTET_ASSIGN_OR_RETURN(const std::string text, io::ReadFile(path));
  OCTET_ASSIGN_OR_RETURN(const io::CsvTable csv, io::ParseCsv(text, path));
  std::array<int, 5> columns;
  const std::array<const char*, 5> names = {"recipe", "M", "K", "N", "seconds"};
  for (size_t i = 0; i < names.size(); ++i) {
    columns[i] = csv.Find(names[i]);
    if (columns[i] < 0) {
      return Broken(absl::StrCat(path, ":1"),
                    absl::StrCat("no column ", names[i],
                                 "; needed are recipe,M,K,N,seconds"));
    }
  }
  std::vector<LinearMeasurement> all;
  for (const io::CsvRow& row : csv.rows) {
    const std::string at = absl::StrCat(path, ":", row.line);
    LinearMeasurement m;
    m.recipe = row.fields[columns[0]];
    const std::array<int64_t*, 3> sizes = {&m.sizes.m, &m.sizes.k, &m.sizes.n};
    for (size_t i = 0; i < 3; ++i) {
      const std::string& field = row.fields[columns[i + 1]];
      if (!absl::SimpleAtoi(field, sizes[i]) || *sizes[i] < 1) {
        return Broken(at, absl::StrCat(names[i + 1], " is \"", field,
                                       "\", expected a positive number"));
      }
    }
    const std::string& seconds = row.fields[columns[4]];
    if (!absl::SimpleAtod(seconds, &m.seconds) || !IsPositive(m.seconds)) {
      return Broken(at, absl::StrCat("seconds is \"", seconds,
                                     "\", expected a positive number"));
    }
    all.push_back(m);
  }
  if (all.empty()) return Broken(path, "has no row below the header");
  return all;
}

absl::StatusOr<RunMeasurement> ReadMetrics(const std::string& path,
                                           int64_t skip) {
  OCTET_ASSIGN_OR_RETURN(const std::string text, io::ReadFile(path));
  const absl::string_view whole =
      absl::StripTrailingAsciiWhitespace(absl::string_view(text));
  std::vector<double> seconds, rates, tokens, tflops;
  RunMeasurement run;
  int64_t number = 0, steps = 0;
  for (const absl::string_view line : absl::StrSplit(whole, '\n')) {
    ++number;
    if (line.empty()) continue;
    const std::string at = absl::StrCat(path, ":", number);
    const absl::StatusOr<io::Json> json = io::ParseJson(line, at);
    if (!json.ok()) {
      const bool is_last =
          line.data() + line.size() == whole.data() + whole.size();
      if (!is_last || steps == 0) return json.status();
      run.half_line = number;
      break;
    }
    OCTET_ASSIGN_OR_RETURN(const StepNumbers step, NumbersOf(*json, at));
    if (steps++ < skip) continue;
    seconds.push_back(step.seconds);
    rates.push_back(step.tokens_per_second);
    tokens.push_back(step.seconds * step.tokens_per_second);
    tflops.push_back(step.tflops);
    run.memory_gib = std::max(run.memory_gib, step.memory_gib);
  }
  if (seconds.empty()) {
    return Broken(path, absl::StrCat("has ", steps, " steps, of which ", skip,
                                     " are skipped"));
  }
  run.steps = static_cast<int64_t>(seconds.size());
  run.seconds = Median(seconds);
  run.tokens_per_second = Median(rates);
  run.tokens = Median(tokens);
  run.tflops = Median(tflops);
  return run;
}

}  // namespace octet::tools
