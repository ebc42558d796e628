// SPDX-License-Identifier: Apache-2.0

// How long a training step of a Llama takes, where the time goes, and what it
// needs: an estimate from bytes, FLOPs and the rates of a GPU.
//
// A step is its passes, each over all blocks with what FSDP moves beside them,
// then the head with the loss, then the optimizer. Attention, the head, norms,
// SwiGLU and rotary embedding are in bf16 whatever the recipe.
#ifndef OCTET_ROOFLINE_MODEL_MODEL_H_
#define OCTET_ROOFLINE_MODEL_MODEL_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "roofline/bound.h"
#include "roofline/hardware.h"
#include "roofline/model/job.h"
#include "roofline/model/memory.h"
#include "roofline/polynomial.h"

namespace octet::roofline {

// One linear layer, forward and backward, of one block and pass.
struct ModelLayer {
  std::string name;
  Sizes sizes;
  double bf16_seconds = 0;
  double float8_gemm_seconds = 0;
  double float8_cast_seconds = 0;  // amaxes and casts
  bool is_float8 = false;          // as the job runs it

  double float8_seconds() const {
    return float8_gemm_seconds + float8_cast_seconds;
  }
  double speedup() const { return bf16_seconds / float8_seconds(); }
};

// Seconds of a step by part; they add up to ModelEstimate::seconds.
struct ModelParts {
  double gemm = 0;
  double cast = 0;
  double attention = 0;
  double elementwise = 0;    // norms, SwiGLU, rotary embedding
  double head = 0;           // its multiplications and the loss
  double optimizer = 0;      // with the gradients' norm
  double communication = 0;  // exposed
};

struct ModelEstimate {
  double parameters = 0;
  double flops_per_token = 0;  // see job.h

  ModelParts parts;
  double hidden_communication = 0;  // behind the computation
  double seconds = 0;               // of a step

  double tokens = 0;  // of a step, on all GPUs
  double tokens_per_second = 0;
  double tokens_per_second_per_gpu = 0;
  double flops_per_second_per_gpu = 0;
  double mfu = 0;  // of the dense bf16 peak

  ModelMemory memory;
  bool fits = false;

  std::vector<ModelLayer> layers;  // in the order of a block
};

// The names of ModelParts' fields and their values, in order.
struct ModelPart {
  std::string name;
  double seconds = 0;
};
std::vector<ModelPart> ListParts(const ModelParts& parts);

// InvalidArgument for what CheckShape, CheckJob and CheckHardware refuse, for a
// recipe that the hardware has no rate for, and for links that it lacks; and
// the errors of bound.gemm_seconds.
absl::StatusOr<ModelEstimate> EstimateModel(const Hardware& hardware,
                                            const ModelShape& shape,
                                            const ModelJob& job,
                                            const BoundOptions& bound);

}  // namespace octet::roofline

#endif  // OCTET_ROOFLINE_MODEL_MODEL_H_
