// SPDX-License-Identifier: Apache-2.0

// A linear layer of the model: its name, whether it runs in float8, its
// weight's cached forms and its scaling histories.
#ifndef OCTET_MODELS_LLAMA_PROJECTION_H_
#define OCTET_MODELS_LLAMA_PROJECTION_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/stream.h"
#include "base/tensor.h"
#include "float8/linear.h"
#include "float8/recipe.h"

namespace octet::models {

class Projection {
 public:
  // Weight [n, k]. The recipe decides by name and shape; a layer that it keeps
  // in high precision has the bf16 recipe here.
  Projection(const float8::Recipe& recipe, std::string name, int64_t n,
             int64_t k);

  const std::string& name() const { return name_; }
  bool is_float8() const { return is_float8_; }
  const float8::Recipe& recipe() const { return recipe_; }
  float8::LayerShape shape() const { return {name_, n_, k_}; }
  // Whether backward reads the input itself, and not its float8 form.
  bool reads_input_again() const { return !recipe_.wgrad.b.is_float8; }

  // Casts the weight unless its forms are of this version already.
  absl::Status Prepare(const Stream& stream, const TensorView& weight,
                       int64_t version);
  // The next Prepare casts again, whatever the version.
  void Forget() { version_ = -1; }
  const float8::LinearOperand& weight() const { return weight_; }

  float8::LinearState& scaling() { return scaling_; }
  // Calls f with each history and its name, such as "NAME.weight".
  void VisitScaling(
      const std::function<void(const std::string&, float8::DelayedScale*)>& f);

 private:
  std::string name_;
  int64_t n_;
  int64_t k_;
  bool is_float8_ = false;
  float8::Recipe recipe_;
  float8::LinearState scaling_;
  float8::LinearOperand weight_;
  int64_t version_ = -1;
};

// What one or several projections read, cast once for all that are float8.
class SharedInput {
 public:
  // Of `x`, which must outlive the last use, for these readers.
  absl::Status Prepare(const Stream& stream, const TensorView& x,
                       absl::Span<Projection* const> readers);

  // y = x w^T. Overwrites y.
  absl::Status Forward(const Stream& stream, const Projection& reader,
                       const TensorView& y) const;

  // See float8::LinearBackward; dw is accumulated into.
  absl::Status Backward(const Stream& stream, Projection& reader,
                        const TensorView& g, const TensorView& dx,
                        float8::GradientMode dx_mode,
                        const TensorView& dw) const;

 private:
  const float8::LinearOperand& For(const Projection& reader) const {
    return reader.is_float8() ? float8_ : plain_;
  }

  float8::LinearOperand float8_;
  float8::LinearOperand plain_;
};

}  // namespace octet::models

#endif  // OCTET_MODELS_LLAMA_PROJECTION_H_
