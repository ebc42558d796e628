// SPDX-License-Identifier: Apache-2.0

#include "float8/cuda/gemm_cuda_timing.h"

#include <algorithm>
#include <utility>

#include "base/cuda_status.h"
#include "base/status_macros.h"
#include "float8/cuda/gemm_cuda_known.h"

namespace octet::float8::internal {
namespace {

constexpr int kCandidates = 32;

// First each candidate a few times; then those near the fastest in turns, so
// that a clock that falls under load is no one's disadvantage.
constexpr int kFirstRuns = 3;
constexpr double kNear = 1.12;
constexpr size_t kFinalists = 8;
constexpr int kRounds = 8;
constexpr int kRunsARound = 2;

// Partial sums of a split k go through memory and are added in one order
// (COMPUTE_TYPE). "In place" adds them to D as they come.
constexpr uint32_t kReductions =
    CUBLASLT_REDUCTION_SCHEME_NONE | CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;

struct Timed {
  cublasLtMatmulAlgo_t algorithm;
  std::vector<float> milliseconds;
  bool runs = true;

  float Median() const {
    std::vector<float> sorted = milliseconds;
    std::nth_element(sorted.begin(), sorted.begin() + sorted.size() / 2,
                     sorted.end());
    return sorted[sorted.size() / 2];
  }
};

class Events {
 public:
  explicit Events(int count) : events_(count, nullptr) {
    for (cudaEvent_t& event : events_) cudaEventCreate(&event);
  }
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;
  ~Events() {
    for (cudaEvent_t event : events_) cudaEventDestroy(event);
  }
  cudaEvent_t operator[](int i) const { return events_[i]; }

 private:
  std::vector<cudaEvent_t> events_;
};

// In stream order: a plain allocation or free could wait for other streams,
// which may wait for this thread.
class DeviceMemory {
 public:
  DeviceMemory(int64_t bytes, cudaStream_t stream) : stream_(stream) {
    if (cudaMallocAsync(&data_, bytes, stream) != cudaSuccess) {
      cudaGetLastError();
      data_ = nullptr;
    }
  }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  ~DeviceMemory() {
    if (data_ != nullptr) cudaFreeAsync(data_, stream_);
  }
  void* data() const { return data_; }

