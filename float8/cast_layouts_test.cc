// SPDX-License-Identifier: Apache-2.0

// What a cast writes besides row-major bytes: transposes, reciprocals, pairs,
// many matrices, column sums; and where its amax comes from. On both devices,
// against a plain cast of the CPU.
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "float8/amax.h"
#include "float8/cast.h"
#include "float8/scaling.h"
#include "gmock/gmock.h"
#include "testing/numbers.h"
#include "testing/random_tensor.h"
#include "testing/status_matchers.h"
#include "testing/test_device.h"

namespace octet::float8 {
namespace {

using ::octet::testing::IsOk;
using ::octet::testing::StatusIs;
using ::octet::testing::ToDevice;
using ::testing::HasSubstr;

constexpr CastLayout kLayouts[] = {CastLayout::kRowMajor,
                                   CastLayout::kTransposed, CastLayout::kBoth};
// Those that a GPU has too.
constexpr Granularity kGranularities[] = {
    Granularity::kTensor,     Granularity::kRow,
    Granularity::kColumn,     Granularity::kBlock1x128,
    Granularity::kBlock128x1, Granularity::kBlock128x128};

CastPlan PlanOf(Granularity granularity, DType dtype = DType::kF8E4M3) {
  CastPlan plan;
  plan.granularity = granularity;
  plan.dtype = dtype;
  return plan;
}

// On the host; empty for an absent tensor.
template <typename T>
std::vector<T> HostOf(const Stream& stream, const TensorView& view) {
  if (view.data() == nullptr) return {};
  const Tensor host = *testing::ToHost(stream, view);
  return std::vector<T>(host.as<T>(), host.as<T>() + host.num_elements());
}

std::vector<uint8_t> Transposed(const std::vector<uint8_t>& in, int64_t rows,
                                int64_t cols) {
  std::vector<uint8_t> out(in.size());
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < cols; ++c) out[c * rows + r] = in[r * cols + c];
  }
  return out;
}

// A cast on the CPU, row-major.
struct Reference {
  Reference(const TensorView& host, const CastPlan& plan) {
    Quantized q;
    EXPECT_THAT(Cast(Stream(), host, plan, &q), IsOk());
    bytes = HostOf<uint8_t>(Stream(), q.data);
    scales = HostOf<float>(Stream(), q.scale);
    transposed = Transposed(bytes, host.rows(), host.cols());
  }
  std::vector<uint8_t> bytes, transposed;
  std::vector<float> scales;
};

// 1 / scale where the layout has an element, and the rest of it ignored.
void ExpectReciprocals(const Stream& stream, const Quantized& q, int64_t rows,
                       int64_t cols, const std::vector<float>& scales) {
  const Granularity tiles = q.plan.granularity;
  const Shape shape = ScaleShape(tiles, rows, cols);
  const auto check = [&](const TensorView& reciprocal, bool swapped,
                         bool is_transposed) {
    const std::vector<float> got = HostOf<float>(stream, reciprocal);
    ASSERT_EQ(got.empty(), shape.num_elements() == 0);
    for (int64_t i = 0; i < shape.rows(); ++i) {
      for (int64_t j = 0; j < shape.cols(); ++j) {
        const int64_t row = swapped ? j : i, col = swapped ? i : j;
        const int64_t width =
            reciprocal.shape().rank() == 1 ? 1 : reciprocal.shape().cols();
        const int64_t at = reciprocal.shape().rank() == 1 ? i * shape.cols() + j
                                                          : row * width + col;
        EXPECT_EQ(got[at], 1.0f / scales[i * shape.cols() + j])
            << Name(tiles) << " " << i << ", " << j << " " << is_transposed;
      }
    }
  };
  if (stream.device().kind == DeviceKind::kCpu) {
    EXPECT_EQ(q.reciprocal.view().data(), nullptr);
    return;
  }
  const bool square = tiles == Granularity::kBlock128x128;
  if (!square || q.data.view().data() != nullptr) {
    check(q.reciprocal, tiles == Granularity::kBlock1x128, false);
  }
  if (square && q.transposed.view().data() != nullptr) {
    check(q.transposed_reciprocal, true, true);
  }
}

