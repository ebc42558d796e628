// SPDX-License-Identifier: Apache-2.0

// Casts of the device against the CPU's, bit for bit (one NaN is as good as
// another): every 16-bit input, every plan, layout and shape of odd size,
// views at odd addresses, outputs that start as garbage, and more elements than
// 32 bits count.
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/graph.h"
#include "float8/cast.h"
#include "float8/scaling.h"
#include "gtest/gtest.h"
#include "testing/numbers.h"
#include "testing/random_tensor.h"
#include "testing/status_matchers.h"
#include "testing/tensor_matchers.h"
#include "testing/test_device.h"

// The CPU is what is compared with.
#define OCTET_NEEDS_GPU(stream)                    \
  if (stream.device().kind == DeviceKind::kCpu) {  \
    GTEST_SKIP() << "compares a GPU with the CPU"; \
  }

namespace octet::float8 {
namespace {

using ::octet::testing::BitwiseDifference;
using ::octet::testing::IsOk;

constexpr Granularity kGranularities[] = {
    Granularity::kTensor,     Granularity::kRow,
    Granularity::kColumn,     Granularity::kBlock1x128,
    Granularity::kBlock128x1, Granularity::kBlock128x128};
constexpr DType kInputs[] = {DType::kF32, DType::kBf16, DType::kF16};
constexpr CastLayout kLayouts[] = {CastLayout::kRowMajor,
                                   CastLayout::kTransposed, CastLayout::kBoth};
constexpr int64_t kPadding = 64;  // bytes around a view

// A copy of a host tensor at an address that is `offset` elements off a
// multiple of 256 bytes. `memory` owns it.
TensorView ViewAt(const Stream& stream, const TensorView& host, int64_t offset,
                  Tensor* memory) {
  *memory = *Tensor::Allocate(
      DType::kU8, Shape({host.num_bytes() + 2 * kPadding}), stream.device());
  const TensorView view(memory->as<char>() + offset * SizeOf(host.dtype()),
                        host.dtype(), host.shape(), stream.device());
  EXPECT_THAT(Copy(stream, host, view), IsOk());
  return view;
}

void Poison(const Stream& stream, const Tensor& tensor) {
  if (tensor.view().empty()) return;
  const std::vector<uint8_t> garbage(tensor.view().num_bytes(), 0xa5);
  const TensorView from(const_cast<uint8_t*>(garbage.data()), tensor.dtype(),
                        tensor.shape());
  EXPECT_THAT(Copy(stream, from, tensor), IsOk());
  EXPECT_THAT(stream.Synchronize(), IsOk());
}

// Outputs of the right shapes that hold garbage.
Quantized Garbage(const Stream& stream, const TensorView& in,
                  const CastPlan& plan, const CastOptions& options) {
  Quantized q;
  EXPECT_THAT(Cast(stream, in, plan, options, &q), IsOk());
  for (const Tensor* tensor : {&q.data, &q.transposed, &q.scale, &q.reciprocal,
                               &q.transposed_reciprocal}) {
    Poison(stream, *tensor);
  }
  return q;
}

// Both forms, of the CPU.
Quantized Reference(const TensorView& host, const CastPlan& plan) {
  CastOptions options;
  options.layout = CastLayout::kBoth;
  Quantized q;
  EXPECT_THAT(Cast(Stream(), host, plan, options, &q), IsOk());
  return q;
}

// What differs in the forms that `got` has.
std::string Compared(const Stream& stream, const Quantized& got,
                     const Quantized& want) {
  std::string differences;
  const auto compare = [&](const char* what, const Tensor& a, const Tensor& b) {
    if (a.view().data() == nullptr) return;
    const Tensor host = *testing::ToHost(stream, a);
    const std::string difference = BitwiseDifference(host, b);
    if (!difference.empty()) {
      absl::StrAppend(&differences, what, ": ", difference, "; ");
    }
  };
  compare("data", got.data, want.data);
  compare("transposed", got.transposed, want.transposed);
  compare("scale", got.scale, want.scale);
  return differences;
}

// Sets special values among random ones.
void AddSpecials(const Tensor& host, uint64_t seed) {
  const double values[] = {std::numeric_limits<double>::quiet_NaN(),
                           std::numeric_limits<double>::infinity(),
                           -std::numeric_limits<double>::infinity(),
                           -0.0,
                           1e-40,
                           -6e-8,
                           300.0};
  const int64_t n = host.num_elements();
  for (size_t i = 0; i < 7; ++i) {
    const Tensor one =
        *testing::FromDoubles({values[i]}, host.dtype(), Shape({1}));
    const int64_t at = static_cast<int64_t>((seed * 7919 + i * 104729) %
                                            static_cast<uint64_t>(n));
    std::memcpy(host.as<char>() + at * SizeOf(host.dtype()), one.as<char>(),
                SizeOf(host.dtype()));
  }
}

TEST(CastBitsTest, EveryPlanAndOddShape) {
  OCTET_TEST_STREAM(stream);
  OCTET_NEEDS_GPU(stream);
  uint64_t seed = 0;
  for (const Shape& shape :
       {Shape({1, 1}), Shape({1, 257}), Shape({257, 1}), Shape({129, 127}),
        Shape({16, 256}), Shape({48, 160}), Shape({255, 131}), Shape({130, 8}),
        Shape({256, 384}), Shape({5, 2048}), Shape({33, 4100})}) {
    for (DType dtype : kInputs) {
      const Tensor host = *testing::RandomTensor(dtype, shape, ++seed);
      if (seed % 3 == 0) AddSpecials(host, seed);
      const Tensor in = *testing::ToDevice(stream, host);
      for (Granularity granularity : kGranularities) {
        for (ScaleRounding rounding :
             {ScaleRounding::kExact, ScaleRounding::kPowerOfTwo}) {
          for (DType format : {DType::kF8E4M3, DType::kF8E5M2}) {
            const CastPlan plan = {format, granularity, rounding};
            const Quantized want = Reference(host, plan);
            for (CastLayout layout : kLayouts) {
              CastOptions options;
              options.layout = layout;
              Quantized got = Garbage(stream, in, plan, options);
              ASSERT_THAT(Cast(stream, in, plan, options, &got), IsOk());
              EXPECT_EQ(Compared(stream, got, want), "")
                  << shape.ToString() << " " << Name(dtype) << " "
                  << Name(granularity) << " " << Name(rounding) << " "
                  << Name(format) << " layout " << static_cast<int>(layout);
            }
          }
        }
      }
    }
  }
}

// Case 11: every bf16 and f16 pattern, by several scales.
TEST(CastBitsTest, Every16BitPattern) {
  OCTET_TEST_STREAM(stream);
  OCTET_NEEDS_GPU(stream);
  for (DType dtype : {DType::kBf16, DType::kF16}) {
    const Tensor host = *Tensor::Allocate(dtype, Shape({256, 256}));
    for (int i = 0; i < 65536; ++i) host.as<uint16_t>()[i] = i;
    const Tensor in = *testing::ToDevice(stream, host);
    for (DType format : {DType::kF8E4M3, DType::kF8E5M2}) {
      for (double scale : {1.0, 0x1p-3, 448.0, 149.33333, 0.0078}) {
        const Tensor one =
            *testing::FromDoubles({scale}, DType::kF32, Shape({1, 1}));
        const CastPlan plan = {format, Granularity::kTensor,
                               ScaleRounding::kExact};
        CastOptions options;
        options.layout = CastLayout::kBoth;
        Quantized want, got;
        ASSERT_THAT(CastWithScale(Stream(), host, one, plan, options, &want),
                    IsOk());
        ASSERT_THAT(CastWithScale(stream, in, *testing::ToDevice(stream, one),
                                  plan, options, &got),
                    IsOk());
        EXPECT_EQ(Compared(stream, got, want), "") << Name(dtype) << scale;
      }
      // And by their own: NaN and infinity reach the scales.
      for (Granularity granularity : kGranularities) {
        const CastPlan plan = {format, granularity, ScaleRounding::kExact};
        Quantized want, got;
        ASSERT_THAT(Cast(Stream(), host, plan, &want), IsOk());
        ASSERT_THAT(Cast(stream, in, plan, &got), IsOk());
        EXPECT_EQ(Compared(stream, got, want), "") << Name(granularity);
      }
    }
  }
}

// Every f32 amax has the CPU's scale: a sample of them, as known amaxes.
TEST(CastBitsTest, ScalesOfAmaxesOfAllMagnitudes) {
  OCTET_TEST_STREAM(stream);
  OCTET_NEEDS_GPU(stream);
  constexpr int64_t kCount = 1 << 16;
  const Tensor host =
      *testing::RandomTensor(DType::kBf16, Shape({kCount, 1}), 1);
  const Tensor amax = *Tensor::Allocate(DType::kF32, Shape({kCount, 1}));
  for (int64_t i = 0; i < kCount; ++i) {
    amax.as<uint32_t>()[i] = static_cast<uint32_t>(i * 32771 % 0x7fc00000);
  }
  const Tensor in = *testing::ToDevice(stream, host);
  const Tensor known = *testing::ToDevice(stream, amax);
  for (DType format : {DType::kF8E4M3, DType::kF8E5M2}) {
    for (ScaleRounding rounding :
         {ScaleRounding::kExact, ScaleRounding::kPowerOfTwo}) {
      const CastPlan plan = {format, Granularity::kRow, rounding};
      CastOptions options;
      options.known_amax = amax;
      Quantized want, got;
      ASSERT_THAT(Cast(Stream(), host, plan, options, &want), IsOk());
      options.known_amax = known;
      ASSERT_THAT(Cast(stream, in, plan, options, &got), IsOk());
      EXPECT_EQ(Compared(stream, got, want), "");
    }
  }
}

TEST(CastBitsTest, ViewsAtOddAddresses) {
  OCTET_TEST_STREAM(stream);
  OCTET_NEEDS_GPU(stream);
  for (DType dtype : kInputs) {
    for (const Shape& shape : {Shape({64, 256}), Shape({130, 100})}) {
      const Tensor host = *testing::RandomTensor(dtype, shape, 77);
      for (int64_t offset : {1, 3, 4}) {
        Tensor memory;
        const TensorView in = ViewAt(stream, host, offset, &memory);
        for (Granularity granularity : kGranularities) {
          const CastPlan plan = {DType::kF8E4M3, granularity,
                                 ScaleRounding::kExact};
          const Quantized want = Reference(host, plan);
          for (CastLayout layout : kLayouts) {
            CastOptions options;
            options.layout = layout;
            Quantized got = Garbage(stream, in, plan, options);
            ASSERT_THAT(Cast(stream, in, plan, options, &got), IsOk());
            EXPECT_EQ(Compared(stream, got, want), "")
                << Name(dtype) << " " << shape.ToString() << " offset "
                << offset << " " << Name(granularity);
          }
        }
      }
    }
  }
}

// Sizes on both sides of each switch between kernels of the tensor's cast, and
// of those that hold a row in registers.
TEST(CastBitsTest, SizesAroundTheSwitches) {
  OCTET_TEST_STREAM(stream);
  OCTET_NEEDS_GPU(stream);
  for (const Shape& shape :
       {Shape({1, 8192}), Shape({1, 16384}), Shape({1, 16385}),
        Shape({16, 4096}), Shape({1, 65537}), Shape({300, 1000}),
        Shape({512, 4096}), Shape({3, 40000}), Shape({300, 40000})}) {
    for (DType dtype : {DType::kF32, DType::kBf16}) {
      const Tensor host = *testing::RandomTensor(dtype, shape, 5);
      const Tensor in = *testing::ToDevice(stream, host);
      for (Granularity granularity :
           {Granularity::kTensor, Granularity::kRow, Granularity::kColumn}) {
        const CastPlan plan = {DType::kF8E4M3, granularity,
                               ScaleRounding::kExact};
        Quantized want;
        ASSERT_THAT(Cast(Stream(), host, plan, &want), IsOk());
        for (int run = 0; run < 2; ++run) {
          Quantized got = Garbage(stream, in, plan, {});
          ASSERT_THAT(Cast(stream, in, plan, &got), IsOk());
          EXPECT_EQ(Compared(stream, got, want), "")
              << shape.ToString() << " " << Name(dtype) << " "
              << Name(granularity) << " run " << run;
        }
      }
    }
  }
}

TEST(CastBitsTest, AGraphReplaysACast) {
  OCTET_TEST_STREAM(stream);
  OCTET_NEEDS_GPU(stream);
  const Shape shape({300, 512});
  const Tensor hosts[] = {*testing::RandomTensor(DType::kBf16, shape, 21),
                          *testing::RandomTensor(DType::kBf16, shape, 22)};
  const Tensor in = *testing::ToDevice(stream, hosts[0]);
  for (Granularity granularity : kGranularities) {
    const CastPlan plan = {DType::kF8E4M3, granularity, ScaleRounding::kExact};
    CastOptions options;
    options.layout = CastLayout::kBoth;
    Quantized q;
    const auto cast = [&] { return Cast(stream, in, plan, options, &q); };
    ASSERT_THAT(cast(), IsOk());  // allocates
    OCTET_ASSERT_OK_AND_ASSIGN(const Graph graph, Graph::Capture(stream, cast));
    for (int i : {1, 0}) {
      ASSERT_THAT(Copy(stream, hosts[i], in), IsOk());
      ASSERT_THAT(graph.Launch(stream), IsOk());
      ASSERT_THAT(stream.Synchronize(), IsOk());
      EXPECT_EQ(Compared(stream, q, Reference(hosts[i], plan)), "")
          << Name(granularity);
    }
  }
}

// Case 12, on the GPU alone.
TEST(CastBitsTest, MoreElementsThan32BitsCount) {
  OCTET_TEST_STREAM(stream);
  OCTET_NEEDS_GPU(stream);  // and 9 GB of it
  const int64_t rows = 65537, cols = 32769;
  const Tensor in =
      *Tensor::Allocate(DType::kBf16, Shape({rows, cols}), stream.device());
  const int64_t part = 128;
  const Tensor ones = *testing::FromDoubles(
      std::vector<double>(part * cols, 1.0), DType::kBf16, Shape({part, cols}));
  for (int64_t row = 0; row < rows; row += part) {
    const int64_t count = std::min(part, rows - row);
    ASSERT_THAT(Copy(stream, ones.view().RowSlice(0, count),
                     in.view().RowSlice(row, count)),
                IsOk());
  }
  const Tensor three = *testing::FromDoubles({3.0}, DType::kBf16, Shape({1}));
  const int64_t last = rows * cols - 1;
  ASSERT_THAT(Copy(stream, three,
                   TensorView(in.as<uint16_t>() + last, DType::kBf16,
                              Shape({1}), stream.device())),
              IsOk());
  const Tensor one = *testing::ToDevice(
      stream, *testing::FromDoubles({1.0}, DType::kF32, Shape({1, 1})));
  const auto bytes_at = [&](const Tensor& tensor, int64_t at) {
    const TensorView two(tensor.as<uint8_t>() + at, DType::kU8, Shape({2}),
                         stream.device());
    const Tensor host = *testing::ToHost(stream, two);
    return std::vector<int>(host.as<uint8_t>(), host.as<uint8_t>() + 2);
  };
  const std::vector<int> want = {0x38, 0x44};
  for (CastLayout layout : kLayouts) {
    CastOptions options;
    options.layout = layout;
    Quantized q;
    ASSERT_THAT(CastWithScale(stream, in, one, CastPlan(), options, &q),
                IsOk());
    if (layout != CastLayout::kTransposed) {
      EXPECT_EQ(bytes_at(q.data, last - 1), want);
      EXPECT_EQ(bytes_at(q.data, 0), std::vector<int>({0x38, 0x38}));
    }
    if (layout != CastLayout::kRowMajor) {
      EXPECT_EQ(bytes_at(q.transposed, last - 1), want);
    }
  }
  // And with scales of their own: 3 in one row, column and tensor.
  for (Granularity granularity : kGranularities) {
    CastPlan plan;
    plan.granularity = granularity;
    Quantized q;
    ASSERT_THAT(Cast(stream, in, plan, &q), IsOk());
    EXPECT_EQ(bytes_at(q.data, last - 1)[1], 0x7e) << Name(granularity);
  }
}

}  // namespace
}  // namespace octet::float8
