// SPDX-License-Identifier: Apache-2.0

// Attention on the CUDA cores, a tile of 64 queries and 64 keys at a time. All
// outputs are overwritten, each by one block with its sums in one order: the
// gradients take one pass over the queries' tiles for dq and one over the keys'
// for dk and dv, which compute the scores once each.
#include <cmath>
#include <type_traits>

#include "models/layers/cuda/attention_kernel.h"
#include "models/layers/cuda/attention_tile.cuh"

namespace octet::models::internal {
namespace {

// Which tile of which head a block works on. Tiles come first to last, or last
// to first where the last ones have the most to do.
struct Place {
  int64_t batch, head, first;
};
__device__ __forceinline__ Place PlaceOf(int64_t heads, int64_t tiles,
                                         bool last_first) {
  const int64_t all = blockIdx.x;
  const int64_t tile = all / (gridDim.x / tiles);
  const int64_t head = all % (gridDim.x / tiles);
  return {head / heads, head % heads,
          (last_first ? tiles - 1 - tile : tile) * kTileRows};
}

__device__ __forceinline__ int64_t TilesOf(int64_t length) {
  return (length + kTileRows - 1) / kTileRows;
}

template <typename T, int kColumns>
__global__ void __launch_bounds__(kTileThreads)
    ForwardKernel(AttentionProblem p, float scale) {
  __shared__ TileShared<kColumns> shared;
  const int ty = threadIdx.x / 16, tx = threadIdx.x % 16;
  const int d = static_cast<int>(p.head_dim);
  const Place place = PlaceOf(p.heads, TilesOf(p.length), true);
  const int64_t kv_head = place.head / (p.heads / p.kv_heads);
  const auto q = RowsOf<T>(p.q, place.batch, p.length, p.heads, place.head, d,
                           place.first);
  float sum[4][kColumns] = {};
  float largest[4], total[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    largest[i] = -INFINITY;
    total[i] = 0.0f;
  }
  for (int64_t key = 0; key <= place.first; key += kTileRows) {
    const auto k =
        RowsOf<T>(p.k, place.batch, p.length, p.kv_heads, kv_head, d, key);
    const auto v =
        RowsOf<T>(p.v, place.batch, p.length, p.kv_heads, kv_head, d, key);
    float s[4][4];
    RowProducts(q, k, &shared, s);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int64_t row = place.first + 4 * ty + i;
      float most = largest[i];
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        s[i][j] = key + 4 * tx + j <= row ? s[i][j] * scale : -INFINITY;
        most = fmaxf(most, s[i][j]);
      }
      most = RowMax(most);
      // Each row sees key 0, so that `most` is a number from the first tile on.
      const float keep = expf(largest[i] - most);
      largest[i] = most;
      float part = 0.0f;
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        s[i][j] = expf(s[i][j] - most);
        part += s[i][j];
      }
      total[i] = total[i] * keep + RowSum(part);
#pragma unroll
      for (int c = 0; c < kColumns; ++c) sum[i][c] *= keep;
    }
    AddWeighted(s, v, &shared, sum);
  }
  float inverse[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    inverse[i] = 1.0f / total[i];
    if (tx == 0 && 4 * ty + i < q.count) {
      p.log_sum_exp[(place.batch * p.heads + place.head) * p.length +
                    place.first + 4 * ty + i] = largest[i] + logf(total[i]);
    }
  }
  StoreSum<kColumns>(sum, inverse,
                     RowsOf<T>(p.o, place.batch, p.length, p.heads, place.head,
                               d, place.first));
}

