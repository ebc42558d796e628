// SPDX-License-Identifier: Apache-2.0

#include "train/run_device.h"

#include "absl/strings/str_cat.h"
#include "base/available_memory.h"
#include "base/device_runtime.h"
#include "base/status_macros.h"
#include "float8/gemm_algorithms.h"
#include "train/plan/memory_plan.h"

namespace octet::train {
namespace {

bool IsCpu(const Device& device) { return device.kind == DeviceKind::kCpu; }

absl::StatusOr<DeviceMemory> MemoryOf(const Device& device) {
  OCTET_ASSIGN_OR_RETURN(const DeviceRuntime* runtime,
                         GetDeviceRuntime(device.kind));
  return runtime->memory(device.index);
}

}  // namespace

absl::StatusOr<std::optional<double>> FreeMemory(const Device& device) {
  if (IsCpu(device)) {
    const absl::StatusOr<double> memory = AvailableMemory();
    return memory.ok() ? std::optional<double>(*memory) : std::nullopt;
  }
  OCTET_ASSIGN_OR_RETURN(const DeviceMemory memory, MemoryOf(device));
  return std::optional<double>(memory.free_bytes);
}

absl::Status ReadDevice(const Device& device, StepMetrics* metrics) {
  if (IsCpu(device)) {
    metrics->memory_gib = PeakProcessGib();
    return absl::OkStatus();
  }
  OCTET_ASSIGN_OR_RETURN(const DeviceMemory memory, MemoryOf(device));
  metrics->memory_gib =
      static_cast<double>(memory.total_bytes - memory.free_bytes) / (1 << 30);
  OCTET_ASSIGN_OR_RETURN(const DeviceRuntime* runtime,
                         GetDeviceRuntime(device.kind));
  const auto sensors = runtime->sensors(device.index);
  if (sensors.ok()) {
    metrics->sm_mhz = sensors->sm_mhz;
    metrics->watts = sensors->watts;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> LoadGemmCache(const Device& device,
                                          const std::string& path) {
  if (IsCpu(device) || path.empty()) return std::string();
  const auto loaded = float8::LoadGemmAlgorithms(path);
  if (absl::IsNotFound(loaded.status())) {
    return absl::StrCat("written to ", path);
  }
  OCTET_RETURN_IF_ERROR(loaded.status());
  std::string text = absl::StrCat(loaded->usable, " products from ", path);
  if (loaded->ignored > 0) {
    absl::StrAppend(&text, ", ", loaded->ignored,
                    " of another GPU or cuBLASLt ignored");
  }
  return text;
}

absl::Status SaveGemmCache(const Device& device, const std::string& path) {
  if (IsCpu(device) || path.empty()) return absl::OkStatus();
  return float8::SaveGemmAlgorithms(path);
}

absl::Status StopMeasuringGemms(const Device& device) {
  if (IsCpu(device)) return absl::OkStatus();
  return float8::SetGemmAlgorithmMode(float8::GemmAlgorithmMode::kHeuristic);
}

}  // namespace octet::train
