// SPDX-License-Identifier: Apache-2.0

// A small Llama with its store and a batch, for tests.
#ifndef OCTET_MODELS_LLAMA_TEST_MODEL_H_
#define OCTET_MODELS_LLAMA_TEST_MODEL_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/tensor.h"
#include "fsdp/whole_param_store.h"
#include "models/llama/config.h"
#include "models/llama/model.h"

namespace octet::models {

// Two layers, grouped queries; sizes are not multiples of each other.
LlamaConfig TestConfig();

struct TestModel {
  Stream stream;
  std::unique_ptr<fsdp::WholeParamStore> store;
  std::unique_ptr<Llama> model;
  Tensor tokens;   // [2, length]
  Tensor targets;  // the next tokens; one is ignored

  absl::StatusOr<double> Run(double grad_scale = 1.0);
  // Gradients of all parameters, one after the other.
  std::vector<double> Gradients() const;
  // weights -= rate * gradients, in plain loops on the CPU; then zero
  // gradients.
  absl::Status Descend(double rate);
};

// Initialised from a seed.
absl::StatusOr<TestModel> MakeTestModel(
    const LlamaConfig& config, const LlamaOptions& options,
    const fsdp::WholeParamStoreOptions& store, int64_t length = 24,
    const Stream& stream = Stream());

// `recipe` is a name.
absl::StatusOr<TestModel> MakeTestModel(const LlamaConfig& config,
                                        const std::string& recipe,
                                        DType compute_dtype,
                                        int64_t length = 24,
                                        int64_t loss_chunk = 0);

}  // namespace octet::models

#endif  // OCTET_MODELS_LLAMA_TEST_MODEL_H_
