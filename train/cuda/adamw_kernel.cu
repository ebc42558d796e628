// SPDX-License-Identifier: Apache-2.0

// AdamW over many tensors, bound by memory, with bf16 states only if few
// instructions are spent on an element: a few vectors a thread, whose next
// loads are in flight while one is computed. Every operation is rounded by
// itself, in the CPU's order: the same bits.
#include <algorithm>
#include <cstring>
#include <type_traits>

#include "float8/cuda/encode.cuh"
#include "train/cuda/adamw_kernel.h"
#include "train/cuda/adamw_math.cuh"
#include "train/cuda/pieces.cuh"
#include "train/cuda/rounding.cuh"

namespace octet::train::internal {
namespace {

using float8::internal::AbsBits;
using Bf16 = __nv_bfloat16;

constexpr int kThreads = 256;
constexpr int kMinBlocks = 4;

struct Entry {
  AdamWTensor tensor;
  uint32_t first_piece;
  bool is_vectors;
};
constexpr int kMaxTensors = kTableBytes / static_cast<int>(sizeof(Entry));

struct Table {
  Numbers numbers;
  Entry entries[kMaxTensors];
  int count;
};
static_assert(sizeof(Table) <= 32764);

// kPer elements of T in 32-bit words, loaded and stored at once.
template <typename T, int kPer>
struct alignas(sizeof(T) * kPer < 16 ? sizeof(T) * kPer : 16) Packed {
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

// The bits of the largest magnitude as an f32's.
template <typename T, int kPer>
__device__ __forceinline__ unsigned AbsMax(const Packed<T, kPer>& in) {
  uint32_t largest = 0;
#pragma unroll
  for (int i = 0; i < Packed<T, kPer>::kWords; ++i) {
    largest = float8::internal::MaxWord<T>(
        largest, float8::internal::AbsWord<T>(in.words[i]));
  }
  return float8::internal::WordBits<T>(largest);
}

// To nearest.
__device__ __forceinline__ uint32_t NearestPair(float low, float high) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  return *reinterpret_cast<const uint32_t*>(&pair);
}

// What is stored: f32 as it is, bf16 rounded with halves of random words.
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

// Random bits for kPer elements from `element` on: a group of eight, or half of
// one.
template <typename T, int kPer>
__device__ __forceinline__ void DrawBits(const Numbers& n, const AdamWTensor& t,
                                         uint64_t element, int state,
                                         uint32_t (&out)[kPer / 2]) {
  if constexpr (std::is_same_v<T, Bf16>) {
    const uint4 words =
        PhiloxWords(n.keys, t.rounding_stream,
                    element / 8 * 3 + static_cast<uint64_t>(state));
    const bool upper = kPer == 4 && element % 8 != 0;
    out[0] = upper ? words.z : words.x;
    out[1] = upper ? words.w : words.y;
    if constexpr (kPer == 8) {
      out[2] = words.z;
      out[3] = words.w;
    }
  }
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
  UpdateValues(numbers, gradient, master, m, v);
  const auto element = static_cast<uint64_t>(t.first_element + i * kPer);
  uint32_t random[kPer / 2];
  DrawBits<Moment, kPer>(numbers, t, element, 1, random);
  static_cast<Packed<Moment, kPer>*>(t.m)[i] = Pack<Moment>(m, random);
  DrawBits<Moment, kPer>(numbers, t, element, 2, random);
  static_cast<Packed<Moment, kPer>*>(t.v)[i] = Pack<Moment>(v, random);
  DrawBits<Master, kPer>(numbers, t, element, 0, random);
  const auto stored = Pack<Master>(master, random);
  static_cast<Packed<Master, kPer>*>(t.master)[i] = stored;
  if (std::is_same_v<Master, float> && t.weight != nullptr) {
    Packed<Bf16, kPer> weight;
#pragma unroll
    for (int k = 0; k < kPer / 2; ++k) {
      weight.words[k] = NearestPair(master[2 * k], master[2 * k + 1]);
    }
    static_cast<Packed<Bf16, kPer>*>(t.weight)[i] = weight;
    return t.amax == nullptr ? 0 : AbsMax(weight);
  }
  return t.amax == nullptr ? 0 : AbsMax(stored);
}

template <typename T>
__device__ __forceinline__ void StoreElement(const Numbers& n,
                                             const AdamWTensor& t, float x,
                                             uint64_t element, int state,
                                             T* out) {
  if constexpr (std::is_same_v<T, float>) {
    *out = x;
  } else {
    const uint4 words =
        PhiloxWords(n.keys, t.rounding_stream,
                    element / 8 * 3 + static_cast<uint64_t>(state));
    const uint32_t two[2] = {element % 4 < 2 ? words.x : words.y,
                             element % 4 < 2 ? words.z : words.w};
    const uint32_t word = element % 8 < 4 ? two[0] : two[1];
    const uint32_t random = element % 2 == 0 ? word & 0xffffu : word >> 16;
    *out = __ushort_as_bfloat16(
        static_cast<unsigned short>(RoundedBits(PlainNan(x), random) >> 16));
  }
}

template <typename Master, typename Gradient, typename Moment>
__device__ unsigned UpdateElement(const Numbers& numbers, const AdamWTensor& t,
                                  int64_t i) {
  using float8::internal::ToFloat;
  auto* const all_master = static_cast<Master*>(t.master);
  auto* const all_m = static_cast<Moment*>(t.m);
  auto* const all_v = static_cast<Moment*>(t.v);
  float m = ToFloat(all_m[i]), v = ToFloat(all_v[i]);
  UpdateMoments(numbers.adamw,
                ToFloat(static_cast<const Gradient*>(t.gradient)[i]), &m, &v);
  const float master = NewMaster(numbers.adamw, ToFloat(all_master[i]),
                                 Ratio(numbers.adamw, m, v));
  const auto element = static_cast<uint64_t>(t.first_element + i);
  StoreElement(numbers, t, master, element, 0, &all_master[i]);
  StoreElement(numbers, t, m, element, 1, &all_m[i]);
  StoreElement(numbers, t, v, element, 2, &all_v[i]);
  if (t.weight == nullptr) return AbsBits(ToFloat(all_master[i]));
  const Bf16 weight = __float2bfloat16_rn(master);
  static_cast<Bf16*>(t.weight)[i] = weight;
  return AbsBits(ToFloat(weight));
}

// 16 bytes of the states; of a gradient in f32 beside bf16 states, twice that.
template <typename Master, typename Moment>
inline constexpr int kPerVectorOf = sizeof(Master) == 2 && sizeof(Moment) == 2
                                        ? 8
                                        : 4;

// Elements of a block: a thread has twice as many vectors where they are twice
// as much work.
template <int kPer>
inline constexpr int64_t kPieceOf = int64_t{kThreads} * (kPer == 8 ? 64 : 16);

template <typename Master, typename Gradient, typename Moment>
__global__ void __launch_bounds__(kThreads, kMinBlocks)
    AdamWKernel(const __grid_constant__ Table table) {
  constexpr int kPer = kPerVectorOf<Master, Moment>;
  constexpr int64_t kPiece = kPieceOf<kPer>;
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
  constexpr int kPer = kPerVectorOf<Master, Moment>;
  constexpr int64_t kPiece = kPieceOf<kPer>;
  Table table;
  table.numbers = {numbers, 1.0f / numbers.sqrt_bias2, IsUsual(numbers),
                   PhiloxKeysOf(numbers.seed)};
  for (int64_t at = 0; at < count;) {
    table.count = 0;
    int64_t pieces = 0;
    bool has_amax = false;
    for (; at < count && table.count < kMaxTensors; ++at) {
      const AdamWTensor& t = tensors[at];
      const bool is_vectors = IsAligned(t.master) && IsAligned(t.gradient) &&
                              IsAligned(t.m) && IsAligned(t.v) &&
                              IsAligned(t.weight) && t.first_element % 8 == 0;
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
