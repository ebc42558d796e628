// SPDX-License-Identifier: Apache-2.0
#include "io/safetensors_set.h"

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "io/atomic_file.h"
#include "io/file.h"
#include "testing/goldens.h"
#include "testing/status_matchers.h"
#include "testing/temp_folder.h"
#include "testing/tensor_matchers.h"

namespace octet::io {
namespace {

using ::octet::testing::BitwiseEq;
using ::octet::testing::IsOk;
using ::octet::testing::StatusIs;
using ::octet::testing::TempFolder;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr absl::StatusCode kDataLoss = absl::StatusCode::kDataLoss;

class SafetensorsSetTest : public ::testing::Test {
 protected:
  SafetensorsSetTest() {
    for (int i = 0; i < 5; ++i) {
      values_.push_back(std::vector<float>(10, static_cast<float>(i)));
    }
    for (int i = 0; i < 5; ++i) {
      tensors_.push_back(
          {absl::StrCat("t", i),
           TensorView::Of(absl::MakeSpan(values_[i]), DType::kF32)});
    }
  }

  void WriteShards() {
    SafetensorsSetOptions options;
    options.max_shard_bytes = 80;
    ASSERT_THAT(WriteSafetensorsSet(folder_.path(), tensors_, options), IsOk());
  }

  void ExpectAllThere() {
    OCTET_ASSERT_OK_AND_ASSIGN(const SafetensorsSet set,
                               SafetensorsSet::Open(folder_.path()));
    EXPECT_THAT(set.names(), ElementsAre("t0", "t1", "t2", "t3", "t4"));
    for (const NamedTensor& tensor : tensors_) {
      EXPECT_THAT(set.Find(tensor.name).value(), BitwiseEq(tensor.tensor));
    }
  }

  TempFolder folder_;
  std::vector<std::vector<float>> values_;
  std::vector<NamedTensor> tensors_;
};

TEST_F(SafetensorsSetTest, OneFileOrShards) {
  ASSERT_THAT(WriteSafetensorsSet(folder_.path(), tensors_), IsOk());
  EXPECT_THAT(folder_.List(), ElementsAre("model.safetensors"));
  ExpectAllThere();
  WriteShards();
  EXPECT_THAT(folder_.List(), ElementsAre("model-00001-of-00003.safetensors",
                                          "model-00002-of-00003.safetensors",
                                          "model-00003-of-00003.safetensors",
                                          "model.safetensors.index.json"));
  EXPECT_THAT(ReadFile(folder_.Join("model.safetensors.index.json")).value(),
              HasSubstr("\"total_size\": 200"));
  ExpectAllThere();
}

TEST_F(SafetensorsSetTest, ReadsAGoldenOfNineShards) {
  OCTET_ASSERT_OK_AND_ASSIGN(
      const SafetensorsSet set,
      SafetensorsSet::Open(testing::GoldenPath("llama_tied_sharded")));
  EXPECT_TRUE(set.Contains("model.norm.weight"));
  EXPECT_FALSE(set.Contains("lm_head.weight"));
  for (const std::string& name : set.names()) {
    EXPECT_THAT(set.Find(name), IsOk()) << name;
  }
}

TEST_F(SafetensorsSetTest, AMissingShardIsNamed) {
  WriteShards();
  std::filesystem::remove(folder_.Join("model-00002-of-00003.safetensors"));
  EXPECT_THAT(SafetensorsSet::Open(folder_.path()),
              StatusIs(absl::StatusCode::kNotFound,
                       HasSubstr("model-00002-of-00003.safetensors")));
}

TEST_F(SafetensorsSetTest, AnEmptyFolderIsNotFound) {
  EXPECT_THAT(SafetensorsSet::Open(folder_.path()),
              StatusIs(absl::StatusCode::kNotFound,
                       AllOf(HasSubstr(folder_.path()),
                             HasSubstr("model.safetensors.index.json"))));
  EXPECT_THAT(WriteSafetensorsSet(folder_.Join("none"), tensors_),
              StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(SafetensorsSetTest, AnIndexMustFitItsShards) {
  WriteShards();
  const std::string index = folder_.Join("model.safetensors.index.json");
  const std::string shard = "model-00001-of-00003.safetensors";
  ASSERT_THAT(
      WriteFile(index, absl::StrCat(R"({"weight_map":{"t4":")", shard, "\"}}")),
      IsOk());
  EXPECT_THAT(SafetensorsSet::Open(folder_.path()),
              StatusIs(kDataLoss, AllOf(HasSubstr("'t4'"), HasSubstr(shard))));
  for (const char* text :
       {"[]", "{}", R"({"weight_map":[]})", R"({"weight_map":{"a":1}})",
        R"({"weight_map":{"a":""}})", R"({"weight_map":{"a":"../x"}})", "{"}) {
    ASSERT_THAT(WriteFile(index, text), IsOk());
    EXPECT_THAT(SafetensorsSet::Open(folder_.path()),
                StatusIs(kDataLoss, HasSubstr(index)))
        << text;
  }
}

TEST_F(SafetensorsSetTest, FindNamesFolderAndTensor) {
  WriteShards();
  OCTET_ASSERT_OK_AND_ASSIGN(const SafetensorsSet set,
                             SafetensorsSet::Open(folder_.path()));
  EXPECT_THAT(set.Find("none"),
              StatusIs(absl::StatusCode::kNotFound,
                       AllOf(HasSubstr(folder_.path()), HasSubstr("'none'"))));
}

TEST_F(SafetensorsSetTest, EqualNamesAreRefusedAcrossShards) {
  tensors_[3].name = "t1";
  SafetensorsSetOptions options;
  options.max_shard_bytes = 40;
  EXPECT_THAT(WriteSafetensorsSet(folder_.path(), tensors_, options),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("'t1'")));
}

// Case 93 (huggingface/transformers#36828, NVIDIA/TensorRT-Model-Connect#1115).
TEST_F(SafetensorsSetTest, Float8NeedsItsScale) {
  uint8_t bytes[] = {0x00, 0x01, 0x7e, 0x7f, 0x80, 0xff};
  float scale = 0.5f;
  const NamedTensor bare{"a.weight",
                         TensorView(bytes, DType::kF8E4M3, Shape({2, 3}))};
  const NamedTensor scaled{"b.weight",
                           TensorView(bytes, DType::kF8E5M2, Shape({2, 3}))};
  const NamedTensor factor{"b.weight_scale_inv",
                           TensorView(&scale, DType::kF32, Shape({}))};
  ASSERT_THAT(
      WriteSafetensorsSet(folder_.path(), {bare, scaled, factor, tensors_[0]}),
      IsOk());
  OCTET_ASSERT_OK_AND_ASSIGN(const SafetensorsSet set,
                             SafetensorsSet::Open(folder_.path()));
  OCTET_ASSERT_OK_AND_ASSIGN(const StoredWeight plain, FindWeight(set, "t0"));
  EXPECT_TRUE(plain.scale.empty());
  OCTET_ASSERT_OK_AND_ASSIGN(const StoredWeight b, FindWeight(set, "b.weight"));
  EXPECT_EQ(*b.scale.as<float>(), 0.5f);
  EXPECT_EQ(b.data.as<uint8_t>()[5], 0xff);
  EXPECT_THAT(FindWeight(set, "a.weight"),
              StatusIs(kDataLoss, AllOf(HasSubstr("'a.weight'"),
                                        HasSubstr("has no scale"))));
  EXPECT_THAT(FindWeight(set, "none"), StatusIs(absl::StatusCode::kNotFound));
}

}  // namespace
}  // namespace octet::io
