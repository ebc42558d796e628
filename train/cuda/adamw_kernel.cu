// SPDX-License-Identifier: Apache-2.0

// AdamW over many tensors, bound by memory: a few vectors a thread, whose next
// loads are in flight while one is computed. Every operation is rounded by
// itself, in the CPU's order: the same bits.
#include <algorithm>
#include <cstring>
#include <type_traits>

#include "float8/cuda/encode.cuh"
#include "train/cuda/adamw_kernel.h"
#include "train/cuda/pieces.cuh"
#include "train/cuda/rounding.cuh"

namespace octet::train::internal {
namespace {

using float8::internal::AbsBits;
using Bf16 = __nv_bfloat16;

constexpr int kThreads = 256;
constexpr int kRounds = 4;  // vectors of a thread
constexpr int kMinBlocks = 3;

struct Entry {
  AdamWTensor tensor;
  uint32_t first_piece;
  bool is_vectors;
};
constexpr int kMaxTensors = kTableBytes / static_cast<int>(sizeof(Entry));

struct Numbers {
  AdamWNumbers adamw;
  float reciprocal_bias2;  // 1 / sqrt_bias2
  PhiloxKeys keys;
};

struct Table {
  Numbers numbers;
  Entry entries[kMaxTensors];
  int count;
};
static_assert(sizeof(Table) <= 32764);

// x / numbers.sqrt_bias2, correctly rounded: one Newton step from the product
// with the rounded reciprocal, whose remainder is exact.
__device__ __forceinline__ float Unbiased(const Numbers& n, float x) {
  const float q = __fmul_rn(x, n.reciprocal_bias2);
  const float remainder = __fmaf_rn(-q, n.adamw.sqrt_bias2, x);
  return isinf(q) ? q : __fmaf_rn(remainder, n.reciprocal_bias2, q);
}

__device__ __forceinline__ void Update(const Numbers& n, float gradient,
                                       float* master, float* m, float* v) {
  const AdamWNumbers& s = n.adamw;
  const float g = __fmul_rn(gradient, s.gradient_scale);
  const float mean =
      __fadd_rn(*m, __fmul_rn(s.one_minus_beta1, __fsub_rn(g, *m)));
  const float square = __fadd_rn(__fmul_rn(s.beta2, *v),
                                 __fmul_rn(__fmul_rn(s.one_minus_beta2, g), g));
  const float denominator = __fadd_rn(Unbiased(n, __fsqrt_rn(square)), s.eps);
  *m = mean;
  *v = square;
  *master = __fsub_rn(__fmul_rn(*master, s.decay),
                      __fmul_rn(s.step_size, __fdiv_rn(mean, denominator)));
}

// kPer elements of T in 32-bit words, loaded and stored at once.
template <typename T, int kPer>
struct alignas(sizeof(T) * kPer) Packed {
  static constexpr int kWords = static_cast<int>(sizeof(T)) * kPer / 4;
  uint32_t words[kWords];
};

template <typename T, int kPer>
__device__ __forceinline__ void Unpack(const Packed<T, kPer>& in,
                                       float (&out)[kPer]) {
#pragma unroll
  for (int i = 0; i < Packed<T, kPer>::kWords; ++i) {
    float8::internal::UnpackWord<T>(in.words[i], out + i * kPer / in.kWords);
  }
}

// To nearest.
__device__ __forceinline__ uint32_t NearestPair(float low, float high) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  return *reinterpret_cast<const uint32_t*>(&pair);
}

// What is stored: f32 as it is; bf16 rounded with half a word of random bits
// for each element, the low half for the even one.
template <typename T, int kPer>
__device__ __forceinline__ Packed<T, kPer> Pack(
    const float (&x)[kPer], const uint32_t (&random)[kPer / 2]) {
  Packed<T, kPer> out;
  if constexpr (std::is_same_v<T, float>) {
#pragma unroll
    for (int i = 0; i < kPer; ++i) out.words[i] = __float_as_uint(x[i]);
  } else {
#pragma unroll
    for (int i = 0; i < kPer / 2; ++i) {
      out.words[i] =
          __byte_perm(RoundedBits(x[2 * i], random[i] & 0xffffu),
                      RoundedBits(x[2 * i + 1], random[i] >> 16), 0x7632);
    }
  }
  return out;
}

// A vector of all that is read.
template <typename Master, typename Gradient, typename Moment, int kPer>
struct Loaded {
  Packed<Master, kPer> master;
  Packed<Gradient, kPer> gradient;
  Packed<Moment, kPer> m, v;
};

template <typename Master, typename Gradient, typename Moment, int kPer>
__device__ __forceinline__ Loaded<Master, Gradient, Moment, kPer> Load(
    const AdamWTensor& t, int64_t i) {
  return {static_cast<const Packed<Master, kPer>*>(t.master)[i],
          static_cast<const Packed<Gradient, kPer>*>(t.gradient)[i],
          static_cast<const Packed<Moment, kPer>*>(t.m)[i],
          static_cast<const Packed<Moment, kPer>*>(t.v)[i]};
}

template <typename Master, typename Gradient, typename Moment>
inline constexpr bool kIsRandom =
    std::is_same_v<Master, Bf16> || std::is_same_v<Moment, Bf16>;

// Vector i; returns the bits of the largest magnitude of the weights.
template <typename Master, typename Gradient, typename Moment, int kPer>
__device__ __forceinline__ unsigned UpdateVector(
    const Numbers& numbers, const AdamWTensor& t, int64_t i,
    const Loaded<Master, Gradient, Moment, kPer>& in) {
  float master[kPer], gradient[kPer], m[kPer], v[kPer];
  Unpack(in.master, master);
  Unpack(in.gradient, gradient);
  Unpack(in.m, m);
  Unpack(in.v, v);
#pragma unroll
  for (int k = 0; k < kPer; ++k) {
    Update(numbers, gradient[k], &master[k], &m[k], &v[k]);
  }
  uint32_t random[3][kPer / 2] = {};
  if constexpr (kIsRandom<Master, Gradient, Moment>) {
    const auto first = static_cast<uint64_t>(t.first_element + i * kPer) / 2;
#pragma unroll
    for (int k = 0; k < kPer / 2; ++k) {
      const uint4 words = PhiloxWords(numbers.keys, t.rounding_stream,
                                      first + static_cast<uint64_t>(k));
      random[0][k] = words.x;
      random[1][k] = words.y;
      random[2][k] = words.z;
    }
  }
  const auto stored = Pack<Master>(master, random[0]);
  static_cast<Packed<Master, kPer>*>(t.master)[i] = stored;
  static_cast<Packed<Moment, kPer>*>(t.m)[i] = Pack<Moment>(m, random[1]);
  static_cast<Packed<Moment, kPer>*>(t.v)[i] = Pack<Moment>(v, random[2]);
  unsigned largest = 0;
  if (std::is_same_v<Master, float> && t.weight != nullptr) {
    Packed<Bf16, kPer> weight;
#pragma unroll
    for (int k = 0; k < kPer / 2; ++k) {
      weight.words[k] = NearestPair(master[2 * k], master[2 * k + 1]);
    }
    static_cast<Packed<Bf16, kPer>*>(t.weight)[i] = weight;
    Unpack(weight, master);
  } else {
    Unpack(stored, master);
  }
#pragma unroll
  for (int k = 0; k < kPer; ++k) largest = max(largest, AbsBits(master[k]));
  return largest;
}

template <typename T>
__device__ __forceinline__ void StoreElement(float x, uint32_t random, T* out) {
  if constexpr (std::is_same_v<T, float>) {
    *out = x;
  } else {
    *out = __ushort_as_bfloat16(
        static_cast<unsigned short>(RoundedBits(x, random) >> 16));
  }
}

template <typename Master, typename Gradient, typename Moment>
__device__ unsigned UpdateElement(const Numbers& numbers, const AdamWTensor& t,
                                  int64_t i) {
  using float8::internal::ToFloat;
  auto* const all_master = static_cast<Master*>(t.master);
  auto* const all_m = static_cast<Moment*>(t.m);
  auto* const all_v = static_cast<Moment*>(t.v);
  float master = ToFloat(all_master[i]);
  float m = ToFloat(all_m[i]), v = ToFloat(all_v[i]);
  Update(numbers, ToFloat(static_cast<const Gradient*>(t.gradient)[i]), &master,
         &m, &v);
  uint4 random = {0, 0, 0, 0};
  if constexpr (kIsRandom<Master, Gradient, Moment>) {
    const auto element = static_cast<uint64_t>(t.first_element + i);
    random = PhiloxWords(numbers.keys, t.rounding_stream, element / 2);
    const unsigned shift = element % 2 * 16;
    random.x = random.x >> shift & 0xffffu;
    random.y = random.y >> shift & 0xffffu;
    random.z = random.z >> shift & 0xffffu;
  }
  StoreElement(master, random.x, &all_master[i]);
  StoreElement(m, random.y, &all_m[i]);
  StoreElement(v, random.z, &all_v[i]);
  if (t.weight == nullptr) return AbsBits(ToFloat(all_master[i]));
  const Bf16 weight = __float2bfloat16_rn(master);
  static_cast<Bf16*>(t.weight)[i] = weight;
  return AbsBits(ToFloat(weight));
}

// 16 bytes of the widest.
template <typename Master, typename Gradient, typename Moment>
inline constexpr int kPerVectorOf = sizeof(Master) == 2 &&
                                            sizeof(Gradient) == 2 &&
                                            sizeof(Moment) == 2
                                        ? 8
                                        : 4;

template <typename Master, typename Gradient, typename Moment>
__global__ void __launch_bounds__(kThreads, kMinBlocks)
    AdamWKernel(const __grid_constant__ Table table) {
  constexpr int kPer = kPerVectorOf<Master, Gradient, Moment>;
  constexpr int64_t kPiece = int64_t{kThreads} * kRounds * kPer;
  __shared__ unsigned shared[32];
  const Entry& entry =
      table.entries[FindTensor(table.entries, table.count, blockIdx.x)];
  const AdamWTensor& t = entry.tensor;
  const int64_t begin =
      static_cast<int64_t>(blockIdx.x - entry.first_piece) * kPiece;
  const int64_t end = min(begin + kPiece, t.n);
  const int64_t end_vector = entry.is_vectors ? end / kPer : begin / kPer;
  unsigned largest = 0;
  int64_t i = begin / kPer + threadIdx.x;
  Loaded<Master, Gradient, Moment, kPer> next = {};
  if (i < end_vector) next = Load<Master, Gradient, Moment, kPer>(t, i);
#pragma unroll 1
  for (; i < end_vector; i += kThreads) {
    const Loaded<Master, Gradient, Moment, kPer> here = next;
    if (i + kThreads < end_vector) {
      next = Load<Master, Gradient, Moment, kPer>(t, i + kThreads);
    }
    largest = max(largest, UpdateVector(table.numbers, t, i, here));
  }
  for (int64_t e = end_vector * kPer + threadIdx.x; e < end; e += kThreads) {
    largest = max(largest,
                  UpdateElement<Master, Gradient, Moment>(table.numbers, t, e));
  }
  if (t.amax == nullptr) return;
  largest = float8::internal::BlockMax(largest, shared);
  if (threadIdx.x == 0) float8::internal::AtomicMax(t.amax, largest);
}

__global__ void ZeroAmaxKernel(const __grid_constant__ Table table) {
  const auto i = static_cast<int>(threadIdx.x);
  if (i < table.count && table.entries[i].tensor.amax != nullptr) {
    *table.entries[i].tensor.amax = 0.0f;
  }
}
static_assert(kMaxTensors <= 1024);

template <typename Master, typename Gradient, typename Moment>
cudaError_t Launch(const AdamWNumbers& numbers, const AdamWTensor* tensors,
                   int64_t count, cudaStream_t stream) {
  constexpr int kPer = kPerVectorOf<Master, Gradient, Moment>;
  constexpr int64_t kPiece = int64_t{kThreads} * kRounds * kPer;
  Table table;
  table.numbers = {numbers, 1.0f / numbers.sqrt_bias2,
                   PhiloxKeysOf(numbers.seed)};
  for (int64_t at = 0; at < count;) {
    table.count = 0;
    int64_t pieces = 0;
    bool has_amax = false;
    for (; at < count && table.count < kMaxTensors; ++at) {
      const AdamWTensor& t = tensors[at];
      const bool is_vectors = IsAligned(t.master) && IsAligned(t.gradient) &&
                              IsAligned(t.m) && IsAligned(t.v) &&
                              IsAligned(t.weight) && t.first_element % 2 == 0;
      table.entries[table.count++] = {t, static_cast<uint32_t>(pieces),
                                      is_vectors};
      pieces += (t.n + kPiece - 1) / kPiece;
      has_amax = has_amax || t.amax != nullptr;
    }
    if (has_amax) ZeroAmaxKernel<<<1, 1024, 0, stream>>>(table);
    if (pieces > 0) {
      AdamWKernel<Master, Gradient, Moment>
          <<<static_cast<unsigned>(pieces), kThreads, 0, stream>>>(table);
    }
    const cudaError_t error = cudaGetLastError();
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

template <typename Master, typename Gradient>
cudaError_t LaunchMoments(const AdamWNumbers& numbers, const AdamWTypes& types,
                          const AdamWTensor* tensors, int64_t count,
                          cudaStream_t stream) {
  return types.moments == ElementType::kBf16
             ? Launch<Master, Gradient, Bf16>(numbers, tensors, count, stream)
             : Launch<Master, Gradient, float>(numbers, tensors, count, stream);
}

template <typename Master>
cudaError_t LaunchGradient(const AdamWNumbers& numbers, const AdamWTypes& types,
                           const AdamWTensor* tensors, int64_t count,
                           cudaStream_t stream) {
  return types.gradient == ElementType::kBf16
             ? LaunchMoments<Master, Bf16>(numbers, types, tensors, count,
                                           stream)
             : LaunchMoments<Master, float>(numbers, types, tensors, count,
                                            stream);
}

}  // namespace

cudaError_t LaunchAdamW(const AdamWNumbers& numbers, const AdamWTypes& types,
                        const AdamWTensor* tensors, int64_t count,
                        cudaStream_t stream) {
  return types.master == ElementType::kBf16
             ? LaunchGradient<Bf16>(numbers, types, tensors, count, stream)
             : LaunchGradient<float>(numbers, types, tensors, count, stream);
}

}  // namespace octet::train::internal
