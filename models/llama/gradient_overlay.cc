// SPDX-License-Identifier: Apache-2.0
#include "models/llama/gradient_overlay.h"

#include <algorithm>
#include <vector>

#include "base/shape.h"
#include "models/llama/params.h"

namespace octet::models {
namespace {

constexpr int64_t kAlignment = 256;

int64_t BytesOf(const fsdp::ParamSpec& param, DType dtype) {
  // Vectors have gradients of their own.
  if (param.shape.rank() < 2) return 0;
  return CeilDiv(param.shape.num_elements() * SizeOf(dtype), kAlignment) *
         kAlignment;
}

}  // namespace

GradientOverlay OverlayGradients(const LlamaConfig& config,
                                 const ActivationLayout& activations,
                                 DType gradient_dtype) {
  const std::vector<fsdp::UnitSpec> units = UnitSpecs(config);
  const int64_t layers = config.num_layers;
  // Bytes of the gradients of block i and all after it: what must lie behind
  // the beginning of block i + 1.
  int64_t gradients = 0;
  GradientOverlay overlay;
  overlay.bytes = activations.bytes;
  for (int64_t i = layers - 1; i >= 0; --i) {
    for (const fsdp::ParamSpec& param : units[i + 1].params) {
      gradients += BytesOf(param, gradient_dtype);
    }
    const int64_t begin =
        i + 1 < layers ? activations.block_begins[i + 1] : activations.bytes;
    overlay.bytes = std::max(overlay.bytes, begin + gradients);
  }
  int64_t at = overlay.bytes - gradients;
  for (int64_t i = 0; i < layers; ++i) {
    for (const fsdp::ParamSpec& param : units[i + 1].params) {
      const int64_t bytes = BytesOf(param, gradient_dtype);
      if (bytes > 0) overlay.offsets[param.name] = at;
      at += bytes;
    }
  }
  return overlay;
}

std::map<std::string, TensorView> GradientViews(const LlamaConfig& config,
                                                const GradientOverlay& overlay,
                                                DType gradient_dtype,
                                                const TensorView& memory) {
  std::map<std::string, TensorView> views;
  for (const fsdp::UnitSpec& unit : UnitSpecs(config)) {
    for (const fsdp::ParamSpec& param : unit.params) {
      const auto offset = overlay.offsets.find(param.name);
      if (offset == overlay.offsets.end()) continue;
      views[param.name] =
          TensorView(memory.as<char>() + offset->second, gradient_dtype,
                     param.shape, memory.device());
    }
  }
  return views;
}

}  // namespace octet::models
