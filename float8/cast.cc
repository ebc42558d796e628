// SPDX-License-Identifier: Apache-2.0
#include "float8/cast.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "float8/cast_kernel.h"

namespace octet::float8 {
namespace {

absl::Status CheckOut(const Quantized* out, absl::string_view name) {
  if (out != nullptr) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("cast: ", name, " is null"));
}

}  // namespace

namespace internal {

KernelSlot<CastKernel>& CastSlot() {
  static KernelSlot<CastKernel> slot("//float8:cast_cuda", &CastCpu);
  return slot;
}

KernelSlot<CastWithScaleKernel>& CastWithScaleSlot() {
  static KernelSlot<CastWithScaleKernel> slot("//float8:cast_cuda",
                                              &CastWithScaleCpu);
  return slot;
}

KernelSlot<CastManyKernel>& CastManySlot() {
  static KernelSlot<CastManyKernel> slot("//float8:cast_cuda", &CastManyCpu);
  return slot;
}

KernelSlot<DequantizeKernel>& DequantizeSlot() {
  static KernelSlot<DequantizeKernel> slot("//float8:cast_cuda",
                                           &DequantizeCpu);
  return slot;
}

CastForm FormOf(const Quantized& q) {
  CastForm form;
  form.plan = q.plan;
  form.data = q.data;
  form.transposed = q.transposed;
  form.scale = q.scale;
  form.reciprocal = q.reciprocal;
  form.transposed_reciprocal = q.transposed_reciprocal;
  return form;
}

absl::Status CheckCastInput(const Stream& stream, const TensorView& in,
                            const CastPlan& plan) {
  if (!IsFloat8(plan.dtype) || plan.dtype == DType::kF8E8M0) {
    return absl::InvalidArgumentError(absl::StrCat("cast: the plan's dtype is ",
                                                   Name(plan.dtype),
                                                   ", not f8_e4m3 or f8_e5m2"));
  }
  if (!IsHighPrecision(in.dtype())) {
    return absl::InvalidArgumentError(
        absl::StrCat("cast: in is ", in.ToString(), ", not f32, bf16 or f16"));
  }
  return CheckArgument(stream, "cast", "in", in);
}

absl::Status FitQuantized(const TensorView& in, const CastPlan& plan,
                          CastLayout layout, Quantized* out) {
  OCTET_RETURN_IF_ERROR(CheckOut(out, "out"));
  const int64_t rows = in.rows(), cols = in.cols();
  const Granularity tiles = plan.granularity;
  const auto fit = [&](bool wanted, DType dtype, const Shape& shape,
                       Tensor* tensor) -> absl::Status {
    const TensorView& view = tensor->view();
    const bool exists = view.data() != nullptr;
    if (!wanted) {
      if (exists) *tensor = Tensor();
      return absl::OkStatus();
    }
    if (exists && view.dtype() == dtype && view.shape() == shape &&
        view.device() == in.device()) {
      return absl::OkStatus();
    }
    OCTET_ASSIGN_OR_RETURN(*tensor,
                           Tensor::Allocate(dtype, shape, in.device()));
    return absl::OkStatus();
  };
  const bool row_major = layout != CastLayout::kTransposed;
  const bool transposed = layout != CastLayout::kRowMajor;
  // The matrix's own shape is kept: [batch, tokens, hidden] stays that.
  OCTET_RETURN_IF_ERROR(fit(row_major, plan.dtype, in.shape(), &out->data));
  OCTET_RETURN_IF_ERROR(
      fit(transposed, plan.dtype, Shape({cols, rows}), &out->transposed));
  OCTET_RETURN_IF_ERROR(
      fit(true, DType::kF32, ScaleShape(tiles, rows, cols), &out->scale));
  const bool on_gpu = in.device().kind != DeviceKind::kCpu;
  const Shape reciprocal = ReciprocalShape(tiles, rows, cols);
  const bool multiplies = on_gpu && reciprocal != Shape({0});
  const bool square = tiles == Granularity::kBlock128x128;
  OCTET_RETURN_IF_ERROR(fit(multiplies && (row_major || !square), DType::kF32,
                            reciprocal, &out->reciprocal));
  OCTET_RETURN_IF_ERROR(fit(multiplies && transposed && square, DType::kF32,
                            ReciprocalShape(tiles, cols, rows),
                            &out->transposed_reciprocal));
  out->plan = plan;
  return absl::OkStatus();
}

}  // namespace internal

