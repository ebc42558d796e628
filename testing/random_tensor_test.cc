// SPDX-License-Identifier: Apache-2.0
#include "testing/random_tensor.h"

#include <cmath>
#include <vector>

#include "testing/numbers.h"
#include "testing/status_matchers.h"
#include "testing/tensor_matchers.h"

namespace octet::testing {
namespace {

TEST(RandomTensorTest, IsAPureFunctionOfTheSeed) {
  for (const DType dtype : {DType::kF64, DType::kF32, DType::kBf16, DType::kF16,
                            DType::kF8E4M3, DType::kF8E5M2}) {
    OCTET_ASSERT_OK_AND_ASSIGN(const Tensor a,
                               RandomTensor(dtype, Shape({32, 16}), 1));
    OCTET_ASSERT_OK_AND_ASSIGN(const Tensor b,
                               RandomTensor(dtype, Shape({32, 16}), 1));
    OCTET_ASSERT_OK_AND_ASSIGN(const Tensor c,
                               RandomTensor(dtype, Shape({32, 16}), 2));
    EXPECT_THAT(a, BitwiseEq(b));
    EXPECT_THAT(a, ::testing::Not(BitwiseEq(c)));
  }
}

TEST(RandomTensorTest, HasTheScaleAndTheOutliers) {
  RandomOptions options;
  options.scale = 1e-3;
  options.outliers = 2;
  options.outlier_value = 7.0;
  OCTET_ASSERT_OK_AND_ASSIGN(
      const Tensor t, RandomTensor(DType::kF32, Shape({100, 100}), 3, options));
  double squares = 0.0;
  int outliers = 0;
  OCTET_ASSERT_OK_AND_ASSIGN(const std::vector<double> values, ToDoubles(t));
  for (const double x : values) {
    if (std::fabs(x) == 7.0) {
      ++outliers;
    } else {
      squares += x * x;
    }
  }
  EXPECT_EQ(outliers, 2);
  EXPECT_NEAR(std::sqrt(squares / 1e4), 1e-3, 5e-5);
}

TEST(RandomTensorTest, EmptyAndUnknown) {
  RandomOptions options;
  options.outliers = 2;
  EXPECT_THAT(RandomTensor(DType::kBf16, Shape({0, 8}), 1, options), IsOk());
  EXPECT_THAT(RandomTensor(DType::kI32, Shape({2}), 1),
              StatusIs(absl::StatusCode::kUnimplemented));
}

}  // namespace
}  // namespace octet::testing
