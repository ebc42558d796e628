// SPDX-License-Identifier: Apache-2.0

// Continues a prompt with tokens drawn from a model.
#ifndef OCTET_TRAIN_SAMPLE_H_
#define OCTET_TRAIN_SAMPLE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace octet::train {

struct SampleOptions {
  int64_t tokens = 0;        // to draw
  double temperature = 1.0;  // 0: always the likeliest
  int64_t context = 0;       // the model sees at most so many last tokens
  uint64_t seed = 0;
};

// The logits after the last of the tokens, [vocab].
using NextLogits = std::function<absl::StatusOr<std::vector<float>>(
    absl::Span<const int32_t> tokens)>;

// The drawn tokens, without the prompt. Draw i is a pure function of the seed,
// i and the logits. InvalidArgument for an empty prompt; OutOfRange if a logit
// is NaN.
absl::StatusOr<std::vector<int32_t>> DrawTokens(
    absl::Span<const int32_t> prompt, const SampleOptions& options,
    const NextLogits& next_logits);

// Text for a terminal: what is neither printable ASCII nor a line end is '?'.
std::string Printable(absl::string_view bytes);

}  // namespace octet::train

#endif  // OCTET_TRAIN_SAMPLE_H_
