// SPDX-License-Identifier: Apache-2.0
#include "tools/verify/linear.h"

#include <cstdint>
#include <cstring>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "base/stream.h"
#include "base/tensor.h"
#include "float8/cast.h"
#include "float8/linear.h"
#include "float8/recipe.h"
#include "float8/scaling.h"
#include "io/safetensors.h"

namespace octet::tools {
namespace {

constexpr double kTolerance = 3e-3;

// Of "cast.x.row.pow2.e4m3".
struct CastCase {
  std::string operand;
  float8::CastPlan plan;
};

absl::StatusOr<CastCase> ParseCase(const std::string& path,
                                   const std::string& name) {
  const std::vector<std::string> parts = absl::StrSplit(name, '.');
  const auto unknown = [&] {
    return absl::DataLossError(
        absl::StrCat(path, ": the cast \"", name, "\" is unknown"));
  };
  if (parts.size() != 5) return unknown();
  CastCase result;
  result.operand = parts[1];
  if (parts[2] == "tensor") {
    result.plan.granularity = float8::Granularity::kTensor;
  } else if (parts[2] == "row") {
    result.plan.granularity = float8::Granularity::kRow;
  } else if (parts[2] == "col") {
    result.plan.granularity = float8::Granularity::kColumn;
  } else {
    return unknown();
  }
  if (parts[3] != "exact" && parts[3] != "pow2") return unknown();
  result.plan.rounding = parts[3] == "exact"
                             ? float8::ScaleRounding::kExact
                             : float8::ScaleRounding::kPowerOfTwo;
  if (parts[4] != "e4m3" && parts[4] != "e5m2") return unknown();
  result.plan.dtype = parts[4] == "e4m3" ? DType::kF8E4M3 : DType::kF8E5M2;
  return result;
}

// The share of bytes that differ; 1 for another number of them.
double DifferingBytes(const TensorView& a, const TensorView& b) {
  if (a.num_bytes() != b.num_bytes()) return 1.0;
  int64_t differing = 0;
  for (int64_t i = 0; i < a.num_bytes(); ++i) {
    differing += a.as<uint8_t>()[i] != b.as<uint8_t>()[i] ? 1 : 0;
  }
  return differing == 0 ? 0.0
                        : static_cast<double>(differing) /
                              static_cast<double>(a.num_bytes());
}

absl::Status CompareCasts(const io::SafetensorsFile& file,
                          VerifyReport* report) {
  for (const std::string& full : file.names()) {
    absl::string_view name = full;
    if (!absl::StartsWith(name, "cast.") ||
        !absl::ConsumeSuffix(&name, ".data")) {
      continue;
    }
    OCTET_ASSIGN_OR_RETURN(const CastCase test,
                           ParseCase(file.path(), std::string(name)));
    OCTET_ASSIGN_OR_RETURN(const TensorView in, file.Find(test.operand));
    OCTET_ASSIGN_OR_RETURN(const TensorView data, file.Find(full));
    OCTET_ASSIGN_OR_RETURN(const TensorView scale,
                           file.Find(absl::StrCat(name, ".scale")));
    float8::Quantized quantized;
    OCTET_RETURN_IF_ERROR(float8::Cast(Stream(), in, test.plan, &quantized));
    report->items.push_back(
        {full, DifferingBytes(quantized.data, data), 0.0, "of the bytes"});
    report->items.push_back({absl::StrCat(name, ".scale"),
                             DifferingBytes(quantized.scale, scale), 0.0,
                             "of the bytes"});
  }
  return absl::OkStatus();
}

struct LinearResult {
  Tensor y, grad_x, grad_w;
};

absl::StatusOr<LinearResult> RunLinear(const io::SafetensorsFile& file,
                                       const std::string& recipe_name) {
  const Stream stream;
  OCTET_ASSIGN_OR_RETURN(const float8::Recipe recipe,
                         float8::NamedRecipe(recipe_name));
  OCTET_ASSIGN_OR_RETURN(const TensorView x, file.Find("x"));
  OCTET_ASSIGN_OR_RETURN(const TensorView w, file.Find("w"));
  OCTET_ASSIGN_OR_RETURN(const TensorView g, file.Find("grad_output"));
  LinearResult result;
  OCTET_ASSIGN_OR_RETURN(result.y, Tensor::Allocate(DType::kBf16, g.shape()));
  OCTET_ASSIGN_OR_RETURN(result.grad_x,
                         Tensor::Allocate(DType::kBf16, x.shape()));
  OCTET_ASSIGN_OR_RETURN(result.grad_w,
                         Tensor::Allocate(DType::kBf16, w.shape()));
  float8::LinearOperand x_operand, w_operand, g_casts;
  OCTET_RETURN_IF_ERROR(float8::PrepareInput(stream, recipe, {x}, &x_operand));
  OCTET_RETURN_IF_ERROR(float8::PrepareWeight(stream, recipe, {w}, &w_operand));
  OCTET_RETURN_IF_ERROR(float8::LinearForward(
      stream, recipe, x_operand, w_operand, TensorView(), result.y));
  float8::LinearGradients gradients;
  gradients.dx = result.grad_x;
  gradients.dw = result.grad_w;
  gradients.dw_mode = float8::GradientMode::kOverwrite;
  OCTET_RETURN_IF_ERROR(float8::LinearBackward(
      stream, recipe, x_operand, w_operand, {g}, &g_casts, gradients));
  return result;
}

absl::Status CompareRecipe(const io::SafetensorsFile& file,
                           const std::string& recipe, const std::string& prefix,
                           VerifyReport* report) {
  OCTET_ASSIGN_OR_RETURN(const LinearResult result, RunLinear(file, recipe));
  struct Part {
    const char* name;
    const Tensor& tensor;
  };
  for (const Part& part : {Part{"y", result.y}, Part{"grad_x", result.grad_x},
                           Part{"grad_w", result.grad_w}}) {
    const std::string name = absl::StrCat(prefix, ".", part.name);
    OCTET_ASSIGN_OR_RETURN(const TensorView expected, file.Find(name));
    report->items.push_back(
        {name, RelativeError(part.tensor, expected), kTolerance});
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<VerifyReport> VerifyLinear(const std::string& path) {
  OCTET_ASSIGN_OR_RETURN(const io::SafetensorsFile file,
                         io::SafetensorsFile::Open(path));
  VerifyReport report;
  report.path = path;
  OCTET_RETURN_IF_ERROR(CompareCasts(file, &report));
  struct Pair {
    const char* recipe;
    const char* prefix;
  };
  for (const Pair& pair :
       {Pair{"bf16", "bf16"}, Pair{"tensorwise", "tensorwise.emulated"},
        Pair{"rowwise", "rowwise.emulated"},
        Pair{"rowwise_gw_hp", "rowwise_with_gw_hp.emulated"}}) {
    OCTET_RETURN_IF_ERROR(
        CompareRecipe(file, pair.recipe, pair.prefix, &report));
  }
  return report;
}

}  // namespace octet::tools
