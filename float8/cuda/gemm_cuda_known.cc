// SPDX-License-Identifier: Apache-2.0

#include "float8/cuda/gemm_cuda_known.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/synchronization/mutex.h"
#include "base/cuda_status.h"
#include "base/status_macros.h"
#include "io/json.h"

namespace octet::float8::internal {
namespace {

using io::Json;

constexpr char kFormat[] = "octet gemm algorithms";
constexpr int64_t kVersion = 1;
constexpr int kWords = 8;  // of 64 bits, of an algorithm
static_assert(sizeof(cublasLtMatmulAlgo_t) == kWords * sizeof(uint64_t), "");

struct Entry {
  GemmGpu gpu;
  GemmProblem problem;
  KnownGemmAlgorithm known;
};

// By GPU, of which a process has few.
struct Table {
  GemmGpu gpu;
  absl::flat_hash_map<GemmProblem, KnownGemmAlgorithm> algorithms;
};

struct Known {
  absl::Mutex mutex;
  std::vector<Table> tables;

  Table* Find(const GemmGpu& gpu) {
    for (Table& table : tables) {
      if (table.gpu == gpu) return &table;
    }
    return nullptr;
  }
};

Known& AllKnown() {
  static Known& known = *new Known();
  return known;
}

std::string WordsOf(const cublasLtMatmulAlgo_t& algorithm) {
  std::string text;
  for (const uint64_t word : algorithm.data) {
    absl::StrAppend(&text, text.empty() ? "" : " ", absl::Hex(word));
  }
  return text;
}

absl::Status ParseWords(const std::string& text, const std::string& name,
                        cublasLtMatmulAlgo_t* algorithm) {
  const std::vector<std::string> words = absl::StrSplit(text, ' ');
  bool is_good = words.size() == kWords;
  for (int i = 0; is_good && i < kWords; ++i) {
    uint64_t word = 0;
    is_good = absl::SimpleHexAtoi(words[i], &word);
    algorithm->data[i] = word;
  }
  if (is_good) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(name, ": algorithm is \"", text,
                                          "\", must be ", kWords,
                                          " hexadecimal words"));
}

Json ToJson(const GemmGpu& gpu, const GemmProblem& problem,
            const KnownGemmAlgorithm& known) {
  Json fields = Json::object();
  for (const GemmProblemField& f : GemmProblemFields()) {
    fields[f.name] = problem.*f.field;
  }
  return {{"gpu", gpu.name},
          {"multiprocessors", gpu.multiprocessors},
          {"workspace", gpu.workspace},
          {"cublaslt", static_cast<int64_t>(cublasLtGetVersion())},
          {"microseconds", known.microseconds},
          {"algorithm", WordsOf(known.algorithm)},
          {"problem", std::move(fields)}};
}

absl::StatusOr<Entry> FromJson(const Json& json, const std::string& name) {
  Entry entry;
  OCTET_ASSIGN_OR_RETURN(entry.gpu.name, io::GetString(json, "gpu", name));
  OCTET_ASSIGN_OR_RETURN(entry.gpu.multiprocessors,
                         io::GetInt(json, "multiprocessors", name));
  OCTET_ASSIGN_OR_RETURN(entry.gpu.workspace,
                         io::GetInt(json, "workspace", name));
  OCTET_ASSIGN_OR_RETURN(entry.known.microseconds,
                         io::GetNumber(json, "microseconds", name));
  OCTET_ASSIGN_OR_RETURN(const std::string words,
                         io::GetString(json, "algorithm", name));
  OCTET_RETURN_IF_ERROR(ParseWords(words, name, &entry.known.algorithm));
  if (!json.contains("problem")) {
    return absl::DataLossError(absl::StrCat(name, ": has no problem"));
  }
  for (const GemmProblemField& f : GemmProblemFields()) {
    OCTET_ASSIGN_OR_RETURN(
        entry.problem.*f.field,
        io::GetInt(json["problem"], f.name, absl::StrCat(name, " problem")));
  }
  return entry;
}

absl::Status CheckHead(const Json& json, const std::string& path) {
  OCTET_ASSIGN_OR_RETURN(const std::string format,
                         io::GetString(json, "format", path));
  OCTET_ASSIGN_OR_RETURN(const int64_t version,
                         io::GetInt(json, "version", path));
  if (format != kFormat || version != kVersion) {
    return absl::DataLossError(absl::StrCat(path, ": is \"", format,
                                            "\" version ", version, ", not \"",
                                            kFormat, "\" version ", kVersion));
  }
  if (!json.contains("algorithms") || !json["algorithms"].is_array()) {
    return absl::DataLossError(absl::StrCat(path, ": has no algorithms"));
  }
  return absl::OkStatus();
}

// Of this machine; none without a GPU or a driver.
std::vector<GemmGpu> VisibleGpus() {
  std::vector<GemmGpu> gpus;
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) {
    cudaGetLastError();
    return gpus;
  }
  for (int i = 0; i < count; ++i) {
    if (absl::StatusOr<GemmGpu> gpu = DescribeGemmGpu(i); gpu.ok()) {
      gpus.push_back(*std::move(gpu));
    }
  }
  return gpus;
}

}  // namespace