void ExpectCast(const Stream& stream, const Quantized& q, const Reference& want,
                CastLayout layout, int64_t rows, int64_t cols) {
  EXPECT_EQ(HostOf<float>(stream, q.scale), want.scales);
  EXPECT_EQ(q.data.view().data() != nullptr, layout != CastLayout::kTransposed);
  EXPECT_EQ(q.transposed.view().data() != nullptr,
            layout != CastLayout::kRowMajor);
  if (layout != CastLayout::kTransposed) {
    EXPECT_EQ(HostOf<uint8_t>(stream, q.data), want.bytes);
  }
  if (layout != CastLayout::kRowMajor) {
    EXPECT_EQ(HostOf<uint8_t>(stream, q.transposed), want.transposed);
    EXPECT_EQ(q.transposed.shape(), Shape({cols, rows}));
  }
  ExpectReciprocals(stream, q, rows, cols, want.scales);
}

TEST(CastLayoutsTest, EveryLayoutHasTheSameBytes) {
  OCTET_TEST_STREAM(stream);
  uint64_t seed = 0;
  for (const Shape& shape :
       {Shape({128, 256}), Shape({1, 1}), Shape({33, 70}), Shape({257, 129}),
        Shape({16, 640}), Shape({300, 16})}) {
    for (Granularity granularity : kGranularities) {
      for (DType dtype : {DType::kBf16, DType::kF32, DType::kF16}) {
        const Tensor host = *testing::RandomTensor(dtype, shape, ++seed);
        const Tensor in = *ToDevice(stream, host);
        const CastPlan plan = PlanOf(
            granularity, seed % 2 == 0 ? DType::kF8E4M3 : DType::kF8E5M2);
        const Reference want(host, plan);
        for (CastLayout layout : kLayouts) {
          SCOPED_TRACE(absl::StrCat(shape.ToString(), " ", Name(granularity),
                                    " ", Name(dtype), " layout ",
                                    static_cast<int>(layout)));
          CastOptions options;
          options.layout = layout;
          Quantized q;
          ASSERT_THAT(Cast(stream, in, plan, options, &q), IsOk());
          ExpectCast(stream, q, want, layout, shape.rows(), shape.cols());
        }
      }
    }
  }
}

// A GPU keeps tensors of up to some 34 MiB on the chip until their amax is
// known: those that fill it, almost fill it, and are a little too large.
TEST(CastLayoutsTest, TensorsThatFitOnAChip) {
  OCTET_TEST_STREAM(stream);
  const bool on_gpu = stream.device().kind != DeviceKind::kCpu;
  uint64_t seed = 100;
  for (const Shape& shape : {Shape({256, 4096}), Shape({2080, 2184}),
                             on_gpu ? Shape({4096, 4096}) : Shape({16, 16}),
                             on_gpu ? Shape({4112, 4224}) : Shape({16, 16})}) {
    for (DType dtype : {DType::kBf16, DType::kF16}) {
      Tensor host = *testing::RandomTensor(dtype, shape, ++seed);
      const Tensor in = *ToDevice(stream, host);
      const CastPlan plan =
          PlanOf(Granularity::kTensor,
                 seed % 2 == 0 ? DType::kF8E4M3 : DType::kF8E5M2);
      const Reference want(host, plan);
      for (CastLayout layout : kLayouts) {
        SCOPED_TRACE(absl::StrCat(shape.ToString(), " layout ",
                                  static_cast<int>(layout)));
        CastOptions options;
        options.layout = layout;
        Quantized q;
        // Twice: the first must leave nothing behind.
        for (int run = 0; run < 2; ++run) {
          ASSERT_THAT(Cast(stream, in, plan, options, &q), IsOk());
          ExpectCast(stream, q, want, layout, shape.rows(), shape.cols());
        }
      }
    }
  }
}

