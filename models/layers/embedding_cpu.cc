// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/parallel.h"
#include "models/layers/elements.h"
#include "models/layers/embedding_kernel.h"

namespace octet::models::internal {
namespace {

// Rows of the gradient are added to by columns [begin, end): threads share no
// element, and each element sees the tokens in order.
template <typename Element>
struct AddRows {
  template <int kVectorBytes>
  static OCTET_ALWAYS_INLINE void Run(const int32_t* tokens, int64_t count,
                                      int64_t hidden, int64_t begin,
                                      int64_t end, const Element* dx,
                                      Math<Element>* dtable) {
    for (int64_t i = 0; i < count; ++i) {
      Math<Element>* row = dtable + tokens[i] * hidden;
      const Element* from = dx + i * hidden;
#pragma omp simd
      for (int64_t j = begin; j < end; ++j) row[j] += Load(from[j]);
    }
  }
};

}  // namespace

absl::Status EmbeddingForwardCpu(const Stream&, const TensorView& tokens,
                                 const TensorView& table, const TensorView& x) {
  const int32_t* ids = tokens.as<int32_t>();
  const int64_t count = tokens.num_elements();
  for (int64_t i = 0; i < count; ++i) {
    if (ids[i] < 0 || ids[i] >= table.rows()) {
      return absl::OutOfRangeError(absl::StrCat("embedding: token ", i, " is ",
                                                ids[i], ", the vocabulary has ",
                                                table.rows(), " entries"));
    }
  }
  const int64_t row_bytes = table.cols() * SizeOf(table.dtype());
  ParallelFor(count, 64, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      std::memcpy(x.as<char>() + i * row_bytes,
                  table.as<char>() + ids[i] * row_bytes, row_bytes);
    }
  });
  return absl::OkStatus();
}

absl::Status EmbeddingBackwardCpu(const Stream&, const TensorView& tokens,
                                  const TensorView& dx,
                                  const TensorView& dtable) {
  VisitElement(dx.dtype(), [&](auto element) {
    using Element = decltype(element);
    ParallelFor(dx.cols(), 32, [&](int64_t begin, int64_t end) {
      RunBest<AddRows<Element>>(static_cast<const int32_t*>(tokens.data()),
                                tokens.num_elements(), dx.cols(), begin, end,
                                static_cast<const Element*>(dx.data()),
                                dtable.as<Math<Element>>());
    });
  });
  return absl::OkStatus();
}

}  // namespace octet::models::internal
