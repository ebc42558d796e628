// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstring>
#include <vector>

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

constexpr int64_t kNone = -1;

// Where tokens of one id are: at the first of them is_first, and from each to
// the next, kNone after the last.
struct Occurrences {
  Occurrences(const int32_t* ids, int64_t count, int64_t vocab)
      : next(count, kNone), is_first(count, 1) {
    std::vector<int64_t> later(vocab, kNone);
    for (int64_t i = count - 1; i >= 0; --i) {
      next[i] = later[ids[i]];
      if (next[i] != kNone) is_first[next[i]] = 0;
      later[ids[i]] = i;
    }
  }
  std::vector<int64_t> next;
  std::vector<char> is_first;
};

// As AddRows, for a bf16 gradient: what an id's tokens add up to, and what is
// there, is in f32 until all are added.
template <typename Element>
struct AddRowsRounded {
  template <int kVectorBytes>
  static OCTET_ALWAYS_INLINE void Run(const int32_t* tokens,
                                      const Occurrences* of, int64_t hidden,
                                      int64_t begin, int64_t end,
                                      const Element* dx, float* sums,
                                      Bfloat16* dtable) {
    for (size_t first = 0; first < of->next.size(); ++first) {
      if (!of->is_first[first]) continue;
      Bfloat16* row = dtable + tokens[first] * hidden;
      for (int64_t j = begin; j < end; ++j) sums[j - begin] = Load(row[j]);
      for (auto i = static_cast<int64_t>(first); i != kNone; i = of->next[i]) {
        const Element* from = dx + i * hidden;
#pragma omp simd
        for (int64_t j = begin; j < end; ++j) sums[j - begin] += Load(from[j]);
      }
      for (int64_t j = begin; j < end; ++j) Store(sums[j - begin], &row[j]);
    }
  }
};

template <typename Element>
void AddRounded(const TensorView& tokens, const TensorView& dx,
                const TensorView& dtable) {
  const int32_t* ids = tokens.as<int32_t>();
  const Occurrences of(ids, tokens.num_elements(), dtable.rows());
  ParallelFor(dx.cols(), 32, [&](int64_t begin, int64_t end) {
    std::vector<float> sums(end - begin);
    RunBest<AddRowsRounded<Element>>(ids, &of, dx.cols(), begin, end,
                                     static_cast<const Element*>(dx.data()),
                                     sums.data(), dtable.as<Bfloat16>());
  });
}

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
  if (dtable.dtype() == DType::kBf16) {
    if (dx.dtype() == DType::kBf16) {
      AddRounded<Bfloat16>(tokens, dx, dtable);
    } else {
      AddRounded<float>(tokens, dx, dtable);
    }
    return absl::OkStatus();
  }
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
