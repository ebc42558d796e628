// SPDX-License-Identifier: Apache-2.0
#include "float8/amax.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "testing/numbers.h"
#include "testing/random_tensor.h"
#include "testing/status_matchers.h"
#include "testing/test_device.h"

namespace octet::float8 {
namespace {

using ::octet::testing::FromDoubles;
using ::octet::testing::IsOk;
using ::octet::testing::StatusIs;
using ::octet::testing::ToDoubles;
using ::testing::HasSubstr;

constexpr Granularity kAll[] = {
    Granularity::kTensor,     Granularity::kRow,
    Granularity::kColumn,     Granularity::kBlock1x128,
    Granularity::kBlock128x1, Granularity::kBlock128x128,
    Granularity::kBlock1x32,  Granularity::kBlock32x1};
constexpr DType kInputs[] = {DType::kF32, DType::kBf16, DType::kF16};

// Amax of host data on the stream's device; the output starts as garbage. Both
// algorithms, which must agree.
std::vector<double> AmaxOf(const Stream& stream, const Tensor& host,
                           Granularity granularity) {
  const absl::StatusOr<Tensor> in = testing::ToDevice(stream, host);
  EXPECT_THAT(in, IsOk());
  const Shape shape =
      ScaleShape(granularity, host.view().rows(), host.view().cols());
  const std::vector<double> garbage(shape.num_elements(), 12345.0);
  std::vector<Tensor> results;
  for (AmaxAlgorithm algorithm :
       {AmaxAlgorithm::kTwoStage, AmaxAlgorithm::kAtomic}) {
    const absl::StatusOr<Tensor> out =
        testing::ToDevice(stream, *FromDoubles(garbage, DType::kF32, shape));
    AmaxOptions options;
    options.algorithm = algorithm;
    EXPECT_THAT(Amax(stream, *in, granularity, *out, options), IsOk());
    EXPECT_THAT(stream.Synchronize(), IsOk());
    results.push_back(*testing::ToHost(stream, *out));
  }
  EXPECT_EQ(std::memcmp(results[0].as<char>(), results[1].as<char>(),
                        results[0].view().num_bytes()),
            0)
      << Name(granularity);
  return ToDoubles(results[0]).value();
}

std::vector<double> Reference(const std::vector<double>& x, int64_t rows,
                              int64_t cols, Granularity granularity) {
  const Tile tile = TileOf(granularity);
  const Shape shape = ScaleShape(granularity, rows, cols);
  std::vector<double> amax(shape.num_elements(), 0.0);
  for (int64_t i = 0; i < rows * cols; ++i) {
    const int64_t r = i / cols, c = i % cols;
    double& largest = amax[(tile.rows == 0 ? 0 : r / tile.rows) * shape.cols() +
                           (tile.cols == 0 ? 0 : c / tile.cols)];
    if (!(std::abs(x[i]) <= largest)) largest = std::abs(x[i]);
  }
  return amax;
}

TEST(AmaxTest, EveryGranularityAndInput) {
  OCTET_TEST_STREAM(stream);
  for (DType dtype : kInputs) {
    for (const Shape& shape :
         {Shape({1, 1}), Shape({130, 257}), Shape({3, 5000}), Shape({300, 7}),
          Shape({2, 3, 40})}) {
      testing::RandomOptions options;
      options.outliers = shape.num_elements() > 100 ? 3 : 0;
      OCTET_ASSERT_OK_AND_ASSIGN(
          const Tensor in, testing::RandomTensor(dtype, shape, 1, options));
      OCTET_ASSERT_OK_AND_ASSIGN(const std::vector<double> x, ToDoubles(in));
      for (Granularity granularity : kAll) {
        EXPECT_EQ(AmaxOf(stream, in, granularity),
                  Reference(x, shape.rows(), shape.cols(), granularity))
            << Name(dtype) << " " << shape.ToString() << " "
            << Name(granularity);
      }
    }
  }
}

// Case 21 (NVIDIA/TensorRT-LLM#16569, NVIDIA/Fuser#319): NaN anywhere, of
// either sign, and only in its own tile.
TEST(AmaxTest, NanIsNeverHidden) {
  OCTET_TEST_STREAM(stream);
  const int64_t rows = 40, cols = 300;
  for (DType dtype : kInputs) {
    for (int64_t at : {int64_t{0}, int64_t{1}, int64_t{31}, int64_t{150},
                       cols - 1, 17 * cols + 129, rows * cols - 1}) {
      std::vector<double> x(rows * cols, 2.0);
      x[(at + 1) % (rows * cols)] = std::numeric_limits<double>::infinity();
      x[at] = std::copysign(std::nan(""), at % 2 == 0 ? 1.0 : -1.0);
      OCTET_ASSERT_OK_AND_ASSIGN(const Tensor in,
                                 FromDoubles(x, dtype, Shape({rows, cols})));
      for (Granularity granularity : kAll) {
        const std::vector<double> got = AmaxOf(stream, in, granularity);
        const std::vector<double> want = Reference(x, rows, cols, granularity);
        int nans = 0;
        for (size_t i = 0; i < got.size(); ++i) {
          const Tile tile = TileOf(granularity);
          const int64_t scale_cols = ScaleShape(granularity, rows, cols).cols();
          const int64_t own =
              (tile.rows == 0 ? 0 : at / cols / tile.rows) * scale_cols +
              (tile.cols == 0 ? 0 : at % cols / tile.cols);
          if (static_cast<int64_t>(i) == own) {
            EXPECT_TRUE(std::isnan(got[i])) << Name(granularity) << " " << at;
            ++nans;
          } else {
            EXPECT_EQ(got[i], want[i]) << Name(granularity) << " " << at;
          }
        }
        EXPECT_EQ(nans, 1);
      }
    }
  }
}

TEST(AmaxTest, NegativeValuesAndInfinityCount) {
  OCTET_TEST_STREAM(stream);
  OCTET_ASSERT_OK_AND_ASSIGN(
      const Tensor in,
      FromDoubles({1.0, -7.0, 3.0, -std::numeric_limits<double>::infinity()},
                  DType::kF16, Shape({2, 2})));
  EXPECT_EQ(
      AmaxOf(stream, in, Granularity::kRow),
      (std::vector<double>{7.0, std::numeric_limits<double>::infinity()}));
}

// Case 13: an empty tile gives 0, and every output is written.
TEST(AmaxTest, EmptyMatrices) {
  OCTET_TEST_STREAM(stream);
  for (const Shape& shape : {Shape({0, 8}), Shape({8, 0}), Shape({0, 0})}) {
    OCTET_ASSERT_OK_AND_ASSIGN(const Tensor in,
                               FromDoubles({}, DType::kBf16, shape));
    for (Granularity granularity : kAll) {
      const std::vector<double> got = AmaxOf(stream, in, granularity);
      EXPECT_EQ(got, std::vector<double>(got.size(), 0.0))
          << shape.ToString() << " " << Name(granularity);
    }
    EXPECT_EQ(AmaxOf(stream, in, Granularity::kTensor).size(), 1u);
  }
}

TEST(AmaxTest, RefusesWhatDoesNotFit) {
  const Stream cpu;
  OCTET_ASSERT_OK_AND_ASSIGN(const Tensor in,
                             Tensor::Allocate(DType::kF32, Shape({4, 6})));
  OCTET_ASSERT_OK_AND_ASSIGN(const Tensor out,
                             Tensor::Allocate(DType::kF32, Shape({4, 1})));
  OCTET_ASSERT_OK_AND_ASSIGN(const Tensor bytes,
                             Tensor::Allocate(DType::kU8, Shape({4, 6})));
  EXPECT_THAT(Amax(cpu, in, Granularity::kColumn, out),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("column of in f32 [4, 6] on cpu needs f32 "
                                 "[1, 6]")));
  EXPECT_THAT(
      Amax(cpu, bytes, Granularity::kRow, out),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("u8 [4, 6]")));
  const TensorView elsewhere(in.view().data(), DType::kF32, Shape({4, 6}),
                             Device{DeviceKind::kCuda, 1});
  EXPECT_THAT(
      Amax(cpu, elsewhere, Granularity::kRow, out),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("cuda:1")));
  const TensorView no_memory(nullptr, DType::kF32, Shape({4, 1}));
  EXPECT_THAT(Amax(cpu, in, Granularity::kRow, no_memory),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("out has no memory")));
  EXPECT_THAT(Amax(cpu, no_memory, Granularity::kRow, out),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("in has no memory")));
  OCTET_ASSERT_OK_AND_ASSIGN(const Tensor one,
                             Tensor::Allocate(DType::kF32, Shape({1, 1})));
  EXPECT_THAT(
      Amax(cpu, TensorView(), Granularity::kTensor, one),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("in is absent")));
}

}  // namespace
}  // namespace octet::float8