 private:
  void* data_ = nullptr;
  cudaStream_t stream_;
};

template <typename T>
absl::Status Prefer(cublasLtMatmulPreference_t preference,
                    cublasLtMatmulPreferenceAttributes_t attribute, T value) {
  return CublasStatus(cublasLtMatmulPreferenceSetAttribute(
                          preference, attribute, &value, sizeof(value)),
                      "cublasLtMatmulPreferenceSetAttribute");
}

absl::Status FillPreference(const GemmProblem& p,
                            cublasLtMatmulPreference_t preference) {
  OCTET_RETURN_IF_ERROR(CublasStatus(cublasLtMatmulPreferenceInit(preference),
                                     "cublasLtMatmulPreferenceInit"));
  OCTET_RETURN_IF_ERROR(Prefer(preference,
                               CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                               static_cast<uint64_t>(kGemmWorkspace)));
  OCTET_RETURN_IF_ERROR(Prefer(
      preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, kReductions));
  const std::pair<cublasLtMatmulPreferenceAttributes_t, int64_t> alignments[] =
      {{CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, p.a_alignment},
       {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, p.b_alignment},
       {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, p.d_alignment},
       {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, p.d_alignment}};
  for (const auto& [attribute, bytes] : alignments) {
    OCTET_RETURN_IF_ERROR(
        Prefer(preference, attribute, static_cast<uint32_t>(bytes)));
  }
  return absl::OkStatus();
}

// Runs queued one behind the other, the first of which is not timed.
absl::Status Time(GemmCall* call, const Events& events, int runs,
                  Timed* timed) {
  for (int i = 0; i <= runs && timed->runs; ++i) {
    timed->runs = RunGemm(call, timed->algorithm);
    OCTET_RETURN_IF_ERROR(CudaStatus(cudaEventRecord(events[i], call->stream),
                                     "cudaEventRecord"));
  }
  OCTET_RETURN_IF_ERROR(CudaStatus(cudaStreamSynchronize(call->stream),
                                   "gemm: timing an algorithm"));
  for (int i = 0; i < runs && timed->runs; ++i) {
    float milliseconds = 0.0f;
    OCTET_RETURN_IF_ERROR(CudaStatus(
        cudaEventElapsedTime(&milliseconds, events[i], events[i + 1]),
        "cudaEventElapsedTime"));
    timed->milliseconds.push_back(milliseconds);
  }
  return absl::OkStatus();
}

void DropAndSort(std::vector<Timed>* all) {
  all->erase(std::remove_if(all->begin(), all->end(),
                            [](const Timed& t) { return !t.runs; }),
             all->end());
  std::stable_sort(
      all->begin(), all->end(),
      [](const Timed& x, const Timed& y) { return x.Median() < y.Median(); });
}

}  // namespace

bool RunGemm(GemmCall* call, const cublasLtMatmulAlgo_t& algorithm) {
  const GemmPointers& p = call->pointers;
  GemmDescriptors* const d = &call->descriptors;
  const float alpha = static_cast<float>(p.alpha);
  const float beta = static_cast<float>(p.beta);
  const bool is_f64 = call->problem->d_type == CUDA_R_64F;
  const void* const alpha_pointer =
      is_f64 ? static_cast<const void*>(&p.alpha) : &alpha;
  const void* const beta_pointer =
      is_f64 ? static_cast<const void*>(&p.beta) : &beta;
  return cublasLtMatmul(call->handle, &d->operation, alpha_pointer, p.a, &d->a,
                        p.b, &d->b, beta_pointer, p.c, &d->d, p.d, &d->d,
                        &algorithm, p.workspace, kGemmWorkspace,
                        call->stream) == CUBLAS_STATUS_SUCCESS;
}

bool CanRunGemm(GemmCall call, const cublasLtMatmulAlgo_t& algorithm) {
  GemmDescriptors* const d = &call.descriptors;
  cublasLtMatmulHeuristicResult_t result = {};
  const cublasStatus_t status =
      cublasLtMatmulAlgoCheck(call.handle, &d->operation, &d->a, &d->b, &d->d,
                              &d->d, &algorithm, &result);
  return status == CUBLAS_STATUS_SUCCESS &&
         static_cast<int64_t>(result.workspaceSize) <= kGemmWorkspace;
}

absl::StatusOr<std::vector<cublasLtMatmulAlgo_t>> GemmCandidates(
    GemmCall call) {
  cublasLtMatmulPreferenceOpaque_t preference;
  OCTET_RETURN_IF_ERROR(FillPreference(*call.problem, &preference));
  GemmDescriptors* const d = &call.descriptors;
  std::vector<cublasLtMatmulHeuristicResult_t> results(kCandidates);
  int count = 0;
  const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
      call.handle, &d->operation, &d->a, &d->b, &d->d, &d->d, &preference,
      kCandidates, results.data(), &count);
  std::vector<cublasLtMatmulAlgo_t> candidates;
  if (status == CUBLAS_STATUS_NOT_SUPPORTED ||
      status == CUBLAS_STATUS_INVALID_VALUE) {
    return candidates;
  }
  OCTET_RETURN_IF_ERROR(CublasStatus(status, "cublasLtMatmulAlgoGetHeuristic"));
  for (int i = 0; i < count; ++i) {
    if (results[i].state == CUBLAS_STATUS_SUCCESS) {
      candidates.push_back(results[i].algo);
    }
  }
  return candidates;
}

absl::StatusOr<std::optional<double>> TimeGemmCandidates(
    GemmCall call, std::vector<cublasLtMatmulAlgo_t>* candidates) {
  const GemmProblem& p = *call.problem;
  const int64_t element = p.d_type == CUDA_R_64F   ? 8
                          : p.d_type == CUDA_R_32F ? 4
                                                   : 2;
  const DeviceMemory own(p.d_ld * p.n * element, call.stream);
  if (own.data() == nullptr) return std::optional<double>();
  call.pointers.d = own.data();
  if (p.has_c == 0) call.pointers.c = own.data();

  const Events events(std::max(kFirstRuns, kRunsARound) + 1);
  std::vector<Timed> all;
  for (const cublasLtMatmulAlgo_t& algorithm : *candidates) {
    all.push_back({algorithm, {}, true});
    OCTET_RETURN_IF_ERROR(Time(&call, events, kFirstRuns, &all.back()));
  }
  DropAndSort(&all);
  candidates->clear();
  if (all.empty()) return std::optional<double>();
  const float near = static_cast<float>(all.front().Median() * kNear);
  std::vector<Timed> finalists;
  while (finalists.size() < std::min(kFinalists, all.size()) &&
         all[finalists.size()].Median() <= near) {
    finalists.push_back({all[finalists.size()].algorithm, {}, true});
  }
  for (int round = 0; round < kRounds; ++round) {
    for (Timed& timed : finalists) {
      OCTET_RETURN_IF_ERROR(Time(&call, events, kRunsARound, &timed));
    }
  }
  const size_t slower = finalists.size();
  DropAndSort(&finalists);
  for (const Timed& t : finalists) candidates->push_back(t.algorithm);
  for (size_t i = slower; i < all.size(); ++i) {
    candidates->push_back(all[i].algorithm);
  }
  if (finalists.empty()) return std::optional<double>();
  return std::optional<double>(finalists.front().Median() * 1e-3);
}

}  // namespace octet::float8::internal