// delta = o . grad_o, a warp a row.
template <typename T>
__global__ void DeltaKernel(AttentionProblem p) {
  const int64_t rows = p.batch * p.length * p.heads;
  const int64_t row =
      (static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) / 32;
  if (row >= rows) return;
  const auto* o = static_cast<const T*>(p.o) + row * p.head_dim;
  const auto* grad = static_cast<const T*>(p.grad_o) + row * p.head_dim;
  float sum = 0.0f;
  for (int64_t i = threadIdx.x % 32; i < p.head_dim; i += 32) {
    sum = __fmaf_rn(float8::internal::ToFloat(o[i]),
                    float8::internal::ToFloat(grad[i]), sum);
  }
  sum = WarpSum(sum);
  if (threadIdx.x % 32 != 0) return;
  const int64_t head = row % p.heads, token = row / p.heads;
  p.delta[(token / p.length * p.heads + head) * p.length + token % p.length] =
      sum;
}

// The probability of a score and, from its product of grad_o and v, the score's
// gradient.
struct Scores {
  float scale;
  __device__ __forceinline__ void Turn(bool visible, float lse, float delta,
                                       float* s, float* ds) const {
    const float probability = visible ? expf(*s * scale - lse) : 0.0f;
    *ds = visible ? probability * (*ds - delta) * scale : 0.0f;
    *s = probability;
  }
};

template <typename T, int kColumns>
__global__ void __launch_bounds__(kTileThreads)
    QueryGradientKernel(AttentionProblem p, float scale) {
  __shared__ TileShared<kColumns> shared;
  const int ty = threadIdx.x / 16, tx = threadIdx.x % 16;
  const int d = static_cast<int>(p.head_dim);
  const Place place = PlaceOf(p.heads, TilesOf(p.length), true);
  const int64_t kv_head = place.head / (p.heads / p.kv_heads);
  const auto q = RowsOf<T>(p.q, place.batch, p.length, p.heads, place.head, d,
                           place.first);
  const auto grad_o = RowsOf<T>(p.grad_o, place.batch, p.length, p.heads,
                                place.head, d, place.first);
  float lse[4], delta[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const bool there = 4 * ty + i < q.count;
    const int64_t at = (place.batch * p.heads + place.head) * p.length +
                       place.first + 4 * ty + i;
    lse[i] = there ? p.log_sum_exp[at] : 0.0f;
    delta[i] = there ? p.delta[at] : 0.0f;
  }
  float sum[4][kColumns] = {};
  for (int64_t key = 0; key <= place.first; key += kTileRows) {
    const auto k =
        RowsOf<T>(p.k, place.batch, p.length, p.kv_heads, kv_head, d, key);
    const auto v =
        RowsOf<T>(p.v, place.batch, p.length, p.kv_heads, kv_head, d, key);
    float s[4][4], ds[4][4];
    RowProducts(q, k, &shared, s);
    RowProducts(grad_o, v, &shared, ds);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int64_t row = place.first + 4 * ty + i;
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const bool visible = key + 4 * tx + j <= row && row < p.length;
        Scores{scale}.Turn(visible, lse[i], delta[i], &s[i][j], &ds[i][j]);
      }
    }
    AddWeighted(ds, k, &shared, sum);
  }
  const float one[4] = {1.0f, 1.0f, 1.0f, 1.0f};
  StoreSum<kColumns>(sum, one,
                     RowsOf<T>(p.dq, place.batch, p.length, p.heads, place.head,
                               d, place.first));
}

