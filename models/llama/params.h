// SPDX-License-Identifier: Apache-2.0

// A Llama's parameters: how they are grouped, and their first values.
//
// Units, in order: the embedding; each block; the head, that is the last norm
// and, unless it is tied to the embedding, lm_head. Names are Hugging Face's.
#ifndef OCTET_MODELS_LLAMA_PARAMS_H_
#define OCTET_MODELS_LLAMA_PARAMS_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/stream.h"
#include "base/tensor.h"
#include "fsdp/param_store.h"
#include "models/llama/config.h"

namespace octet::models {

std::vector<fsdp::UnitSpec> UnitSpecs(const LlamaConfig& config);

// Places of a block's parameters in its unit.
enum BlockParam : int64_t {
  kInputNorm,
  kQuery,
  kKey,
  kValue,
  kOutput,
  kPostAttentionNorm,
  kGate,
  kUp,
  kDown,
  kNumBlockParams,
};

// Places in the head's unit; a tied one has the norm alone.
enum HeadParam : int64_t { kFinalNorm, kLmHead };

// torchtitan's initialisation, in this rank's shards, then tells the store.
// Normal with mean 0 and, for layer l of L counted from 0, standard deviation
//   embedding             1
//   q, k, v, gate         0.02
//   o, up, down           0.02 / sqrt(2 (l + 1))
//   head                  hidden_size^-0.5, cut at 3 standard deviations; a
//                         tied embedding likewise
//   norms                 all 1
// Element i depends on the seed, the parameter's name and i alone, so shards of
// any layout hold the same model. FailedPrecondition if the store holds other
// parameters.
absl::Status InitParams(const Stream& stream, const LlamaConfig& config,
                        uint64_t seed, fsdp::ParamStore* store);

// FailedPrecondition, naming the first difference, unless the store's units are
// this model's.
absl::Status CheckStore(const LlamaConfig& config,
                        const fsdp::ParamStore& store);

// Writes f32 values to masters, one after the other: they are made where Values
// says, and Write brings them from there to the master, rounded to nearest
// where that is bf16, and waits for the stream. Uses its host memory again for
// each, as fresh pages would take longer than most values do.
class MasterWriter {
 public:
  explicit MasterWriter(const Stream& stream) : stream_(stream) {}

  // The master itself where it is f32 on the CPU.
  absl::StatusOr<TensorView> Values(const TensorView& master);
  absl::Status Write(const TensorView& values, const TensorView& master);

 private:
  Stream stream_;
  Tensor values_;
  Tensor rounded_;
};

}  // namespace octet::models

#endif  // OCTET_MODELS_LLAMA_PARAMS_H_
