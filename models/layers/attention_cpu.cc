// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "base/parallel.h"
#include "base/shape.h"
#include "models/layers/attention_kernel.h"
#include "models/layers/elements.h"
#include "models/layers/small_matmul.h"

namespace octet::models::internal {
namespace {

// Query rows whose scores exist at one time.
constexpr int64_t kBlock = 32;

// Sizes, and the scratch of one thread. A work item is one key and value head
// of one sequence with all the query heads that read it, so that nobody else
// adds to its gradients.
template <typename T>
struct Plan {
  int64_t length, heads, kv_heads, head_dim;
  int64_t padded;  // length, up to whole blocks
  T scale;
  T* k;             // [padded, head_dim]
  T* k_transposed;  // [head_dim, padded]
  T* v;             // [padded, head_dim]
  T* v_transposed;  // [head_dim, padded]
  T* dk;            // [padded, head_dim]
  T* dv;            // [padded, head_dim]
  T* scores;        // [kBlock, padded]
  T* dscores;       // [kBlock, padded]
  T* q;             // [kBlock, head_dim], times scale
  T* o;             // [kBlock, head_dim]
  T* grad_o;        // [kBlock, head_dim]
};

template <typename T>
std::vector<T> MakeScratch(const AttentionForwardArgs& args, Plan<T>* plan) {
  const Shape& q = args.q.shape();
  plan->length = q.dim(1);
  plan->heads = q.dim(2);
  plan->kv_heads = args.k.shape().dim(2);
  plan->head_dim = q.dim(3);
  plan->padded = CeilDiv(plan->length, kBlock) * kBlock;
  plan->scale = T(1) / std::sqrt(T(plan->head_dim));
  const int64_t all = plan->padded * plan->head_dim;
  const int64_t scores = kBlock * plan->padded;
  const int64_t block = kBlock * plan->head_dim;
  std::vector<T> scratch(6 * all + 2 * scores + 3 * block);
  T* next = scratch.data();
  for (T** part : {&plan->k, &plan->k_transposed, &plan->v, &plan->v_transposed,
                   &plan->dk, &plan->dv}) {
    *part = next;
    next += all;
  }
  for (T** part : {&plan->scores, &plan->dscores}) {
    *part = next;
    next += scores;
  }
  for (T** part : {&plan->q, &plan->o, &plan->grad_o}) {
    *part = next;
    next += block;
  }
  return scratch;
}

// Rows of one head, `stride` elements apart, as a dense matrix times scale.
template <typename Element, typename T>
OCTET_ALWAYS_INLINE void LoadRows(const Element* from, int64_t stride,
                                  int64_t rows, int64_t cols, T scale, T* out) {
  for (int64_t t = 0; t < rows; ++t) {
#pragma omp simd
    for (int64_t d = 0; d < cols; ++d) {
      out[t * cols + d] = Load(from[t * stride + d]) * scale;
    }
  }
}

template <typename Element, typename T>
OCTET_ALWAYS_INLINE void StoreRows(const T* from, int64_t stride, int64_t rows,
                                   int64_t cols, T scale, Element* out) {
  for (int64_t t = 0; t < rows; ++t) {
#pragma omp simd
    for (int64_t d = 0; d < cols; ++d) {
      Store(from[t * cols + d] * scale, &out[t * stride + d]);
    }
  }
}

// out [cols, padded], the columns past `rows` 0.
template <typename T>
OCTET_ALWAYS_INLINE void TransposeRows(const T* in, int64_t rows, int64_t cols,
                                       int64_t padded, T* out) {
  for (int64_t d = 0; d < cols; ++d) {
    for (int64_t t = 0; t < rows; ++t) out[d * padded + t] = in[t * cols + d];
    for (int64_t t = rows; t < padded; ++t) out[d * padded + t] = T(0);
  }
}

template <typename Element>
struct ForwardItems {
  template <int kVectorBytes>
  static OCTET_ALWAYS_INLINE void Run(int64_t begin, int64_t end,
                                      Plan<Math<Element>> p, const Element* q,
                                      const Element* k, const Element* v,
                                      Element* o, Math<Element>* log_sum_exp) {
    using T = Math<Element>;
    const int64_t d = p.head_dim;
    const int64_t group = p.heads / p.kv_heads;
    for (int64_t item = begin; item < end; ++item) {
      const int64_t batch = item / p.kv_heads;
      const int64_t kv_head = item % p.kv_heads;
      const int64_t kv_at = (batch * p.length * p.kv_heads + kv_head) * d;
      LoadRows(k + kv_at, p.kv_heads * d, p.length, d, T(1), p.k);
      LoadRows(v + kv_at, p.kv_heads * d, p.length, d, T(1), p.v);
      TransposeRows(p.k, p.length, d, p.padded, p.k_transposed);
      for (int64_t h = kv_head * group; h < (kv_head + 1) * group; ++h) {
        for (int64_t first = 0; first < p.length; first += kBlock) {
          const int64_t rows =
              p.length - first < kBlock ? p.length - first : kBlock;
          const int64_t at = ((batch * p.length + first) * p.heads + h) * d;
          T* lse = log_sum_exp + (batch * p.heads + h) * p.length + first;
          LoadRows(q + at, p.heads * d, rows, d, p.scale, p.q);
          SmallMatmul<kVectorBytes, T>(rows, first + kBlock, d, {p.q, d, 1},
                                       p.k_transposed, p.padded, false,
                                       p.scores, p.padded);
          for (int64_t r = 0; r < rows; ++r) {
            T* s = p.scores + r * p.padded;
            const int64_t keys = first + r + 1;
            T largest = s[0];
#pragma omp simd reduction(max : largest)
            for (int64_t j = 0; j < keys; ++j) {
              largest = s[j] > largest ? s[j] : largest;
            }
            T sum = 0;
#pragma omp simd reduction(+ : sum)
            for (int64_t j = 0; j < keys; ++j) {
              s[j] = Exp(s[j] - largest);
              sum += s[j];
            }
            for (int64_t j = keys; j < first + kBlock; ++j) s[j] = T(0);
            lse[r] = largest + std::log(sum);
            const T inverse = T(1) / sum;
#pragma omp simd
            for (int64_t j = 0; j < keys; ++j) s[j] *= inverse;
          }
          SmallMatmul<kVectorBytes, T>(rows, d, first + rows,
                                       {p.scores, p.padded, 1}, p.v, d, false,
                                       p.o, d);
          StoreRows(p.o, p.heads * d, rows, d, T(1), o + at);
        }
      }
    }
  }
};

template <typename Element>
struct BackwardItems {
  // Scores of a block of rows again, then their gradient, which is left in
  // dscores; probabilities are left in scores.
  template <int kVectorBytes>
  static OCTET_ALWAYS_INLINE void Scores(const Plan<Math<Element>>& p,
                                         int64_t first, int64_t rows,
                                         const Math<Element>* lse) {
    using T = Math<Element>;
    const int64_t d = p.head_dim;
    const int64_t keys = first + kBlock;
    SmallMatmul<kVectorBytes, T>(rows, keys, d, {p.q, d, 1}, p.k_transposed,
                                 p.padded, false, p.scores, p.padded);
    SmallMatmul<kVectorBytes, T>(rows, keys, d, {p.grad_o, d, 1},
                                 p.v_transposed, p.padded, false, p.dscores,
                                 p.padded);
    for (int64_t r = 0; r < rows; ++r) {
      T delta = 0;
#pragma omp simd reduction(+ : delta)
      for (int64_t i = 0; i < d; ++i) {
        delta += p.grad_o[r * d + i] * p.o[r * d + i];
      }
      T* s = p.scores + r * p.padded;
      T* ds = p.dscores + r * p.padded;
      const int64_t visible = first + r + 1;
      const T shift = lse[r];
#pragma omp simd
      for (int64_t j = 0; j < visible; ++j) {
        s[j] = Exp(s[j] - shift);
        ds[j] = s[j] * (ds[j] - delta);
      }
      for (int64_t j = visible; j < keys; ++j) {
        s[j] = T(0);
        ds[j] = T(0);
      }
    }
  }