absl::StatusOr<GemmGpu> DescribeGemmGpu(int index) {
  cudaDeviceProp properties;
  OCTET_RETURN_IF_ERROR(CudaStatus(cudaGetDeviceProperties(&properties, index),
                                   "cudaGetDeviceProperties"));
  return GemmGpu{properties.name, properties.multiProcessorCount,
                 kGemmWorkspace};
}

std::optional<KnownGemmAlgorithm> FindKnownGemm(const GemmGpu& gpu,
                                                const GemmProblem& problem) {
  Known& known = AllKnown();
  absl::MutexLock lock(&known.mutex);
  const Table* table = known.Find(gpu);
  if (table == nullptr) return std::nullopt;
  const auto it = table->algorithms.find(problem);
  if (it == table->algorithms.end()) return std::nullopt;
  return it->second;
}

void AddKnownGemm(const GemmGpu& gpu, const GemmProblem& problem,
                  const KnownGemmAlgorithm& algorithm) {
  Known& known = AllKnown();
  absl::MutexLock lock(&known.mutex);
  if (known.Find(gpu) == nullptr) known.tables.push_back({gpu, {}});
  known.Find(gpu)->algorithms[problem] = algorithm;
}

absl::Status SaveKnownGemm(const std::string& path) {
  std::vector<std::pair<std::string, Json>> sorted;  // the same bytes each time
  Known& known = AllKnown();
  {
    absl::MutexLock lock(&known.mutex);
    for (const Table& table : known.tables) {
      for (const auto& [problem, algorithm] : table.algorithms) {
        sorted.emplace_back(absl::StrCat(table.gpu.name, problem.ToString()),
                            ToJson(table.gpu, problem, algorithm));
      }
    }
  }
  std::sort(sorted.begin(), sorted.end(),
            [](const auto& x, const auto& y) { return x.first < y.first; });
  Json list = Json::array();
  for (auto& [key, json] : sorted) list.push_back(std::move(json));
  return io::WriteJsonFile(path, {{"format", kFormat},
                                  {"version", kVersion},
                                  {"algorithms", std::move(list)}});
}

absl::StatusOr<LoadedGemmAlgorithms> LoadKnownGemm(const std::string& path) {
  OCTET_ASSIGN_OR_RETURN(const Json json, io::ReadJsonFile(path));
  OCTET_RETURN_IF_ERROR(CheckHead(json, path));
  const std::vector<GemmGpu> gpus = VisibleGpus();
  LoadedGemmAlgorithms loaded;
  std::vector<Entry> usable;
  int64_t index = 0;
  for (const Json& item : json["algorithms"]) {
    const std::string name = absl::StrCat(path, ": algorithm ", index++);
    OCTET_ASSIGN_OR_RETURN(Entry entry, FromJson(item, name));
    OCTET_ASSIGN_OR_RETURN(const int64_t version,
                           io::GetInt(item, "cublaslt", name));
    if (version != static_cast<int64_t>(cublasLtGetVersion()) ||
        std::find(gpus.begin(), gpus.end(), entry.gpu) == gpus.end()) {
      ++loaded.ignored;
    } else {
      ++loaded.usable;
      usable.push_back(std::move(entry));
    }
  }
  for (const Entry& entry : usable) {
    AddKnownGemm(entry.gpu, entry.problem, entry.known);
  }
  return loaded;
}

}  // namespace octet::float8::internal
