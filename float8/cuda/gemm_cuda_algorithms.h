// SPDX-License-Identifier: Apache-2.0

// Runs a problem with the algorithm that is the fastest for it on one GPU.
//
// What cuBLASLt is asked once a problem (descriptors, candidates, their times)
// is kept; a call after the first is a look-up, a copy of the descriptor with
// the call's pointers, and the launch. For CUDA leaves only.
#ifndef OCTET_FLOAT8_CUDA_GEMM_CUDA_ALGORITHMS_H_
#define OCTET_FLOAT8_CUDA_GEMM_CUDA_ALGORITHMS_H_

#include <cublasLt.h>
#include <cuda_runtime_api.h>

#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "float8/cuda/gemm_cuda_known.h"
#include "float8/cuda/gemm_cuda_problem.h"
#include "float8/gemm_algorithms.h"

namespace octet::float8::internal {

// What was found for a problem; never changed, only replaced.
struct GemmChoice {
  GemmDescriptors descriptors;
  std::vector<cublasLtMatmulAlgo_t> candidates;  // the best first; none: unable
  bool is_final = false;  // else measured when it is possible again
};

void SetGemmMode(GemmAlgorithmMode mode);

// Of one GPU, for all threads.
class GemmDevice {
 public:
  // The GPU must be the current one. FailedPrecondition if it is too old.
  static absl::StatusOr<GemmDevice*> Get(int index);

  // Queues D = alpha A B + beta C + bias; `pointers.workspace` has
  // kGemmWorkspace bytes. NotFound if cuBLASLt has no algorithm for it.
  absl::Status Multiply(const GemmProblem& problem,
                        const GemmPointers& pointers, cudaStream_t stream);

 private:
  using Choice = std::shared_ptr<const GemmChoice>;

  GemmDevice(cublasLtHandle_t handle, GemmGpu gpu)
      : handle_(handle), gpu_(std::move(gpu)) {}

  Choice Find(const GemmProblem& problem);
  absl::StatusOr<Choice> FindOrChoose(const GemmProblem& problem,
                                      const GemmPointers& pointers,
                                      cudaStream_t stream);
  absl::StatusOr<GemmChoice> Choose(const GemmProblem& problem,
                                    const GemmPointers& pointers,
                                    bool may_measure, cudaStream_t stream);
  void Keep(const GemmProblem& problem, Choice choice);

  const cublasLtHandle_t handle_;
  const GemmGpu gpu_;
  absl::Mutex mutex_;
  absl::flat_hash_map<GemmProblem, Choice> choices_ ABSL_GUARDED_BY(mutex_);
  // One measurement at a time. It waits for its own stream alone.
  absl::Mutex choosing_;
};

}  // namespace octet::float8::internal

#endif  // OCTET_FLOAT8_CUDA_GEMM_CUDA_ALGORITHMS_H_
