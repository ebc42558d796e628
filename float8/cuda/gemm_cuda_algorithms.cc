// SPDX-License-Identifier: Apache-2.0

#include "float8/cuda/gemm_cuda_algorithms.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/cuda_status.h"
#include "base/status_macros.h"
#include "float8/cuda/gemm_cuda_candidates.h"
#include "float8/cuda/gemm_cuda_timing.h"

namespace octet::float8::internal {
namespace {

constexpr int kMaxGpus = 64;           // of one process
constexpr int kMajor = 9, kMinor = 0;  // compute capability of Hopper

std::atomic<GemmAlgorithmMode>& Mode() {
  static std::atomic<GemmAlgorithmMode> mode{GemmAlgorithmMode::kMeasure};
  return mode;
}

absl::StatusOr<bool> IsCapturing(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  OCTET_RETURN_IF_ERROR(
      CudaStatus(cudaStreamIsCapturing(stream, &status), "gemm"));
  return status != cudaStreamCaptureStatusNone;
}

}  // namespace

void SetGemmMode(GemmAlgorithmMode mode) { Mode() = mode; }

absl::StatusOr<GemmDevice*> GemmDevice::Get(int index) {
  static std::array<std::atomic<GemmDevice*>, kMaxGpus> devices{};
  if (index < 0 || index >= kMaxGpus) {
    return absl::InvalidArgumentError(absl::StrCat("gemm: cuda:", index));
  }
  GemmDevice* device = devices[index].load(std::memory_order_acquire);
  if (device != nullptr) return device;
  static absl::Mutex& mutex = *new absl::Mutex();
  absl::MutexLock lock(&mutex);
  device = devices[index].load(std::memory_order_relaxed);
  if (device != nullptr) return device;
  OCTET_RETURN_IF_ERROR(CheckComputeCapability(index, kMajor, kMinor, "gemm"));
  OCTET_ASSIGN_OR_RETURN(GemmGpu gpu, DescribeGemmGpu(index));
  cublasLtHandle_t handle;
  OCTET_RETURN_IF_ERROR(
      CublasStatus(cublasLtCreate(&handle), "cublasLtCreate"));
  device = new GemmDevice(handle, std::move(gpu));
  devices[index].store(device, std::memory_order_release);
  return device;
}

GemmDevice::Choice GemmDevice::Find(const GemmProblem& problem) {
  absl::ReaderMutexLock lock(&mutex_);
  const auto it = choices_.find(problem);
  return it == choices_.end() ? nullptr : it->second;
}

void GemmDevice::Keep(const GemmProblem& problem, Choice choice) {
  absl::MutexLock lock(&mutex_);
  choices_[problem] = std::move(choice);
}

absl::StatusOr<GemmDevice::Choice> GemmDevice::FindOrChoose(
    const GemmProblem& problem, const GemmPointers& pointers,
    cudaStream_t stream) {
  Choice choice = Find(problem);
  if (choice != nullptr && choice->is_final) return choice;
  OCTET_ASSIGN_OR_RETURN(const bool is_capturing, IsCapturing(stream));
  const bool may_measure =
      Mode() == GemmAlgorithmMode::kMeasure && !is_capturing;
  if (choice != nullptr && !may_measure) return choice;
  absl::MutexLock lock(&choosing_);
  choice = Find(problem);  // by another thread, meanwhile
  if (choice != nullptr && (choice->is_final || !may_measure)) return choice;
  OCTET_ASSIGN_OR_RETURN(GemmChoice chosen,
                         Choose(problem, pointers, may_measure, stream));
  choice = std::make_shared<const GemmChoice>(std::move(chosen));
  Keep(problem, choice);
  return choice;
}

absl::StatusOr<GemmChoice> GemmDevice::Choose(const GemmProblem& problem,
                                              const GemmPointers& pointers,
                                              bool may_measure,
                                              cudaStream_t stream) {
  GemmChoice choice;
  OCTET_ASSIGN_OR_RETURN(choice.descriptors, Describe(problem));
  GemmCall call{handle_, &problem, pointers, choice.descriptors, stream};
  OCTET_RETURN_IF_ERROR(
      SetPointers(problem, pointers, &call.descriptors.operation));
  OCTET_ASSIGN_OR_RETURN(choice.candidates, GemmCandidates(call));
  std::optional<KnownGemmAlgorithm> known = FindKnownGemm(gpu_, problem);
  if (known.has_value() && CanRunGemm(call, known->algorithm)) {
    auto& all = choice.candidates;
    all.erase(std::remove_if(all.begin(), all.end(),
                             [&](const cublasLtMatmulAlgo_t& x) {
                               return IsSameGemm(x, known->algorithm);
                             }),
              all.end());
    all.insert(all.begin(), known->algorithm);
    choice.is_final = true;
    return choice;
  }
  choice.is_final = may_measure || choice.candidates.empty();
  if (!may_measure || choice.candidates.empty()) return choice;
  OCTET_ASSIGN_OR_RETURN(const std::optional<double> seconds,
                         TimeGemmCandidates(call, &choice.candidates));
  if (seconds.has_value() && !choice.candidates.empty()) {
    AddKnownGemm(gpu_, problem, {choice.candidates.front(), *seconds * 1e6});
  }
  return choice;
}

absl::Status GemmDevice::Multiply(const GemmProblem& problem,
                                  const GemmPointers& pointers,
                                  cudaStream_t stream) {
  OCTET_ASSIGN_OR_RETURN(const Choice choice,
                         FindOrChoose(problem, pointers, stream));
  GemmCall call{handle_, &problem, pointers, choice->descriptors, stream};
  OCTET_RETURN_IF_ERROR(
      SetPointers(problem, pointers, &call.descriptors.operation));
  for (size_t i = 0; i < choice->candidates.size(); ++i) {
    if (!RunGemm(&call, choice->candidates[i])) continue;
    if (i > 0) {  // those before do not run after all
      GemmChoice rest = *choice;
      rest.candidates.erase(rest.candidates.begin(),
                            rest.candidates.begin() + i);
      Keep(problem, std::make_shared<const GemmChoice>(std::move(rest)));
    }
    return absl::OkStatus();
  }
  // An error of earlier work is no lack of algorithms.
  OCTET_RETURN_IF_ERROR(IsCapturing(stream).status());
  return absl::NotFoundError(absl::StrCat(
      "gemm: cuBLASLt ", cublasLtGetVersion(),
      " has no algorithm for (its A is b, its B is a) ", problem.ToString()));
}

}  // namespace octet::float8::internal
