// SPDX-License-Identifier: Apache-2.0

// Which linear layers a command is about: y[M, N] = x[M, K] w[N, K]ᵀ.
#ifndef OCTET_TOOLS_ROOFLINE_INPUT_SHAPES_H_
#define OCTET_TOOLS_ROOFLINE_INPUT_SHAPES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "models/llama/config.h"
#include "roofline/polynomial.h"
#include "tools/command_line.h"

namespace octet::tools {

// Larger sizes are refused: no GPU holds such a matrix.
constexpr int64_t kMaxSize = int64_t{1} << 40;

struct LayerShape {
  std::string layer;  // "q_proj"; empty outside of a model
  roofline::Sizes sizes;
  int64_t count = 1;  // of such layers in the model
};

// --shapes, --min_size, --max_size, --tokens, --M, --K, --N, --n_limit, and
// torchao's --shape_gen_name.
const std::vector<FlagSpec>& ShapeFlags();
std::string ShapeUsage();

// As those flags say; `or_else` is the value of --shapes when none is given.
// InvalidArgument names the flag and the value; errors of a FILE its line.
absl::StatusOr<std::vector<LayerShape>> ShapesOf(const CommandLine& line,
                                                 absl::string_view or_else);

// Of the model that --shapes names, what this engine multiplies as one, as the
// model command asks for it: q, k and v, and gate and up. None for other
// shapes, or with --n_limit.
absl::StatusOr<std::vector<LayerShape>> FusedShapesOf(
    const CommandLine& line, absl::string_view or_else);

// InvalidArgument if --min_size or --max_size are given for other shapes than
// the sweep.
absl::Status CheckSweepSizes(const CommandLine& line,
                             absl::string_view or_else);

// A Llama: a preset by name (llama3_8b), a folder in Hugging Face's form, or
// its config.json.
absl::StatusOr<models::LlamaConfig> ModelConfig(absl::string_view model);

// The layers of such a model.
absl::StatusOr<std::vector<LayerShape>> ModelShapes(absl::string_view model,
                                                    int64_t tokens);

// "llama3_8b, ..."
std::string ModelNames();

// "512x1024x2048" or several with commas.
absl::StatusOr<std::vector<LayerShape>> ParseShapeList(absl::string_view text);

}  // namespace octet::tools

#endif  // OCTET_TOOLS_ROOFLINE_INPUT_SHAPES_H_
