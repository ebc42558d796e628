// SPDX-License-Identifier: Apache-2.0
#include "models/layers/cudnn/attention_cudnn.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/cuda_status.h"
#include "base/shape.h"
#include "base/status_macros.h"
#include "models/layers/attention_cuda.h"
#include "models/layers/cudnn/attention_plan.h"
#include "models/layers/cudnn/cudnn_library.h"
#include "models/layers/layers_cuda.h"

namespace octet::models::internal {
namespace {

constexpr int64_t kMaxHeadDim = 128;
constexpr int64_t kAlignment = 16;

// On Hopper backward walks the keys 128 at a time but masks what lies behind
// their end as if they came by 64. If the last 128 hold 64 keys, a row whose
// log-sum-exp is below -88.7 = -ln(FLT_MAX) takes an infinite exp(0 - lse)
// times the zeros behind the end: NaN in dq (cudnn-frontend #160, #628;
// pytorch #196678). The causal mask hides that part: no report is of a causal
// problem, and the test of such rows finds none with 9.14. The versions
// between are many, the lengths rare: those are for the plain kernel.
constexpr int64_t kTailNanFixed = 92600;
constexpr int64_t kTailKeys = 128;

// What a device's cuDNN needs, until the process ends: the driver may be gone
// before static objects are.
struct Library {
  std::mutex mutex;  // the handle has one stream at a time
  cudnnHandle_t handle = nullptr;
  std::map<CudnnAttentionProblem,
           absl::StatusOr<std::unique_ptr<CudnnAttentionPlan>>>
      plans;
};

Library& LibraryOf(const Stream& stream) {
  static std::mutex& mutex = *new std::mutex;
  static auto& libraries = *new std::map<int, std::unique_ptr<Library>>;
  const std::lock_guard<std::mutex> lock(mutex);
  std::unique_ptr<Library>& library = libraries[stream.device().index];
  if (library == nullptr) library = std::make_unique<Library>();
  return *library;
}

absl::Status CudnnCall(cudnnStatus_t status, absl::string_view what) {
  if (status == CUDNN_STATUS_SUCCESS) return absl::OkStatus();
  return absl::InternalError(
      absl::StrCat(what, ": ", cudnnGetErrorString(status)));
}

absl::Status CheckNoCapture(const Stream& stream) {
  cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
  OCTET_RETURN_IF_ERROR(
      CudaStatus(cudaStreamIsCapturing(NativeOf(stream), &capture),
                 "cudaStreamIsCapturing"));
  if (capture == cudaStreamCaptureStatusNone) return absl::OkStatus();
  return absl::FailedPreconditionError(
      "attention: cuDNN's plan is built by the first call for a problem: run "
      "the work once before capturing it");
}

// Under the library's mutex. Refusals are kept as plans are.
absl::StatusOr<const CudnnAttentionPlan*> PlanFor(
    const Stream& stream, const CudnnAttentionProblem& problem,
    Library* library) {
  auto found = library->plans.find(problem);
  if (found == library->plans.end()) {
    OCTET_RETURN_IF_ERROR(CheckNoCapture(stream));
    if (library->handle == nullptr) {
      OCTET_RETURN_IF_ERROR(
          CudnnCall(cudnnCreate(&library->handle), "cudnnCreate"));
    }
    found = library->plans
                .emplace(problem,
                         CudnnAttentionPlan::Build(library->handle, problem))
                .first;
  }
  OCTET_RETURN_IF_ERROR(found->second.status());
  return found->second->get();
}

// Unimplemented, at once, for what cuDNN never takes.
absl::Status CheckTaken(const AttentionForwardArgs& args) {
  const int64_t head_dim = args.q.shape().dim(3);
  if (args.q.dtype() != DType::kBf16 || head_dim % 8 != 0 ||
      head_dim > kMaxHeadDim) {
    return absl::UnimplementedError(
        absl::StrCat("cuDNN attention: q is ", args.q.ToString()));
  }
  return CudnnLibraryStatus();
}

absl::Status CheckAligned(std::initializer_list<TensorView> views) {
  for (const TensorView& view : views) {
    if (reinterpret_cast<uintptr_t>(view.data()) % kAlignment != 0) {
      return absl::UnimplementedError(
          absl::StrCat("cuDNN attention: an address is no multiple of ",
                       kAlignment, ": ", view.ToString()));
    }
  }
  return absl::OkStatus();
}

CudnnAttentionProblem WholeProblem(const AttentionForwardArgs& args) {
  CudnnAttentionProblem problem;
  const Shape& q = args.q.shape();
  problem.batch = q.dim(0);
  problem.length = q.dim(1);
  problem.heads = problem.row_heads = q.dim(2);
  problem.kv_heads = problem.row_kv_heads = args.k.shape().dim(2);
  problem.head_dim = q.dim(3);
  return problem;
}

int64_t LargestDivisor(int64_t n, int64_t most) {
  for (int64_t d = std::min(n, std::max<int64_t>(most, 1)); d > 1; --d) {
    if (n % d == 0) return d;
  }
  return 1;
}

// As many sequences, or else heads of one sequence, as the budget allows.
CudnnAttentionProblem PartOf(const CudnnAttentionProblem& whole,
                             int64_t budget) {
  CudnnAttentionProblem part = whole;
  if (!whole.deterministic) return part;
  const int64_t rows = CeilDiv(whole.length, 64) * 64;
  const int64_t group = whole.heads / whole.kv_heads;
  const int64_t kv_heads = budget / (2 * rows * rows * group);
  part.batch = LargestDivisor(whole.batch, kv_heads / whole.kv_heads);
  if (kv_heads < whole.kv_heads) {
    part.kv_heads = LargestDivisor(whole.kv_heads, kv_heads);
    part.heads = part.kv_heads * group;
  }
  // A part's log-sum-exp starts at a multiple of 16 bytes.
  return part.batch * part.heads * part.length % 4 == 0 ? part : whole;
}

void* At(const TensorView& view, int64_t elements) {
  return view.as<char>() + elements * SizeOf(view.dtype());
}

// The part's tensors from sequence `batch` and key head `kv_head` on.
CudnnAttentionPointers PointersOf(const AttentionBackwardArgs& args,
                                  const CudnnAttentionProblem& part,
                                  int64_t batch, int64_t kv_head) {
  const int64_t d = part.head_dim;
  const int64_t head = kv_head * (part.heads / part.kv_heads);
  const int64_t q = (batch * part.length * part.row_heads + head) * d;
  const int64_t k = (batch * part.length * part.row_kv_heads + kv_head) * d;
  const AttentionForwardArgs& forward = args.forward;
  return {
      At(forward.q, q),
      At(forward.k, k),
      At(forward.v, k),
      At(forward.o, q),
      At(forward.log_sum_exp, (batch * part.row_heads + head) * part.length),
      At(args.grad_o, q),
      At(args.dq, q),
      At(args.dk, k),
      At(args.dv, k)};
}

absl::StatusOr<bool> HasTailNan(const Stream& stream, int64_t length) {
  if (length % kTailKeys != kTailKeys / 2) return false;
  int major = 0;
  OCTET_RETURN_IF_ERROR(CudaStatus(
      cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor,
                             stream.device().index),
      "cudaDeviceGetAttribute"));
  OCTET_ASSIGN_OR_RETURN(const int64_t version, LoadedCudnnVersion());
  return major == 9 && version < kTailNanFixed;
}

[[maybe_unused]] const bool kRegistered =
    RegisterFusedAttention({&AttentionForwardCudnn, &AttentionBackwardCudnn});

}  // namespace

