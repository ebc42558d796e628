// SPDX-License-Identifier: Apache-2.0

// What tests of fused casts share. The expectation is never fused: the layer
// alone on the same device, its output copied to the host, and the CPU's cast
// of that.
#ifndef OCTET_MODELS_LAYERS_OUTPUT_CAST_FIXTURE_H_
#define OCTET_MODELS_LAYERS_OUTPUT_CAST_FIXTURE_H_

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/stream.h"
#include "base/tensor.h"
#include "float8/cast.h"
#include "models/layers/output_cast.h"
#include "models/layers/test_tensors.h"
#include "testing/status_matchers.h"
#include "testing/tensor_matchers.h"
#include "testing/test_device.h"

namespace octet::models {

Tensor ToDeviceOrDie(const Stream& stream, const TensorView& host);
Tensor ToHostOrDie(const Stream& stream, const TensorView& device);

// On the stream's device, of bytes that are no likely result.
Tensor Poisoned(const Stream& stream, DType dtype, const Shape& shape);

// A cast to make of an output. A known scale makes it CastWithScale.
struct CastCase {
  float8::CastPlan plan;
  float8::CastLayout layout = float8::CastLayout::kRowMajor;
  double known_scale = 0.0;  // 0: dynamic

  std::string ToString() const;
};

CastCase CaseOf(float8::Granularity granularity, float8::CastLayout layout,
                float8::ScaleRounding rounding = float8::ScaleRounding::kExact,
                DType dtype = DType::kF8E4M3);
CastCase KnownCase(float8::CastLayout layout, DType dtype = DType::kF8E4M3);

// The outputs of a cast, and what it reads and writes beside them.
class CastOutputs {
 public:
  CastOutputs(const Stream& stream, const CastCase& first);
  CastOutputs(const Stream& stream, const CastCase& first,
              const CastCase& second);

  OutputCast cast();

  // Overwrites what a cast has allocated.
  void Poison();

  // Against the CPU's cast of `output`, on the host.
  void ExpectCastOf(const Tensor& output) const;

 private:
  void ExpectReciprocals(const float8::Quantized& q,
                         const TensorView& matrix) const;

  Stream stream_;
  std::vector<CastCase> cases_;
  Tensor scale_;
  Tensor seen_;
  float8::Quantized out_[2];
};

}  // namespace octet::models

#endif  // OCTET_MODELS_LAYERS_OUTPUT_CAST_FIXTURE_H_
