// SPDX-License-Identifier: Apache-2.0

#include "train/tokens.h"

#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "testing/status_matchers.h"
#include "train/file_list.h"

namespace octet::train {
namespace {

namespace fs = std::filesystem;
using ::octet::testing::IsOk;
using ::octet::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class TokenDataTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = ::testing::TempDir() + "/data_" +
              ::testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }

  std::string Write(const std::string& name, const std::string& bytes) {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }
  // Bytes 0, 1, 2, ...: a token tells its position.
  static std::string Count(int begin, int end) {
    std::string bytes;
    for (int i = begin; i < end; ++i) bytes += static_cast<char>(i);
    return bytes;
  }
  TokenDataOptions Options() const {
    TokenDataOptions options;
    options.path = folder_;
    options.format = "text";
    options.seq_len = 4;
    options.vocab_size = 256;
    options.seed = 7;
    options.validation_fraction = 0;
    return options;
  }

  std::string folder_;
};

std::vector<int32_t> Sample(const TokenData& data, int64_t index) {
  std::vector<int32_t> out(5);
  EXPECT_THAT(data.Sample(index, absl::MakeSpan(out)), IsOk());
  return out;
}

std::vector<int32_t> ValidationSample(const TokenData& data, int64_t index) {
  std::vector<int32_t> out(5);
  EXPECT_THAT(data.ValidationSample(index, absl::MakeSpan(out)), IsOk());
  return out;
}

// Case 84 (jzhang38/TinyLlama#67): files made in the order 3, 1, 2.
TEST_F(TokenDataTest, EachPassReadsEachTargetOnceInAnotherOrder) {
  Write("3", Count(20, 42));
  Write("1", Count(0, 7));
  Write("2", Count(7, 20));
  OCTET_ASSERT_OK_AND_ASSIGN(const TokenData data, TokenData::Open(Options()));
  ASSERT_EQ(data.size(), 10);
  std::vector<std::vector<int32_t>> orders;
  for (int epoch = 0; epoch < 3; ++epoch) {
    std::set<int32_t> targets;
    orders.emplace_back();
    for (int i = 0; i < 10; ++i) {
      const int64_t index = epoch * 10 + i;
      EXPECT_EQ(data.Epoch(index), epoch);
      const auto sample = Sample(data, index);
      for (int j = 1; j < 5; ++j) {
        EXPECT_EQ(sample[j], sample[0] + j);  // across the files' borders
        EXPECT_TRUE(targets.insert(sample[j]).second);
      }
      orders.back().push_back(sample[0]);
    }
    EXPECT_THAT(targets, SizeIs(40));
  }
  EXPECT_NE(orders[0], orders[1]);
  EXPECT_NE(orders[1], orders[2]);
}

// Case 84 (jzhang38/TinyLlama#67): the same on every rank.
TEST_F(TokenDataTest, DependsOnSeedAndIndexAlone) {
  Write("a", Count(0, 200));
  TokenDataOptions options = Options();
  OCTET_ASSERT_OK_AND_ASSIGN(const TokenData a, TokenData::Open(options));
  OCTET_ASSERT_OK_AND_ASSIGN(const TokenData b, TokenData::Open(options));
  options.seed = 8;
  OCTET_ASSERT_OK_AND_ASSIGN(const TokenData other, TokenData::Open(options));
  int differing = 0;
  for (int i = 60; i >= 0; --i) {
    EXPECT_EQ(Sample(a, i), Sample(b, i));
    differing += Sample(a, i) != Sample(other, i);
  }
  EXPECT_GT(differing, 40);
  options.shuffle = false;
  OCTET_ASSERT_OK_AND_ASSIGN(const TokenData plain, TokenData::Open(options));
  EXPECT_THAT(Sample(plain, 50), ElementsAre(4, 5, 6, 7, 8));
}

// Case 85 (pytorch/torchtitan#66, karpathy/nanochat#371).
TEST_F(TokenDataTest, WrapsWithAnEpochCounter) {
  Write("a", Count(0, 25));
  OCTET_ASSERT_OK_AND_ASSIGN(const TokenData data, TokenData::Open(Options()));
  EXPECT_EQ(data.size(), 6);  // 3 steps of 2 samples
  EXPECT_EQ(data.Epoch(5), 0);
  EXPECT_EQ(data.Epoch(6), 1);
  EXPECT_EQ(Sample(data, 1000000007).size(), 5);
}