TEST(CastLayoutsTest, KnownAmaxAndGivenScaleReadTheInputOnce) {
  OCTET_TEST_STREAM(stream);
  const Tensor host =
      *testing::RandomTensor(DType::kBf16, Shape({130, 260}), 5);
  const Tensor in = *ToDevice(stream, host);
  for (Granularity granularity : kGranularities) {
    SCOPED_TRACE(std::string(Name(granularity)));
    CastPlan plan = PlanOf(granularity);
    plan.rounding = ScaleRounding::kPowerOfTwo;
    const Reference want(host, plan);
    const Shape scales = ScaleShape(granularity, 130, 260);
    CastOptions options;
    options.layout = CastLayout::kBoth;
    const Tensor amax = *Tensor::Allocate(DType::kF32, scales, stream.device());
    ASSERT_THAT(Amax(stream, in, granularity, amax), IsOk());
    options.known_amax = amax;
    Quantized known;
    ASSERT_THAT(Cast(stream, in, plan, options, &known), IsOk());
    ExpectCast(stream, known, want, CastLayout::kBoth, 130, 260);

    options.known_amax = TensorView();
    const Tensor seen = *Tensor::Allocate(DType::kF32, scales, stream.device());
    options.seen_amax = seen;
    Quantized given;
    ASSERT_THAT(CastWithScale(stream, in, known.scale, plan, options, &given),
                IsOk());
    ExpectCast(stream, given, want, CastLayout::kBoth, 130, 260);
    EXPECT_EQ(HostOf<float>(stream, seen), HostOf<float>(stream, amax));
  }
}

