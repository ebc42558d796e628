// SPDX-License-Identifier: Apache-2.0
#include "testing/goldens.h"

#include "io/safetensors_set.h"
#include "testing/status_matchers.h"

namespace octet::testing {
namespace {

using ::testing::HasSubstr;

TEST(GoldensTest, LinearHasItsTensors) {
  OCTET_ASSERT_OK_AND_ASSIGN(const io::SafetensorsFile file,
                             LoadGolden("linear/linear_48x64x32.safetensors"));
  OCTET_ASSERT_OK_AND_ASSIGN(const TensorView x, file.Find("x"));
  EXPECT_EQ(x.ToString(), "bf16 [48, 64] on cpu");
  OCTET_ASSERT_OK_AND_ASSIGN(const TensorView scale,
                             file.Find("cast.x.tensor.exact.e4m3.scale"));
  EXPECT_EQ(scale.dtype(), DType::kF32);
  EXPECT_GT(*scale.as<float>(), 0.0f);
}

TEST(GoldensTest, EveryFolderOpens) {
  for (const char* folder :
       {"llama_gqa", "llama_tied_sharded", "llama_rope_scaled"}) {
    OCTET_ASSERT_OK_AND_ASSIGN(const io::SafetensorsSet set,
                               io::SafetensorsSet::Open(GoldenPath(folder)));
    EXPECT_TRUE(set.Contains("model.embed_tokens.weight")) << folder;
    EXPECT_THAT(LoadGolden(std::string(folder) + "/expected.safetensors"),
                IsOk());
  }
  EXPECT_THAT(LoadGolden("linear_outlier/linear_64x128x96.safetensors"),
              IsOk());
}

TEST(GoldensTest, AMissingOneIsNamed) {
  EXPECT_THAT(LoadGolden("linear/none.safetensors"),
              StatusIs(absl::StatusCode::kNotFound,
                       HasSubstr("testing/goldens/linear/none.safetensors")));
}

}  // namespace
}  // namespace octet::testing
