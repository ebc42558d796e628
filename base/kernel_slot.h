// SPDX-License-Identifier: Apache-2.0

// Where an operation finds its kernel for a kind of device.
//
// The CPU's is given at construction and always there. A CUDA leaf fills its
// place from a static initialiser when it is linked:
//
//   // amax.cc                           // amax_cuda.cc
//   KernelSlot<AmaxKernel>& AmaxSlot() {  const bool kRegistered =
//     static KernelSlot<AmaxKernel>           AmaxSlot().Register(
//         slot("//float8:amax_cuda",              DeviceKind::kCuda, &Amax);
//              &AmaxCpu);
//     return slot;
//   }
#ifndef OCTET_BASE_KERNEL_SLOT_H_
#define OCTET_BASE_KERNEL_SLOT_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/device.h"

namespace octet {

// `Function` is a plain function type, such as absl::Status(TensorView).
template <typename Function>
class KernelSlot {
 public:
  // `cuda_target` is the label named by the error when the leaf is missing.
  KernelSlot(const char* cuda_target, Function* cpu)
      : cuda_target_(cuda_target), cpu_(cpu) {}

  bool Register(DeviceKind kind, Function* kernel) {
    (kind == DeviceKind::kCpu ? cpu_ : cuda_) = kernel;
    return true;
  }

  absl::StatusOr<Function*> Get(const Device& device) const {
    Function* kernel = device.kind == DeviceKind::kCpu ? cpu_ : cuda_;
    if (kernel == nullptr) {
      return absl::UnimplementedError(absl::StrCat(
          "no kernel for ", device.ToString(), ": link ", cuda_target_));
    }
    return kernel;
  }

 private:
  const char* cuda_target_;
  Function* cpu_;
  Function* cuda_ = nullptr;
};

}  // namespace octet

#endif  // OCTET_BASE_KERNEL_SLOT_H_
