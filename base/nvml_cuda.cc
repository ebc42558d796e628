// SPDX-License-Identifier: Apache-2.0
#include "base/nvml_cuda.h"

#include <cuda_runtime.h>
#include <dlfcn.h>

#include "absl/strings/str_cat.h"
#include "base/cuda_status.h"
#include "base/status_macros.h"

namespace octet {
namespace {

// Of nvml.h, whose functions and values are stable.
using NvmlDevice = void*;
constexpr int kSmClock = 1;

struct Nvml {
  int (*init)() = nullptr;
  int (*by_bus_id)(const char*, NvmlDevice*) = nullptr;
  int (*clock)(NvmlDevice, int type, unsigned* mhz) = nullptr;
  int (*power)(NvmlDevice, unsigned* milliwatts) = nullptr;
  absl::Status status;
};

Nvml Open() {
  Nvml nvml;
  void* const library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    nvml.status = absl::NotFoundError("libnvidia-ml.so.1 is not there");
    return nvml;
  }
  const auto find = [&](const char* name, auto* function) {
    void* const symbol = dlsym(library, name);
    if (symbol == nullptr && nvml.status.ok()) {
      nvml.status =
          absl::NotFoundError(absl::StrCat("libnvidia-ml.so.1 has no ", name));
    }
    *reinterpret_cast<void**>(function) = symbol;
  };
  find("nvmlInit_v2", &nvml.init);
  find("nvmlDeviceGetHandleByPciBusId_v2", &nvml.by_bus_id);
  find("nvmlDeviceGetClockInfo", &nvml.clock);
  find("nvmlDeviceGetPowerUsage", &nvml.power);
  if (!nvml.status.ok()) return nvml;
  const int error = nvml.init();
  if (error != 0) {
    nvml.status = absl::UnavailableError(absl::StrCat("nvmlInit: ", error));
  }
  return nvml;
}

}  // namespace

absl::StatusOr<DeviceSensors> ReadSensors(int index) {
  static const Nvml nvml = Open();
  OCTET_RETURN_IF_ERROR(nvml.status);
  char bus_id[32];
  OCTET_RETURN_IF_ERROR(
      CudaStatus(cudaDeviceGetPCIBusId(bus_id, sizeof(bus_id), index),
                 "cudaDeviceGetPCIBusId"));
  NvmlDevice device = nullptr;
  unsigned mhz = 0, milliwatts = 0;
  int error = nvml.by_bus_id(bus_id, &device);
  if (error == 0) error = nvml.clock(device, kSmClock, &mhz);
  if (error == 0) error = nvml.power(device, &milliwatts);
  if (error != 0) {
    return absl::UnavailableError(
        absl::StrCat("NVML error ", error, " for ", bus_id));
  }
  return DeviceSensors{static_cast<double>(mhz), milliwatts / 1e3};
}

}  // namespace octet