namespace {

absl::Status CheckScale(const Stream& stream, absl::string_view what,
                        const TensorView& scale, Granularity granularity,
                        int64_t rows, int64_t cols) {
  const Shape shape = ScaleShape(granularity, rows, cols);
  if (scale.dtype() != DType::kF32 || scale.shape() != shape) {
    return absl::InvalidArgumentError(absl::StrCat(
        "cast: ", what, " is ", scale.ToString(), ", but ", Name(granularity),
        " of [", rows, ", ", cols, "] needs f32 ", shape.ToString()));
  }
  return CheckArgument(stream, "cast", what, scale);
}

// Refitting out->scale would free what `view` reads.
absl::Status CheckOutlivesFit(absl::string_view what, const TensorView& view,
                              const Quantized& out) {
  const TensorView& own = out.scale;
  if (view.empty() || own.empty()) return absl::OkStatus();
  if (view.data() == own.data() && view.shape() == own.shape()) {
    return absl::OkStatus();
  }
  const std::less<const char*> before;
  const char* const begin = view.as<char>();
  const char* const own_begin = own.as<char>();
  if (!before(begin, own_begin + own.num_bytes()) ||
      !before(own_begin, begin + view.num_bytes())) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "cast: ", what, " is ", view.ToString(), " inside out->scale, which is ",
      own.ToString(), " and must be allocated again: copy it first"));
}

// `unfit`: an option of the other way of scaling.
absl::Status CheckOptions(const Stream& stream, const TensorView& in,
                          const CastPlan& plan, const CastOptions& options,
                          const TensorView& unfit,
                          absl::string_view unfit_name) {
  if (unfit.present()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "cast: ", unfit_name, " is ", unfit.ToString(),
        "; known_amax is for dynamic scaling, seen_amax for a given scale"));
  }
  for (const auto& [what, amax] :
       {std::make_pair("known_amax", options.known_amax),
        std::make_pair("seen_amax", options.seen_amax)}) {
    if (!amax.present()) continue;
    OCTET_RETURN_IF_ERROR(
        CheckScale(stream, what, amax, plan.granularity, in.rows(), in.cols()));
  }
  const TensorView& sum = options.column_sum;
  if (!sum.present()) return absl::OkStatus();
  if (sum.dtype() != DType::kF32 || sum.shape() != Shape({in.cols()})) {
    return absl::InvalidArgumentError(
        absl::StrCat("cast: column_sum is ", sum.ToString(), ", in is ",
                     in.ToString(), "; it must be f32 [", in.cols(), "]"));
  }
  return CheckArgument(stream, "cast", "column_sum", sum);
}

}  // namespace

absl::Status Cast(const Stream& stream, const TensorView& in,
                  const CastPlan& plan, Quantized* out) {
  return Cast(stream, in, plan, CastOptions(), out);
}

absl::Status Cast(const Stream& stream, const TensorView& in,
                  const CastPlan& plan, const CastOptions& options,
                  Quantized* out) {
  OCTET_RETURN_IF_ERROR(internal::CheckCastInput(stream, in, plan));
  OCTET_RETURN_IF_ERROR(
      CheckOptions(stream, in, plan, options, options.seen_amax, "seen_amax"));
  OCTET_RETURN_IF_ERROR(CheckOut(out, "out"));
  OCTET_RETURN_IF_ERROR(
      CheckOutlivesFit("known_amax", options.known_amax, *out));
  OCTET_ASSIGN_OR_RETURN(internal::CastKernel* const kernel,
                         internal::CastSlot().Get(stream.device()));
  OCTET_RETURN_IF_ERROR(internal::FitQuantized(in, plan, options.layout, out));
  const internal::CastForm form = internal::FormOf(*out);
  return kernel(stream, in, absl::MakeConstSpan(&form, 1), options);
}

absl::Status CastWithScale(const Stream& stream, const TensorView& in,
                           const TensorView& scale, const CastPlan& plan,
                           const CastOptions& options, Quantized* out) {
  OCTET_RETURN_IF_ERROR(internal::CheckCastInput(stream, in, plan));
  OCTET_RETURN_IF_ERROR(CheckScale(stream, "scale", scale, plan.granularity,
                                   in.rows(), in.cols()));
  OCTET_RETURN_IF_ERROR(CheckOptions(stream, in, plan, options,
                                     options.known_amax, "known_amax"));
  OCTET_RETURN_IF_ERROR(CheckOut(out, "out"));
  OCTET_RETURN_IF_ERROR(CheckOutlivesFit("scale", scale, *out));
  OCTET_ASSIGN_OR_RETURN(internal::CastWithScaleKernel* const kernel,
                         internal::CastWithScaleSlot().Get(stream.device()));
  const bool own_scale = scale.data() == out->scale.view().data();
  OCTET_RETURN_IF_ERROR(internal::FitQuantized(in, plan, options.layout, out));
  if (!own_scale) OCTET_RETURN_IF_ERROR(Copy(stream, scale, out->scale));
  return kernel(stream, in, internal::FormOf(*out), options);
}

