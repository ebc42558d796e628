// SPDX-License-Identifier: Apache-2.0
#include "testing/random_tensor.h"

#include <vector>

#include "base/philox.h"
#include "base/status_macros.h"
#include "base/stream.h"
#include "testing/numbers.h"

namespace octet::testing {

absl::StatusOr<Tensor> RandomTensor(DType dtype, const Shape& shape,
                                    uint64_t seed,
                                    const RandomOptions& options) {
  const Philox values(seed, /*stream=*/0);
  const Philox places(seed, /*stream=*/1);
  std::vector<double> x(shape.num_elements());
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = options.scale * values.Normal(i);
  }
  if (!x.empty()) {
    for (int64_t i = 0; i < options.outliers; ++i) {
      x[places.Below(2 * i, x.size())] = places.Below(2 * i + 1, 2) == 0
                                             ? options.outlier_value
                                             : -options.outlier_value;
    }
  }
  OCTET_ASSIGN_OR_RETURN(Tensor host, FromDoubles(x, dtype, shape));
  if (options.device.kind == DeviceKind::kCpu) return host;
  OCTET_ASSIGN_OR_RETURN(const Stream stream, Stream::Create(options.device));
  OCTET_ASSIGN_OR_RETURN(Tensor tensor,
                         Tensor::Allocate(dtype, shape, options.device));
  OCTET_RETURN_IF_ERROR(Copy(stream, host, tensor));
  OCTET_RETURN_IF_ERROR(stream.Synchronize());
  return tensor;
}

}  // namespace octet::testing