TEST_F(TokenDataTest, ValidationSharesNoTokenWithTraining) {
  for (const int tokens : {10, 41, 42, 43, 100, 250}) {
    Write("a", Count(0, tokens));
    TokenDataOptions options = Options();
    options.validation_fraction = 0.3;
    OCTET_ASSERT_OK_AND_ASSIGN(const TokenData data, TokenData::Open(options));
    std::set<int32_t> training;
    for (int64_t i = 0; i < data.size(); ++i) {
      for (const int32_t token : Sample(data, i)) training.insert(token);
    }
    ASSERT_GE(data.validation_size(), 1);
    for (int64_t i = 0; i < data.validation_size(); ++i) {
      for (const int32_t token : ValidationSample(data, i)) {
        EXPECT_EQ(training.count(token), 0) << tokens << " " << token;
      }
    }
  }
}

// Case 80 (karpathy/llama2.c#311): validation may not take all of it.
TEST_F(TokenDataTest, ValidationFiles) {
  Write("a", Count(0, 20));
  TokenDataOptions options = Options();
  options.validation_path = Write("b", Count(100, 109));
  OCTET_ASSERT_OK_AND_ASSIGN(TokenData data, TokenData::Open(options));
  EXPECT_EQ(data.size(), 4);
  EXPECT_EQ(data.validation_size(), 2);
  EXPECT_THAT(ValidationSample(data, 1), ElementsAre(104, 105, 106, 107, 108));
  std::vector<int32_t> out(5);
  EXPECT_THAT(
      data.ValidationSample(2, absl::MakeSpan(out)),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("2 of 2")));
  options.validation_path = folder_ + "/*";
  EXPECT_THAT(
      TokenData::Open(options),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("none is left")));
}

TEST_F(TokenDataTest, BinFoldersKeepTheirValidationFile) {
  Write("train.bin", std::string(40, '\0'));
  Write("val.bin", std::string(20, '\0'));
  Write("meta.pkl", "x");
  TokenDataOptions options = Options();
  options.format = "auto";
  OCTET_ASSERT_OK_AND_ASSIGN(const TokenData data, TokenData::Open(options));
  EXPECT_EQ(data.size(), 4);
  EXPECT_EQ(data.validation_size(), 2);
}

// Case 82 (meta-llama/llama3#276).
TEST_F(TokenDataTest, NamesTheTokenOutsideTheVocabulary) {
  Write("a", Count(0, 25));
  TokenDataOptions options = Options();
  options.vocab_size = 20;
  EXPECT_THAT(TokenData::Open(options),
              StatusIs(absl::StatusCode::kOutOfRange,
                       AllOf(HasSubstr("/a"), HasSubstr("position 20"))));
}

// Case 80 (karpathy/llama2.c#319).
TEST_F(TokenDataTest, BadDataIsNamedAtOnce) {
  TokenDataOptions options = Options();
  EXPECT_THAT(TokenData::Open(options),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr(folder_)));
  options.path = folder_ + "/x*.bin";
  EXPECT_THAT(TokenData::Open(options),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("/x*.bin")));
  options.path = folder_ + "/none.txt";
  EXPECT_THAT(TokenData::Open(options),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("/none.txt")));
  Write("empty", "");
  options.path = folder_ + "/e*";
  EXPECT_THAT(TokenData::Open(options),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("/e*"), HasSubstr("/empty is empty"))));
  options.path = folder_ + "/empty";  // named once
  EXPECT_THAT(TokenData::Open(options),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "data: " + options.path + " is empty"));
  options.path = Write("short", "abcd");
  EXPECT_THAT(TokenData::Open(options),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("/short"), HasSubstr("4 tokens"),
                             HasSubstr("needs 5"))));
  options.path = Write("for_one", "abcdefghi");
  options.validation_fraction = 0.5;
  EXPECT_THAT(TokenData::Open(options),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("10")));
  options.validation_fraction = 1;
  EXPECT_THAT(TokenData::Open(options),
              StatusIs(absl::StatusCode::kInvalidArgument));
  options = Options();
  options.seq_len = 0;
  EXPECT_THAT(TokenData::Open(options),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

// Case 84 (jzhang38/TinyLlama#67): sorted by name.
TEST_F(TokenDataTest, ListsFilesByNameWithoutLinks) {
  Write("10", "x");
  Write("9", "x");
  Write(".hidden", "x");
  fs::create_symlink(folder_ + "/9", folder_ + "/link");
  fs::create_directory(folder_ + "/folder");
  OCTET_ASSERT_OK_AND_ASSIGN(const FileList all, ListFiles(folder_));
  EXPECT_THAT(all.training, ElementsAre(folder_ + "/10", folder_ + "/9"));
  OCTET_ASSERT_OK_AND_ASSIGN(const FileList some,
                             ListFiles(folder_ + "/[1f]*"));
  EXPECT_THAT(some.training, ElementsAre(folder_ + "/10"));
  EXPECT_THAT(ListFiles(""), StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace octet::train
