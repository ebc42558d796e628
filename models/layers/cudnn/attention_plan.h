// SPDX-License-Identifier: Apache-2.0

// One attention problem as cuDNN runs it. The only code that sees
// cudnn-frontend, whose headers take half a minute to compile.
#ifndef OCTET_MODELS_LAYERS_CUDNN_ATTENTION_PLAN_H_
#define OCTET_MODELS_LAYERS_CUDNN_ATTENTION_PLAN_H_

#include <cudnn.h>

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace octet::models::internal {

// bf16. Some heads of tensors that have more: rows of queries and of keys lie
// row_heads * head_dim and row_kv_heads * head_dim elements apart. log_sum_exp
// is contiguous.
struct CudnnAttentionProblem {
  bool backward = false;
  bool deterministic = true;
  int64_t batch = 0;
  int64_t length = 0;
  int64_t heads = 0;
  int64_t kv_heads = 0;
  int64_t head_dim = 0;
  int64_t row_heads = 0;
  int64_t row_kv_heads = 0;
};
bool operator<(const CudnnAttentionProblem& a, const CudnnAttentionProblem& b);

// The last four are backward's.
struct CudnnAttentionPointers {
  void* q;
  void* k;
  void* v;
  void* o;
  void* log_sum_exp;
  void* grad_o;
  void* dq;
  void* dk;
  void* dv;
};

class CudnnAttentionPlan {
 public:
  // For the current device. Unimplemented, with cuDNN's reason, if it refuses.
  static absl::StatusOr<std::unique_ptr<CudnnAttentionPlan>> Build(
      cudnnHandle_t handle, const CudnnAttentionProblem& problem);
  ~CudnnAttentionPlan();

  int64_t scratch_bytes() const { return scratch_bytes_; }
  // Queued on the handle's stream.
  absl::Status Run(cudnnHandle_t handle, const CudnnAttentionPointers& pointers,
                   void* scratch) const;

 private:
  struct Graph;
  CudnnAttentionPlan();

  std::unique_ptr<Graph> graph_;
  bool backward_ = false;
  int64_t scratch_bytes_ = 0;
};

}  // namespace octet::models::internal

#endif  // OCTET_MODELS_LAYERS_CUDNN_ATTENTION_PLAN_H_
