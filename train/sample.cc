// SPDX-License-Identifier: Apache-2.0

#include "train/sample.h"

#include <algorithm>
#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/philox.h"
#include "base/status_macros.h"

namespace octet::train {
namespace {

// Apart from every other use of the seed.
constexpr uint64_t kDrawStream = uint64_t{0x5A} << 48;

int32_t Draw(absl::Span<const float> logits, double temperature,
             double uniform) {
  const auto likeliest = std::max_element(logits.begin(), logits.end());
  if (temperature == 0) return likeliest - logits.begin();
  std::vector<double> sums(logits.size());
  double sum = 0;
  for (size_t i = 0; i < logits.size(); ++i) {
    const double below = static_cast<double>(logits[i]) - *likeliest;
    sums[i] = sum += std::exp(below / temperature);
  }
  const auto drawn = std::upper_bound(sums.begin(), sums.end(), uniform * sum);
  return std::min<int64_t>(drawn - sums.begin(), sums.size() - 1);
}

}  // namespace

absl::StatusOr<std::vector<int32_t>> DrawTokens(
    absl::Span<const int32_t> prompt, const SampleOptions& options,
    const NextLogits& next_logits) {
  if (prompt.empty() || options.context < 1 || !(options.temperature >= 0)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "sample: prompt has ", prompt.size(), " tokens, context is ",
        options.context, ", temperature ", options.temperature));
  }
  const Philox philox(options.seed, kDrawStream);
  std::vector<int32_t> tokens(prompt.begin(), prompt.end());
  for (int64_t i = 0; i < options.tokens; ++i) {
    const int64_t begin = std::max<int64_t>(0, tokens.size() - options.context);
    OCTET_ASSIGN_OR_RETURN(
        const std::vector<float> logits,
        next_logits(absl::MakeConstSpan(tokens).subspan(begin)));
    for (const float logit : logits) {
      if (std::isnan(logit)) {
        return absl::OutOfRangeError(
            absl::StrCat("sample: a logit of token ", i, " is NaN"));
      }
    }
    tokens.push_back(Draw(logits, options.temperature, philox.Uniform(i)));
  }
  return std::vector<int32_t>(tokens.begin() + prompt.size(), tokens.end());
}

std::string Printable(absl::string_view bytes) {
  std::string text(bytes);
  for (char& c : text) {
    if (!absl::ascii_isprint(c) && c != '\n') c = '?';
  }
  return text;
}

}  // namespace octet::train
