// SPDX-License-Identifier: Apache-2.0

// Casts against the bytes and scales that torchao wrote.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "float8/cast.h"
#include "gtest/gtest.h"
#include "testing/goldens.h"
#include "testing/numbers.h"
#include "testing/status_matchers.h"
#include "testing/tensor_matchers.h"
#include "testing/test_device.h"

namespace octet::float8 {
namespace {

using ::octet::testing::BitwiseEq;
using ::octet::testing::IsOk;

// Every operand that torchao quantised: bytes and scales.
TEST(CastGoldenTest, MatchesTorchaoBitByBit) {
  OCTET_TEST_STREAM(stream);
  int compared = 0;
  for (const char* path : {"linear/linear_48x64x32.safetensors",
                           "linear_outlier/linear_64x128x96.safetensors"}) {
    OCTET_ASSERT_OK_AND_ASSIGN(const io::SafetensorsFile golden,
                               testing::LoadGolden(path));
    for (const std::string& name : golden.names()) {
      const std::vector<std::string> part = absl::StrSplit(name, '.');
      if (part[0] != "cast" || part[5] != "data") continue;
      SCOPED_TRACE(absl::StrCat(path, " ", name));
      OCTET_ASSERT_OK_AND_ASSIGN(const TensorView operand,
                                 golden.Find(part[1]));
      CastPlan plan;
      plan.granularity = part[2] == "tensor" ? Granularity::kTensor
                         : part[2] == "row"  ? Granularity::kRow
                                             : Granularity::kColumn;
      plan.rounding = part[3] == "pow2" ? ScaleRounding::kPowerOfTwo
                                        : ScaleRounding::kExact;
      plan.dtype = part[4] == "e5m2" ? DType::kF8E5M2 : DType::kF8E4M3;
      Quantized q;
      OCTET_ASSERT_OK_AND_ASSIGN(const Tensor host, testing::ToHost(operand));
      OCTET_ASSERT_OK_AND_ASSIGN(const Tensor in,
                                 testing::ToDevice(stream, host));
      ASSERT_THAT(Cast(stream, in, plan, &q), IsOk());
      OCTET_ASSERT_OK_AND_ASSIGN(const Tensor bytes,
                                 testing::ToHost(stream, q.data));
      OCTET_ASSERT_OK_AND_ASSIGN(const Tensor scales,
                                 testing::ToHost(stream, q.scale));
      OCTET_ASSERT_OK_AND_ASSIGN(const TensorView data, golden.Find(name));
      std::vector<std::string> scale_part = part;
      scale_part[5] = "scale";
      OCTET_ASSERT_OK_AND_ASSIGN(const TensorView scale,
                                 golden.Find(absl::StrJoin(scale_part, ".")));
      EXPECT_THAT(bytes.view(),
                  BitwiseEq(TensorView(data.data(), plan.dtype, data.shape())));
      EXPECT_THAT(scales.view().Reshaped(scale.shape()), BitwiseEq(scale));
      ++compared;
    }
  }
  // Three operands, three granularities, two roundings, two files; the
  // gradient in both formats.
  EXPECT_GE(compared, 2 * 3 * 3 * 2);
}

}  // namespace
}  // namespace octet::float8