template <typename T, int kColumns>
__global__ void __launch_bounds__(kTileThreads)
    KeyGradientKernel(AttentionProblem p, float scale) {
  __shared__ TileShared<kColumns> shared;
  const int ty = threadIdx.x / 16, tx = threadIdx.x % 16;
  const int d = static_cast<int>(p.head_dim);
  const Place place = PlaceOf(p.kv_heads, TilesOf(p.length), false);
  const int64_t group = p.heads / p.kv_heads;
  const auto k = RowsOf<T>(p.k, place.batch, p.length, p.kv_heads, place.head,
                           d, place.first);
  const auto v = RowsOf<T>(p.v, place.batch, p.length, p.kv_heads, place.head,
                           d, place.first);
  float dk[4][kColumns] = {}, dv[4][kColumns] = {};
  for (int64_t h = place.head * group; h < (place.head + 1) * group; ++h) {
    const int64_t statistics = (place.batch * p.heads + h) * p.length;
    for (int64_t query = place.first; query < p.length; query += kTileRows) {
      const auto q =
          RowsOf<T>(p.q, place.batch, p.length, p.heads, h, d, query);
      const auto grad_o =
          RowsOf<T>(p.grad_o, place.batch, p.length, p.heads, h, d, query);
      float s[4][4], ds[4][4];
      RowProducts(k, q, &shared, s);
      RowProducts(v, grad_o, &shared, ds);
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const int64_t row = query + 4 * tx + j;
        const bool there = row < p.length;
        const float lse = there ? p.log_sum_exp[statistics + row] : 0.0f;
        const float delta = there ? p.delta[statistics + row] : 0.0f;
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const bool visible = place.first + 4 * ty + i <= row && there;
          Scores{scale}.Turn(visible, lse, delta, &s[i][j], &ds[i][j]);
        }
      }
      AddWeighted(s, grad_o, &shared, dv);
      __syncthreads();
      AddWeighted(ds, q, &shared, dk);
    }
  }
  const float one[4] = {1.0f, 1.0f, 1.0f, 1.0f};
  StoreSum<kColumns>(dk, one,
                     RowsOf<T>(p.dk, place.batch, p.length, p.kv_heads,
                               place.head, d, place.first));
  StoreSum<kColumns>(dv, one,
                     RowsOf<T>(p.dv, place.batch, p.length, p.kv_heads,
                               place.head, d, place.first));
}

unsigned BlocksOf(const AttentionProblem& p, int64_t heads) {
  return static_cast<unsigned>((p.length + kTileRows - 1) / kTileRows * heads *
                               p.batch);
}

float ScaleOf(const AttentionProblem& p) {
  return 1.0f / std::sqrt(static_cast<float>(p.head_dim));
}

// Calls launch.operator()<T, kColumns>() with heads that fit.
template <typename T, typename Launch>
void ForHeadDim(int64_t head_dim, const Launch& launch) {
  if (head_dim <= 64) return launch(T(), std::integral_constant<int, 4>());
  if (head_dim <= 128) return launch(T(), std::integral_constant<int, 8>());
  launch(T(), std::integral_constant<int, 16>());
}

template <typename Launch>
void ForProblem(const AttentionProblem& p, const Launch& launch) {
  if (p.type == ElementType::kF32) {
    ForHeadDim<float>(p.head_dim, launch);
  } else {
    ForHeadDim<__nv_bfloat16>(p.head_dim, launch);
  }
}

}  // namespace

cudaError_t LaunchAttentionForward(const AttentionProblem& problem,
                                   cudaStream_t stream) {
  ForProblem(problem, [&](auto element, auto columns) {
    ForwardKernel<decltype(element), columns.value>
        <<<BlocksOf(problem, problem.heads), kTileThreads, 0, stream>>>(
            problem, ScaleOf(problem));
  });
  return cudaGetLastError();
}

cudaError_t LaunchAttentionBackward(const AttentionProblem& problem,
                                    cudaStream_t stream) {
  const int64_t rows = problem.batch * problem.length * problem.heads;
  constexpr int kRowsPerBlock = kTileThreads / 32;
  ForProblem(problem, [&](auto element, auto columns) {
    using T = decltype(element);
    constexpr int kColumns = columns.value;
    DeltaKernel<T>
        <<<static_cast<unsigned>((rows + kRowsPerBlock - 1) / kRowsPerBlock),
           kTileThreads, 0, stream>>>(problem);
    QueryGradientKernel<T, kColumns>
        <<<BlocksOf(problem, problem.heads), kTileThreads, 0, stream>>>(
            problem, ScaleOf(problem));
    KeyGradientKernel<T, kColumns>
        <<<BlocksOf(problem, problem.kv_heads), kTileThreads, 0, stream>>>(
            problem, ScaleOf(problem));
  });
  return cudaGetLastError();
}

}  // namespace octet::models::internal
