// SPDX-License-Identifier: Apache-2.0
#include "models/layers/test_tensors.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <utility>

#include "absl/status/statusor.h"
#include "base/philox.h"
#include "base/stream.h"
#include "testing/numbers.h"

namespace octet::models {
namespace {

template <typename T>
T ValueOrDie(absl::StatusOr<T> value) {
  if (!value.ok()) {
    std::cerr << value.status() << std::endl;
    std::abort();
  }
  return std::move(value).value();
}

}  // namespace

std::vector<double> NormalValues(int64_t n, uint64_t seed, double scale) {
  const Philox random(seed, 0);
  std::vector<double> values(n);
  for (int64_t i = 0; i < n; ++i) {
    values[i] = scale * static_cast<double>(random.Normal(i));
  }
  return values;
}

Tensor MakeTensor(DType dtype, const Shape& shape,
                  absl::Span<const double> values) {
  return ValueOrDie(octet::testing::FromDoubles(values, dtype, shape));
}

Tensor MakeTensor(const Shape& shape, absl::Span<const int32_t> values) {
  Tensor tensor = MakeZeros(DType::kI32, shape);
  if (tensor.num_elements() != static_cast<int64_t>(values.size())) {
    std::cerr << shape.ToString() << " of " << values.size() << " values\n";
    std::abort();
  }
  if (!values.empty()) {
    std::memcpy(tensor.as<char>(), values.data(),
                values.size() * sizeof(int32_t));
  }
  return tensor;
}

Tensor MakeZeros(DType dtype, const Shape& shape) {
  return ValueOrDie(Tensor::Zeros(Stream(), dtype, shape));
}

std::vector<double> Doubles(const TensorView& tensor) {
  return ValueOrDie(octet::testing::ToDoubles(tensor));
}

double ErrorOf(absl::Span<const double> a, absl::Span<const double> b) {
  if (a.size() != b.size()) return std::nan("");
  double difference = 0.0;
  double norm = 0.0;
  for (size_t i = 0; i < a.size(); ++i) {
    difference += (a[i] - b[i]) * (a[i] - b[i]);
    norm += b[i] * b[i];
  }
  return difference == 0.0 ? 0.0 : std::sqrt(difference / norm);
}

}  // namespace octet::models
