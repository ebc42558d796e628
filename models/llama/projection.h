// SPDX-License-Identifier: Apache-2.0

// A linear layer of the model: its name, whether it runs in float8, its
// weight's cached forms and its scaling histories.
#ifndef OCTET_MODELS_LLAMA_PROJECTION_H_
#define OCTET_MODELS_LLAMA_PROJECTION_H_

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

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
  // Whether a cast of its input, or of its output's gradient, is spared a read
  // of all of it by being told the amax.
  bool wants_input_amax() const;
  bool wants_gradient_amax() const;

  // Casts the weight unless its forms are of this version already. `amax`: of
  // the weight, f32 [1, 1], absent if it is not known.
  absl::Status Prepare(const Stream& stream, const TensorView& weight,
                       const TensorView& amax, int64_t version);
  // Whether Prepare needs no weight, and nor does anything after it.
  bool IsPrepared(int64_t version) const;
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

// Memory that one layer after the other uses: what backward makes of output
// gradients, and the bytes of inputs that forward alone reads.
class SharedCasts {
 public:
  // The forms of a gradient of `cols` columns, one layer's at a time.
  float8::LinearOperand* GradientForms(int64_t cols, bool is_float8) {
    return &gradients_[{cols, is_float8}];
  }
  // Those of two gradients at one time, besides.
  std::array<float8::LinearOperand, 2>* PairOfForms() { return &pair_; }

  // A tensor of so many columns that was given back, or an absent one.
  Tensor TakeBytes(int64_t cols);
  void GiveBytes(Tensor bytes);

 private:
  std::map<std::pair<int64_t, bool>, float8::LinearOperand> gradients_;
  std::array<float8::LinearOperand, 2> pair_;
  std::map<int64_t, Tensor> bytes_;
};

// A weight's gradient.
struct WeightGradient {
  TensorView dw;
  float8::GradientMode mode = float8::GradientMode::kAccumulate;
};

// The gradient of a projection's output: itself and its amax, which may be
// absent; or its forms, where whoever made it made these.
struct OutputGradient {
  TensorView g;
  TensorView amax = {};
  const float8::LinearOperand* forms = nullptr;
};

// What one or several projections read, cast once for all that are float8.
class SharedInput {
 public:
  // Of `x`, which must outlive the last use, for these readers. `amax`: of x,
  // where whoever made it knows it; see float8::LinearSource.
  absl::Status Prepare(const Stream& stream, const TensorView& x,
                       const TensorView& amax,
                       absl::Span<Projection* const> readers,
                       SharedCasts* shared);

  // The casts of an x with `cols` columns, for whoever makes it to make them;
  // PrepareMade follows in the place of Prepare. None where they need x itself.
  std::optional<float8::OperandCasts> Casts(
      const Stream& stream, int64_t cols, absl::Span<Projection* const> readers,
      SharedCasts* shared);
  // `x` is absent where no reader wants it but in float8.
  void PrepareMade(const TensorView& x) { plain_.value = float8_.value = x; }

  // y = x w^T. Overwrites y.
  absl::Status Forward(const Stream& stream, const Projection& reader,
                       const TensorView& y) const;

  // After the last Forward: what backward does not read is for the next layer.
  void EndForward(SharedCasts* shared);

  // See float8::LinearBackward.
  absl::Status Backward(const Stream& stream, Projection& reader,
                        const OutputGradient& g, const TensorView& dx,
                        float8::GradientMode dx_mode, const WeightGradient& dw,
                        SharedCasts* shared) const;

 private:
  // The memory of the first form's bytes, if it has none and `shared` does.
  void TakeBytes(int64_t cols, SharedCasts* shared);
  const float8::LinearOperand& For(const Projection& reader) const {
    return reader.is_float8() ? float8_ : plain_;
  }

  float8::LinearOperand float8_;
  float8::LinearOperand plain_;
};

}  // namespace octet::models

#endif  // OCTET_MODELS_LLAMA_PROJECTION_H_