absl::StatusOr<int64_t> LoadedCudnnVersion() {
  OCTET_RETURN_IF_ERROR(CudnnLibraryStatus());
  return static_cast<int64_t>(cudnnGetVersion());
}

absl::Status AttentionForwardCudnn(const Stream& stream,
                                   const AttentionForwardArgs& args) {
  OCTET_RETURN_IF_ERROR(CheckTaken(args));
  OCTET_RETURN_IF_ERROR(CheckAligned({args.q, args.k, args.v, args.o}));
  OCTET_RETURN_IF_ERROR(SetDevice(stream));
  Library& library = LibraryOf(stream);
  const std::lock_guard<std::mutex> lock(library.mutex);
  OCTET_ASSIGN_OR_RETURN(const CudnnAttentionPlan* const plan,
                         PlanFor(stream, WholeProblem(args), &library));
  OCTET_ASSIGN_OR_RETURN(void* const scratch,
                         stream.Scratch(plan->scratch_bytes()));
  OCTET_RETURN_IF_ERROR(CudnnCall(
      cudnnSetStream(library.handle, NativeOf(stream)), "cudnnSetStream"));
  CudnnAttentionPointers pointers = {};
  pointers.q = args.q.data();
  pointers.k = args.k.data();
  pointers.v = args.v.data();
  pointers.o = args.o.data();
  pointers.log_sum_exp = args.log_sum_exp.data();
  return plan->Run(library.handle, pointers, scratch);
}

absl::Status AttentionBackwardCudnnUnguarded(
    const Stream& stream, const AttentionBackwardArgs& args) {
  const AttentionForwardArgs& forward = args.forward;
  OCTET_RETURN_IF_ERROR(CheckTaken(forward));
  OCTET_RETURN_IF_ERROR(
      CheckAligned({forward.q, forward.k, forward.v, forward.o, args.grad_o,
                    args.dq, args.dk, args.dv}));
  OCTET_RETURN_IF_ERROR(SetDevice(stream));
  CudnnAttentionProblem whole = WholeProblem(forward);
  whole.backward = true;
  whole.deterministic = args.deterministic;
  const CudnnAttentionProblem part = PartOf(whole, args.scratch_budget);
  Library& library = LibraryOf(stream);
  const std::lock_guard<std::mutex> lock(library.mutex);
  OCTET_ASSIGN_OR_RETURN(const CudnnAttentionPlan* const plan,
                         PlanFor(stream, part, &library));
  OCTET_ASSIGN_OR_RETURN(void* const scratch,
                         stream.Scratch(plan->scratch_bytes()));
  OCTET_RETURN_IF_ERROR(CudnnCall(
      cudnnSetStream(library.handle, NativeOf(stream)), "cudnnSetStream"));
  for (int64_t batch = 0; batch < whole.batch; batch += part.batch) {
    for (int64_t head = 0; head < whole.kv_heads; head += part.kv_heads) {
      OCTET_RETURN_IF_ERROR(plan->Run(
          library.handle, PointersOf(args, part, batch, head), scratch));
    }
  }
  return absl::OkStatus();
}

absl::Status AttentionBackwardCudnn(const Stream& stream,
                                    const AttentionBackwardArgs& args) {
  OCTET_RETURN_IF_ERROR(CheckTaken(args.forward));
  const int64_t length = args.forward.q.shape().dim(1);
  OCTET_ASSIGN_OR_RETURN(const bool has_nan, HasTailNan(stream, length));
  if (has_nan) {
    return absl::UnimplementedError(absl::StrCat(
        "cuDNN attention: backward of ", length, " tokens may make NaN"));
  }
  return AttentionBackwardCudnnUnguarded(stream, args);
}

}  // namespace octet::models::internal
