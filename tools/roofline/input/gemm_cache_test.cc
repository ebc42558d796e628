// SPDX-License-Identifier: Apache-2.0
#include "tools/roofline/input/gemm_cache.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "io/atomic_file.h"
#include "testing/status_matchers.h"
#include "testing/temp_folder.h"

namespace octet::tools {
namespace {

using ::octet::testing::IsOk;
using ::octet::testing::StatusIs;
using ::testing::HasSubstr;

class GemmCacheTest : public ::testing::Test {
 protected:
  absl::StatusOr<GemmCache> Read(const std::string& text) {
    EXPECT_THAT(io::WriteFile(folder_.Join("c.json"), text), IsOk());
    return GemmCache::Read(folder_.Join("c.json"));
  }

  const testing::TempFolder folder_;
};

TEST_F(GemmCacheTest, SumsTheProductsOfALayer) {
  OCTET_ASSERT_OK_AND_ASSIGN(
      const GemmCache cache,
      Read(R"({"2,3,5,True,row_major:col_major": [1, 0.5],
               "2,5,3,False,row_major:row_major": [2, 0.25],
               "3,2,5,False,col_major:row_major": [4, 0.125]})"));
  OCTET_ASSERT_OK_AND_ASSIGN(const GemmCache::Seconds sum,
                             cache.Layer({2, 3, 5}));
  EXPECT_EQ(sum.bf16, 7);
  EXPECT_EQ(sum.fp8, 0.875);
  EXPECT_THAT(cache.Layer({2, 5, 3}),
              StatusIs(absl::StatusCode::kNotFound,
                       HasSubstr("\"2,5,3,True,row_major:col_major\"")));
}

// All three of a cube are of one size and have times of their own.
TEST_F(GemmCacheTest, ACubeHasThreeProducts) {
  OCTET_ASSERT_OK_AND_ASSIGN(const GemmCache cache,
                             Read(R"({"8,8,8,True,row_major:col_major": [1, 2],
               "8,8,8,False,row_major:row_major": [10, 20],
               "8,8,8,False,col_major:row_major": [100, 200]})"));
  OCTET_ASSERT_OK_AND_ASSIGN(const GemmCache::Seconds sum,
                             cache.Layer({8, 8, 8}));
  EXPECT_EQ(sum.bf16, 111);
  EXPECT_EQ(sum.fp8, 222);
}

TEST_F(GemmCacheTest, TakesOlderOnes) {
  OCTET_ASSERT_OK_AND_ASSIGN(
      const GemmCache cache,
      Read(R"({"8,8,8,True": [1, 2], "8,8,8,False": [10, 20]})"));
  OCTET_ASSERT_OK_AND_ASSIGN(const GemmCache::Seconds sum,
                             cache.Layer({8, 8, 8}));
  EXPECT_EQ(sum.bf16, 21);
  EXPECT_EQ(sum.fp8, 42);
}

TEST_F(GemmCacheTest, ErrorsNameTheProduct) {
  const auto bad = absl::StatusCode::kDataLoss;
  EXPECT_THAT(Read("[1]"), StatusIs(bad, HasSubstr("c.json: no JSON object")));
  EXPECT_THAT(Read("{"), StatusIs(bad, HasSubstr("c.json")));
  for (const char* key : {"", "1,2,3", "1,2,0,True", "1,x,3,True", "1,2,3,true",
                          "1,2,3,True,a,b"}) {
    EXPECT_THAT(Read("{\"" + std::string(key) + "\": [1, 1]}"),
                StatusIs(bad, HasSubstr("is no product")))
        << key;
  }
  for (const char* times : {"1", "[1]", "[1, 0]", "[-1, 1]", "[1, \"2\"]",
                            "[1, 2, 3]", "[1, null]"}) {
    EXPECT_THAT(Read("{\"1,2,3,True\": " + std::string(times) + "}"),
                StatusIs(bad, HasSubstr("\"1,2,3,True\" has")))
        << times;
  }
  EXPECT_THAT(GemmCache::Read(folder_.Join("none.json")),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("none.json")));
}

}  // namespace
}  // namespace octet::tools