  template <int kVectorBytes>
  static OCTET_ALWAYS_INLINE void Run(int64_t begin, int64_t end,
                                      Plan<Math<Element>> p, const Element* q,
                                      const Element* k, const Element* v,
                                      const Element* o,
                                      const Math<Element>* log_sum_exp,
                                      const Element* grad_o, Element* dq,
                                      Element* dk, Element* dv) {
    using T = Math<Element>;
    const int64_t d = p.head_dim;
    const int64_t group = p.heads / p.kv_heads;
    for (int64_t item = begin; item < end; ++item) {
      const int64_t batch = item / p.kv_heads;
      const int64_t kv_head = item % p.kv_heads;
      const int64_t kv_at = (batch * p.length * p.kv_heads + kv_head) * d;
      LoadRows(k + kv_at, p.kv_heads * d, p.length, d, T(1), p.k);
      LoadRows(v + kv_at, p.kv_heads * d, p.length, d, T(1), p.v);
      TransposeRows(p.k, p.length, d, p.padded, p.k_transposed);
      TransposeRows(p.v, p.length, d, p.padded, p.v_transposed);
      for (int64_t i = 0; i < p.padded * d; ++i) p.dk[i] = p.dv[i] = T(0);
      for (int64_t h = kv_head * group; h < (kv_head + 1) * group; ++h) {
        for (int64_t first = 0; first < p.length; first += kBlock) {
          const int64_t rows =
              p.length - first < kBlock ? p.length - first : kBlock;
          const int64_t at = ((batch * p.length + first) * p.heads + h) * d;
          const int64_t stride = p.heads * d;
          LoadRows(q + at, stride, rows, d, p.scale, p.q);
          LoadRows(o + at, stride, rows, d, T(1), p.o);
          LoadRows(grad_o + at, stride, rows, d, T(1), p.grad_o);
          Scores<kVectorBytes>(
              p, first, rows,
              log_sum_exp + (batch * p.heads + h) * p.length + first);
          SmallMatmul<kVectorBytes, T>(first + rows, d, rows,
                                       {p.scores, 1, p.padded}, p.grad_o, d,
                                       true, p.dv, d);
          SmallMatmul<kVectorBytes, T>(first + rows, d, rows,
                                       {p.dscores, 1, p.padded}, p.q, d, true,
                                       p.dk, d);
          SmallMatmul<kVectorBytes, T>(rows, d, first + rows,
                                       {p.dscores, p.padded, 1}, p.k, d, false,
                                       p.o, d);
          StoreRows(p.o, stride, rows, d, p.scale, dq + at);
        }
      }
      StoreRows(p.dk, p.kv_heads * d, p.length, d, T(1), dk + kv_at);
      StoreRows(p.dv, p.kv_heads * d, p.length, d, T(1), dv + kv_at);
    }
  }
};

}  // namespace

absl::Status AttentionForwardCpu(const Stream&,
                                 const AttentionForwardArgs& args) {
  VisitElement(args.q.dtype(), [&](auto element) {
    using Element = decltype(element);
    using T = Math<Element>;
    ParallelFor(args.k.shape().dim(0) * args.k.shape().dim(2), 1,
                [&](int64_t begin, int64_t end) {
                  Plan<T> plan;
                  const std::vector<T> scratch = MakeScratch(args, &plan);
                  RunBest<ForwardItems<Element>>(
                      begin, end, plan,
                      static_cast<const Element*>(args.q.data()),
                      static_cast<const Element*>(args.k.data()),
                      static_cast<const Element*>(args.v.data()),
                      args.o.as<Element>(), args.log_sum_exp.as<T>());
                });
  });
  return absl::OkStatus();
}

absl::Status AttentionBackwardCpu(const Stream&,
                                  const AttentionBackwardArgs& args) {
  const AttentionForwardArgs& forward = args.forward;
  VisitElement(forward.q.dtype(), [&](auto element) {
    using Element = decltype(element);
    using T = Math<Element>;
    ParallelFor(forward.k.shape().dim(0) * forward.k.shape().dim(2), 1,
                [&](int64_t begin, int64_t end) {
                  Plan<T> plan;
                  const std::vector<T> scratch = MakeScratch(forward, &plan);
                  RunBest<BackwardItems<Element>>(
                      begin, end, plan,
                      static_cast<const Element*>(forward.q.data()),
                      static_cast<const Element*>(forward.k.data()),
                      static_cast<const Element*>(forward.v.data()),
                      static_cast<const Element*>(forward.o.data()),
                      static_cast<const T*>(forward.log_sum_exp.data()),
                      static_cast<const Element*>(args.grad_o.data()),
                      args.dq.as<Element>(), args.dk.as<Element>(),
                      args.dv.as<Element>());
                });
  });
  return absl::OkStatus();
}

}  // namespace octet::models::internal