// With one format for both, a GPU casts some pairs in one launch.
TEST(CastLayoutsTest, APairIsTwoCasts) {
  OCTET_TEST_STREAM(stream);
  for (const Shape& shape :
       {Shape({256, 384}), Shape({144, 200}), Shape({77, 201}),
        Shape({1, 4096}), Shape({0, 8})}) {
    for (const auto& [first, second] :
         std::vector<std::pair<Granularity, Granularity>>{
             {Granularity::kRow, Granularity::kColumn},
             {Granularity::kBlock1x128, Granularity::kBlock128x1},
             {Granularity::kRow, Granularity::kTensor}}) {
      for (const auto& [dtype, format] : std::vector<std::pair<DType, DType>>{
               {DType::kBf16, DType::kF8E5M2},
               {DType::kBf16, DType::kF8E4M3},
               {DType::kF32, DType::kF8E4M3}}) {
        SCOPED_TRACE(absl::StrCat(shape.ToString(), " ", Name(first), " ",
                                  Name(dtype), " ", Name(format)));
        const Tensor host = *testing::RandomTensor(dtype, shape, 9);
        const Tensor in = *ToDevice(stream, host);
        CastTarget a, b;
        Quantized qa, qb;
        a.plan = PlanOf(first);
        a.out = &qa;
        b.plan = PlanOf(second, format);
        b.layout = CastLayout::kTransposed;
        b.out = &qb;
        ASSERT_THAT(CastPair(stream, in, a, b), IsOk());
        ExpectCast(stream, qa, Reference(host, a.plan), a.layout, shape.rows(),
                   shape.cols());
        ExpectCast(stream, qb, Reference(host, b.plan), b.layout, shape.rows(),
                   shape.cols());
      }
    }
  }
  CastTarget none;
  EXPECT_THAT(CastPair(stream,
                       *ToDevice(stream, *testing::RandomTensor(
                                             DType::kBf16, Shape({2, 2}), 1)),
                       none, none),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(CastLayoutsTest, ManyMatricesAreManyCasts) {
  OCTET_TEST_STREAM(stream);
  const Shape shapes[] = {Shape({128, 128}), Shape({3, 5}), Shape({0, 16}),
                          Shape({200, 333}), Shape({1, 1000})};
  for (Granularity granularity :
       {Granularity::kTensor, Granularity::kRow, Granularity::kBlock128x128}) {
    std::vector<Tensor> hosts, ins;
    std::vector<Quantized> outs(100);
    std::vector<CastJob> jobs;
    for (size_t i = 0; i < outs.size(); ++i) {
      hosts.push_back(
          *testing::RandomTensor(DType::kBf16, shapes[i % 5], i + 1));
      ins.push_back(*ToDevice(stream, hosts.back()));
      jobs.push_back(
          {ins.back(), PlanOf(granularity), kLayouts[i % 3], &outs[i]});
    }
    ASSERT_THAT(CastMany(stream, jobs), IsOk());
    for (size_t i = 0; i < outs.size(); ++i) {
      SCOPED_TRACE(absl::StrCat(Name(granularity), " ", i));
      ExpectCast(stream, outs[i], Reference(hosts[i], jobs[i].plan),
                 jobs[i].layout, hosts[i].view().rows(),
                 hosts[i].view().cols());
    }
  }
  EXPECT_THAT(CastMany(stream, {}), IsOk());
}

TEST(CastLayoutsTest, ColumnSumIsABiasGradient) {
  OCTET_TEST_STREAM(stream);
  for (const Shape& shape :
       {Shape({300, 70}), Shape({0, 8}), Shape({1, 129})}) {
    const int64_t rows = shape.rows(), cols = shape.cols();
    const Tensor host = *testing::RandomTensor(DType::kBf16, shape, 3);
    const Tensor in = *ToDevice(stream, host);
    const std::vector<double> values = *testing::ToDoubles(host);
    const Tensor sum = *ToDevice(
        stream, *testing::RandomTensor(DType::kF32, Shape({cols}), 4));
    for (CastLayout layout : kLayouts) {
      CastOptions options;
      options.layout = layout;
      options.column_sum = sum;
      Quantized q;
      ASSERT_THAT(Cast(stream, in, PlanOf(Granularity::kTensor), options, &q),
                  IsOk());
      const std::vector<float> got = HostOf<float>(stream, sum);
      for (int64_t c = 0; c < cols; ++c) {
        double want = 0.0;
        for (int64_t r = 0; r < rows; ++r) want += values[r * cols + c];
        EXPECT_NEAR(got[c], want, 1e-4 * static_cast<double>(rows));
      }
    }
  }
}

TEST(CastLayoutsTest, DequantizeReadsEitherForm) {
  OCTET_TEST_STREAM(stream);
  const Tensor host = *testing::RandomTensor(DType::kBf16, Shape({50, 200}), 6);
  const Tensor in = *ToDevice(stream, host);
  for (Granularity granularity : kGranularities) {
    std::vector<std::vector<double>> values;
    for (CastLayout layout : kLayouts) {
      CastOptions options;
      options.layout = layout;
      Quantized q;
      ASSERT_THAT(Cast(stream, in, PlanOf(granularity), options, &q), IsOk());
      const Tensor out =
          *Tensor::Allocate(DType::kF32, Shape({50, 200}), stream.device());
      ASSERT_THAT(Dequantize(stream, q, out), IsOk());
      ASSERT_THAT(stream.Synchronize(), IsOk());
      values.push_back(*testing::ToDoubles(out));
    }
    EXPECT_EQ(values[0], values[1]) << Name(granularity);
    EXPECT_EQ(values[0], values[2]) << Name(granularity);
    const std::vector<double> original = *testing::ToDoubles(host);
    double worst = 0.0;
    for (size_t i = 0; i < original.size(); ++i) {
      worst = std::max(worst, std::abs(values[0][i] - original[i]));
    }
    EXPECT_LT(worst, 0.4) << Name(granularity);
    EXPECT_GT(worst, 0.0) << Name(granularity);
  }
}

TEST(CastLayoutsTest, OptionsThatDoNotFitAreNamed) {
  OCTET_TEST_STREAM(stream);
  const Tensor in =
      *ToDevice(stream, *testing::RandomTensor(DType::kBf16, Shape({4, 6}), 1));
  const Tensor one = *ToDevice(
      stream, *testing::FromDoubles({1.0}, DType::kF32, Shape({1, 1})));
  const CastPlan plan = PlanOf(Granularity::kTensor);
  Quantized q;
  CastOptions options;
  options.seen_amax = one;
  EXPECT_THAT(
      Cast(stream, in, plan, options, &q),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("seen_amax")));
  options = CastOptions();
  options.known_amax = one;
  EXPECT_THAT(
      CastWithScale(stream, in, one, plan, options, &q),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("known_amax")));
  EXPECT_THAT(
      Cast(stream, in, PlanOf(Granularity::kRow), options, &q),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("[4, 1]")));
  options = CastOptions();
  options.column_sum = one;
  EXPECT_THAT(
      Cast(stream, in, plan, options, &q),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("column_sum")));
  CastJob job;
  job.in = in;
  job.plan = plan;
  job.plan.dtype = DType::kBf16;
  job.out = &q;
  EXPECT_THAT(CastMany(stream, {job}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("bf16")));
}

}  // namespace
}  // namespace octet::float8
