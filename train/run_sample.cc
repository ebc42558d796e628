// SPDX-License-Identifier: Apache-2.0

#include "train/run_sample.h"

#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "train/run_device.h"
#include "train/sample.h"

namespace octet::train {

absl::StatusOr<std::string> WriteOn(const JobConfig& config,
                                    const Device& device, JobModel* model) {
  const std::string& prompt = config.sample.prompt;
  const std::vector<int32_t> bytes(
      reinterpret_cast<const uint8_t*>(prompt.data()),
      reinterpret_cast<const uint8_t*>(prompt.data()) + prompt.size());
  SampleOptions options;
  options.tokens = config.sample.tokens;
  options.temperature = config.sample.temperature;
  options.context = config.training.seq_len;
  options.seed = config.training.seed;
  OCTET_RETURN_IF_ERROR(StopMeasuringGemms(device));
  OCTET_ASSIGN_OR_RETURN(
      const std::vector<int32_t> drawn,
      DrawTokens(bytes, options, [model](absl::Span<const int32_t> tokens) {
        return model->NextLogits(tokens);
      }));
  return absl::StrCat(prompt, std::string(drawn.begin(), drawn.end()), "\n");
}

}  // namespace octet::train
