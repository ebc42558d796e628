// SPDX-License-Identifier: Apache-2.0

// TensorView: a pointer with dtype, shape and device; Tensor: one that owns.
//
// Memory is contiguous and row-major. A view must not outlive its memory, nor
// the work queued on it. Views are mutable, as CUDA pointers are: an
// operation's header says what it reads and what it writes.
#ifndef OCTET_BASE_TENSOR_H_
#define OCTET_BASE_TENSOR_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/device.h"
#include "base/dtype.h"
#include "base/shape.h"
#include "base/stream.h"

namespace octet {

class TensorView {
 public:
  // Absent: no data, shape [0].
  TensorView() : shape_({0}) {}
  TensorView(void* data, DType dtype, const Shape& shape, Device device = {})
      : data_(data), shape_(shape), device_(device), dtype_(dtype) {}

  // Host memory, [n].
  template <typename T>
  static TensorView Of(absl::Span<T> values, DType dtype) {
    return TensorView(
        const_cast<void*>(static_cast<const void*>(values.data())), dtype,
        Shape({static_cast<int64_t>(values.size())}));
  }

  void* data() const { return data_; }
  // The elements as T, whose size must be the dtype's.
  template <typename T>
  T* as() const {
    return static_cast<T*>(data_);
  }
  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  Device device() const { return device_; }
  int64_t rows() const { return shape_.rows(); }
  int64_t cols() const { return shape_.cols(); }
  int64_t num_elements() const { return shape_.num_elements(); }
  int64_t num_bytes() const { return num_elements() * SizeOf(dtype_); }
  bool empty() const { return data_ == nullptr || num_elements() == 0; }
  // Not absent; a matrix without elements is present.
  bool present() const { return data_ != nullptr || shape_ != Shape({0}); }

  // The same memory in another shape of as many elements.
  TensorView Reshaped(const Shape& shape) const;
  // Rows [begin, begin + count) of the matrix form, as [count, cols].
  TensorView RowSlice(int64_t begin, int64_t count) const;

  // "bf16 [128, 96] on cpu"
  std::string ToString() const;

 private:
  void* data_ = nullptr;
  Shape shape_;
  Device device_;
  DType dtype_ = DType::kF32;
};

// Owns its memory; move-only.
class Tensor {
 public:
  Tensor() = default;

  // Uninitialised. ResourceExhausted when memory is short.
  static absl::StatusOr<Tensor> Allocate(DType dtype, const Shape& shape,
                                         Device device = {});
  // Filled with zero bytes; queued on the stream, on its device.
  static absl::StatusOr<Tensor> Zeros(const Stream& stream, DType dtype,
                                      const Shape& shape);

  const TensorView& view() const { return view_; }
  operator const TensorView&() const { return view_; }  // NOLINT: by design
  template <typename T>
  T* as() const {
    return view_.as<T>();
  }
  const Shape& shape() const { return view_.shape(); }
  DType dtype() const { return view_.dtype(); }
  int64_t num_elements() const { return view_.num_elements(); }

 private:
  struct Deleter {
    Device device;
    void operator()(void* data) const;
  };
  std::unique_ptr<void, Deleter> owner_;
  TensorView view_;
};

// What an operation asks of each argument: InvalidArgument, "cast: in is ...",
// if `view` is absent, is not on the stream's device, or has elements and no
// memory.
absl::Status CheckArgument(const Stream& stream, absl::string_view operation,
                           absl::string_view name, const TensorView& view);

// Copies bytes; shapes and dtypes must match, devices need not.
absl::Status Copy(const Stream& stream, const TensorView& from,
                  const TensorView& to);

// Sets every byte to zero.
absl::Status FillZero(const Stream& stream, const TensorView& out);

}  // namespace octet

#endif  // OCTET_BASE_TENSOR_H_
