// SPDX-License-Identifier: Apache-2.0

#include "train/token_format.h"

#include <cstdio>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "testing/status_matchers.h"

namespace octet::train {
namespace {

using ::octet::testing::IsOk;
using ::octet::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr auto kDataLoss = absl::StatusCode::kDataLoss;

template <typename T>
std::string Bytes(const std::vector<T>& values) {
  return std::string(reinterpret_cast<const char*>(values.data()),
                     values.size() * sizeof(T));
}

std::string Write(const std::string& name, const std::string& bytes) {
  const std::string path = ::testing::TempDir() + "/" + name;
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

std::vector<int32_t> All(const absl::StatusOr<TokenFile>& file) {
  std::vector<int32_t> tokens(file.ok() ? file->size() : 0);
  if (file.ok()) {
    EXPECT_THAT(file->Read(0, std::numeric_limits<int32_t>::max(),
                           absl::MakeSpan(tokens)),
                IsOk());
  }
  return tokens;
}

std::string LlmcHeader(int32_t magic, int32_t version, int32_t count) {
  std::vector<int32_t> header(256);
  header[0] = magic;
  header[1] = version;
  header[2] = count;
  return Bytes(header);
}

// Sequences [1, 2, 3] and [4], one a document, int32.
std::string MegatronIndex(int64_t second_offset = 12) {
  std::string index("MMIDIDX\0\0", 9);
  index += Bytes<uint64_t>({1}) + std::string(1, 4) + Bytes<uint64_t>({2, 3});
  index += Bytes<int32_t>({3, 1}) + Bytes<int64_t>({0, second_offset});
  return index + Bytes<int64_t>({0, 1, 2});
}

TEST(TokenFormat, TextIsBytes) {
  const auto file = OpenTokenFile(Write("a.txt", "A\xC3\xBF"), "auto");
  ASSERT_THAT(file, IsOk());
  EXPECT_EQ(file->format(), "text");
  EXPECT_THAT(All(file), ElementsAre(65, 0xC3, 0xBF));
}

TEST(TokenFormat, LlmcBothVersions) {
  const auto gpt2 =
      OpenTokenFile(Write("gpt2.bin", LlmcHeader(20240520, 1, 2) +
                                          Bytes<uint16_t>({50256, 7})),
                    "auto");
  ASSERT_THAT(gpt2, IsOk());
  EXPECT_EQ(gpt2->format(), "llmc");
  EXPECT_THAT(All(gpt2), ElementsAre(50256, 7));
  const auto llama =
      OpenTokenFile(Write("llama.bin", LlmcHeader(20240801, 7, 2) +
                                           Bytes<uint32_t>({128000, 7})),
                    "llmc");
  EXPECT_THAT(All(llama), ElementsAre(128000, 7));
}

TEST(TokenFormat, LlmcDamaged) {
  const std::string tokens = Bytes<uint16_t>({1, 2, 3});
  const auto open = [](const std::string& bytes) {
    return OpenTokenFile(Write("damaged.bin", bytes), "llmc");
  };
  EXPECT_THAT(open(LlmcHeader(20240520, 1, 4) + tokens),
              StatusIs(kDataLoss, AllOf(HasSubstr("damaged.bin"),
                                        HasSubstr("1030"), HasSubstr("1032"))));
  EXPECT_THAT(open(LlmcHeader(20240520, 1, 2) + tokens), StatusIs(kDataLoss));
  EXPECT_THAT(open(LlmcHeader(20240520, 1, -1) + tokens), StatusIs(kDataLoss));
  EXPECT_THAT(open(LlmcHeader(20240520, 7, 3) + tokens),
              StatusIs(kDataLoss, HasSubstr("version is 7")));
  EXPECT_THAT(open(LlmcHeader(5, 1, 3) + tokens),
              StatusIs(kDataLoss, HasSubstr("magic number is 5")));
  EXPECT_THAT(open("short"), StatusIs(kDataLoss, HasSubstr("5 bytes")));
  EXPECT_THAT(open(LlmcHeader(20240520, 1, 0)),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(TokenFormat, Nanogpt) {
  const auto file =
      OpenTokenFile(Write("train.bin", Bytes<uint16_t>({65535, 2})), "auto");
  ASSERT_THAT(file, IsOk());
  EXPECT_EQ(file->format(), "nanogpt");
  EXPECT_THAT(All(file), ElementsAre(65535, 2));
  EXPECT_THAT(OpenTokenFile(Write("odd.bin", "abc"), "auto"),
              StatusIs(kDataLoss, HasSubstr("3 bytes")));
}

TEST(TokenFormat, MegatronByAnyOfItsNames) {
  const std::string bin = Write("m.bin", Bytes<int32_t>({1, 2, 3, 4}));
  const std::string idx = Write("m.idx", MegatronIndex());
  const std::string stem = idx.substr(0, idx.size() - 4);
  for (const std::string& path : {bin, idx}) {
    const auto file = OpenTokenFile(path, "auto");
    ASSERT_THAT(file, IsOk());
    EXPECT_EQ(file->format(), "megatron");
    EXPECT_EQ(file->path(), bin);
    EXPECT_THAT(All(file), ElementsAre(1, 2, 3, 4));
  }
  EXPECT_THAT(OpenTokenFile(stem, "megatron"), IsOk());
}

TEST(TokenFormat, MegatronDamaged) {
  Write("d.bin", Bytes<int32_t>({1, 2, 3, 4}));
  const auto open = [](const std::string& index) {
    return OpenTokenFile(Write("d.idx", index), "megatron");
  };
  EXPECT_THAT(open(MegatronIndex()), IsOk());
  EXPECT_THAT(open(MegatronIndex(16)),
              StatusIs(kDataLoss, HasSubstr("sequence 1")));
  for (const size_t length : {5, 20, 40, 70}) {
    EXPECT_THAT(open(MegatronIndex().substr(0, length)), StatusIs(kDataLoss));
  }
  std::string huge = MegatronIndex();
  huge.replace(18, 8, Bytes<uint64_t>({uint64_t{1} << 63}));
  EXPECT_THAT(open(huge), StatusIs(kDataLoss, HasSubstr("too few")));
  std::string real = MegatronIndex();
  real[17] = 7;
  EXPECT_THAT(open(real), StatusIs(kDataLoss, HasSubstr("code is 7")));
  Write("d.bin", "abc");
  EXPECT_THAT(open(MegatronIndex()),
              StatusIs(kDataLoss, AllOf(HasSubstr("d.bin"), HasSubstr("16"))));
  std::remove((::testing::TempDir() + "/d.bin").c_str());
  EXPECT_THAT(open(MegatronIndex()),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("d.bin")));
}

// Case 80 (karpathy/llama2.c#319).
TEST(TokenFormat, EmptyMissingAndUnknown) {
  EXPECT_THAT(OpenTokenFile(Write("empty.txt", ""), "auto"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("empty.txt is empty")));
  EXPECT_THAT(OpenTokenFile("/no/such.txt", "auto"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("/no/such.txt")));
  EXPECT_THAT(OpenTokenFile(Write("b.txt", "abc"), "parquet"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("parquet"), HasSubstr("megatron"))));
  EXPECT_THAT(
      OpenTokenFile(Write("elf", std::string("\x7f\0\0", 3)), "auto"),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--data.format")));
}

// Case 82 (karpathy/llama2.c#145, meta-llama/llama3#276).
TEST(TokenFile, NamesATokenOutsideTheVocabulary) {
  const auto file = OpenTokenFile(
      Write("v.bin", Bytes<uint16_t>({1, 2, 3, 4, 255, 256, 6})), "nanogpt");
  ASSERT_THAT(file, IsOk());
  std::vector<int32_t> out(5);
  EXPECT_THAT(file->Read(0, 256, absl::MakeSpan(out)), IsOk());
  EXPECT_THAT(file->Read(2, 256, absl::MakeSpan(out)),
              StatusIs(absl::StatusCode::kOutOfRange,
                       AllOf(HasSubstr("v.bin"), HasSubstr("position 5"),
                             HasSubstr("is 256"), HasSubstr("of 256"))));
  EXPECT_THAT(file->Read(3, 256, absl::MakeSpan(out)),
              StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("7 tokens")));
}

}  // namespace
}  // namespace octet::train