absl::Status CastPair(const Stream& stream, const TensorView& in,
                      const CastTarget& first, const CastTarget& second) {
  OCTET_RETURN_IF_ERROR(CheckOut(first.out, "first.out"));
  OCTET_RETURN_IF_ERROR(CheckOut(second.out, "second.out"));
  if (first.out == second.out) {
    return absl::InvalidArgumentError(
        "cast: a pair needs two different outputs");
  }
  OCTET_RETURN_IF_ERROR(internal::CheckCastInput(stream, in, first.plan));
  OCTET_RETURN_IF_ERROR(internal::CheckCastInput(stream, in, second.plan));
  std::vector<internal::CastForm> forms;
  for (const CastTarget& target : {first, second}) {
    OCTET_RETURN_IF_ERROR(
        internal::FitQuantized(in, target.plan, target.layout, target.out));
    forms.push_back(internal::FormOf(*target.out));
  }
  OCTET_ASSIGN_OR_RETURN(internal::CastKernel* const kernel,
                         internal::CastSlot().Get(stream.device()));
  return kernel(stream, in, forms, CastOptions());
}

absl::Status CastMany(const Stream& stream, absl::Span<const CastJob> jobs) {
  std::vector<internal::CastItem> items;
  std::vector<std::pair<const Quantized*, size_t>> outs;
  for (size_t i = 0; i < jobs.size(); ++i) {
    if (jobs[i].out == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("cast: out of job ", i, " is null"));
    }
    OCTET_RETURN_IF_ERROR(
        internal::CheckCastInput(stream, jobs[i].in, jobs[i].plan));
    outs.emplace_back(jobs[i].out, i);
  }
  std::sort(outs.begin(), outs.end());
  for (size_t i = 1; i < outs.size(); ++i) {
    if (outs[i - 1].first == outs[i].first) {
      return absl::InvalidArgumentError(
          absl::StrCat("cast: jobs ", outs[i - 1].second, " and ",
                       outs[i].second, " have the same out"));
    }
  }
  OCTET_ASSIGN_OR_RETURN(internal::CastManyKernel* const kernel,
                         internal::CastManySlot().Get(stream.device()));
  for (const CastJob& job : jobs) {
    OCTET_RETURN_IF_ERROR(
        internal::FitQuantized(job.in, job.plan, job.layout, job.out));
    items.push_back({job.in, internal::FormOf(*job.out)});
  }
  return items.empty() ? absl::OkStatus() : kernel(stream, items);
}

absl::Status Dequantize(const Stream& stream, const Quantized& in,
                        const TensorView& out) {
  const bool is_transposed = in.data.view().data() == nullptr;
  const TensorView& data = is_transposed ? in.transposed : in.data;
  if (!IsFloat8(data.dtype()) || data.dtype() == DType::kF8E8M0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "dequantize: data is ", data.ToString(), ", not f8_e4m3 or f8_e5m2"));
  }
  const int64_t rows = is_transposed ? data.cols() : data.rows();
  const int64_t cols = is_transposed ? data.rows() : data.cols();
  if (!IsHighPrecision(out.dtype()) || out.rows() != rows ||
      out.cols() != cols) {
    return absl::InvalidArgumentError(
        absl::StrCat("dequantize: out is ", out.ToString(), ", data is ",
                     data.ToString(), is_transposed ? " transposed" : "",
                     "; out must be f32, bf16 or f16 of its shape"));
  }
  OCTET_RETURN_IF_ERROR(CheckArgument(stream, "dequantize", "data", data));
  OCTET_RETURN_IF_ERROR(CheckArgument(stream, "dequantize", "out", out));
  OCTET_RETURN_IF_ERROR(
      CheckScale(stream, "scale", in.scale, in.plan.granularity, rows, cols));
  OCTET_ASSIGN_OR_RETURN(internal::DequantizeKernel* const kernel,
                         internal::DequantizeSlot().Get(stream.device()));
  return kernel(stream, internal::FormOf(in), out);
}

}  // namespace octet::float8
