// SPDX-License-Identifier: Apache-2.0

// Seconds of kernels and of a linear layer on a GPU: each kernel takes the
// longest of its memory, its FLOPs and its wire, and its launches on top.
//
// torchao's models have their own rules: pr668 has no memory bound for GEMMs
// and adds 2 us per small extra kernel; pr1789 and head give every kernel at
// least a launch's time instead of adding it.
#ifndef OCTET_ROOFLINE_BOUND_H_
#define OCTET_ROOFLINE_BOUND_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "roofline/cost.h"
#include "roofline/hardware.h"
#include "roofline/kernel_cost.h"
#include "roofline/polynomial.h"

namespace octet::roofline {

// Peaks times achievable shares, or what was measured where it was, and shares
// where not.
enum class Rates { kPeakShare, kCalibrated };

// Kernels one by one, or in a CUDA graph.
enum class Launch { kSingle, kGraph };

struct BoundOptions {
  Rates rates = Rates::kPeakShare;
  Launch launch = Launch::kGraph;
  // Communication runs beside the kernels of its pass; what is longer counts.
  bool overlap_communication = true;
  // Seconds of a GEMM with sizes m, k, n in place of the model's; its errors
  // are returned.
  std::function<absl::StatusOr<double>(absl::string_view mode, int64_t m,
                                       int64_t k, int64_t n)>
      gemm_seconds;
};

enum class Limit { kMemory, kCompute, kWire, kLaunch };

// "memory", "compute", "wire", "launch".
absl::string_view LimitName(Limit limit);

// Of all its runs: times KernelCost::count.
struct KernelBound {
  double seconds = 0;
  double memory_seconds = 0;
  double compute_seconds = 0;
  double wire_seconds = 0;
  double launch_seconds = 0;     // with a GEMM's fixed time
  Limit limit = Limit::kMemory;  // the longest of the four
};

// InvalidArgument if a size is not positive, the hardware cannot be, or has no
// rate for the kernel (float8 on an A100).
absl::StatusOr<KernelBound> BoundKernel(const KernelCost& kernel,
                                        const Sizes& sizes, CostModel model,
                                        const Hardware& hardware,
                                        const BoundOptions& options);

struct LinearBound {
  double bf16_gemm_seconds = 0;
  double bf16_seconds = 0;  // with norm and exposed communication
  double gemm_seconds = 0;
  double overhead_seconds = 0;  // amax and casts
  double other_seconds = 0;     // norm
  double communication_seconds = 0;
  double exposed_seconds = 0;  // of communication
  double seconds = 0;
  double speedup = 0;            // bf16_seconds / seconds; below 1: slower
  Limit limit = Limit::kMemory;  // of most of the time
};

// One recipe on one GPU for many shapes: formulas are built once.
class LinearModel {
 public:
  // Errors of LinearCost and BoundKernel: also for the bf16 layer it is
  // compared with.
  static absl::StatusOr<LinearModel> Create(const LinearOptions& options,
                                            const Hardware& hardware,
                                            const BoundOptions& bound);

  absl::StatusOr<LinearBound> Bound(const Sizes& sizes) const;

  // One for each of kernels().
  absl::StatusOr<std::vector<KernelBound>> BoundKernels(
      const Sizes& sizes) const;

  // Seconds as formulas: of GEMMs by their FLOPs, and of amaxes and casts by
  // bytes and launches. pr668's whole model; of the others what is left when
  // no kernel is short, as the longest of several is no polynomial.
  absl::StatusOr<Polynomial> GemmSeconds() const;
  Polynomial OverheadSeconds() const;

  const std::vector<KernelCost>& kernels() const { return kernels_; }
  const std::vector<KernelCost>& bf16_kernels() const { return bf16_; }
  const Hardware& hardware() const { return hardware_; }

 private:
  LinearModel() = default;

  CostModel model_ = CostModel::kOctet;
  std::vector<KernelCost> kernels_;
  std::vector<KernelCost> bf16_;
  Hardware hardware_;
  BoundOptions options_;
};

}  // namespace octet::roofline

#endif  // OCTET_ROOFLINE_BOUND_H_
