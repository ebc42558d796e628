// SPDX-License-Identifier: Apache-2.0

#include "float8/gemm_algorithms.h"

#include "base/device.h"
#include "base/status_macros.h"

namespace octet::float8 {
namespace {

absl::StatusOr<internal::GemmAlgorithmFunctions> Functions() {
  OCTET_ASSIGN_OR_RETURN(
      internal::GemmAlgorithmFunctions(*const functions)(),
      internal::GemmAlgorithmSlot().Get(Device{DeviceKind::kCuda, 0}));
  return functions();
}

}  // namespace

namespace internal {

KernelSlot<GemmAlgorithmFunctions()>& GemmAlgorithmSlot() {
  static KernelSlot<GemmAlgorithmFunctions()> slot("//float8:gemm_cuda",
                                                   nullptr);
  return slot;
}

}  // namespace internal

absl::Status SetGemmAlgorithmMode(GemmAlgorithmMode mode) {
  OCTET_ASSIGN_OR_RETURN(const auto functions, Functions());
  functions.set_mode(mode);
  return absl::OkStatus();
}

absl::Status SaveGemmAlgorithms(const std::string& path) {
  OCTET_ASSIGN_OR_RETURN(const auto functions, Functions());
  return functions.save(path);
}

absl::StatusOr<LoadedGemmAlgorithms> LoadGemmAlgorithms(
    const std::string& path) {
  OCTET_ASSIGN_OR_RETURN(const auto functions, Functions());
  return functions.load(path);
}

}  // namespace octet::float8
