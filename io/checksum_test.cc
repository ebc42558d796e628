// SPDX-License-Identifier: Apache-2.0
#include "io/checksum.h"

#include <algorithm>
#include <string>

#include "io/atomic_file.h"
#include "testing/status_matchers.h"
#include "testing/temp_folder.h"

namespace octet::io {
namespace {

using ::octet::testing::IsOk;
using ::octet::testing::StatusIs;
using ::octet::testing::TempFolder;

uint64_t Of(const std::string& text) {
  Checksum checksum;
  checksum.Update(text.data(), text.size());
  return checksum.value();
}

TEST(ChecksumTest, KnownValues) {
  EXPECT_EQ(Of(""), 0xEF46DB3751D8E999u);
  EXPECT_EQ(Of("a"), 0xD24EC4F1A98C6E5Bu);
  EXPECT_EQ(Of("abc"), 0x44BC2CF5AD770999u);
  EXPECT_EQ(Of("Nobody inspects the spammish repetition"), 0xFBCEA83C8A378BF1u);
}

TEST(ChecksumTest, AnySplitIsTheSame) {
  std::string text;
  for (int i = 0; i < 200; ++i) text.push_back(static_cast<char>(i * 37));
  for (size_t first = 0; first <= text.size(); ++first) {
    Checksum checksum;
    checksum.Update(text.data(), first);
    for (size_t i = first; i < text.size(); i += 7) {
      checksum.Update(text.data() + i, std::min<size_t>(7, text.size() - i));
    }
    ASSERT_EQ(checksum.value(), Of(text)) << first;
  }
}

TEST(ChecksumTest, SeesOneBit) {
  std::string text(1000, 'x');
  const uint64_t before = Of(text);
  text[567] ^= 1;
  EXPECT_NE(Of(text), before);
}

TEST(ChecksumTest, OfAFile) {
  const TempFolder folder;
  ASSERT_THAT(WriteFile(folder.Join("a"), "abc"), IsOk());
  OCTET_ASSERT_OK_AND_ASSIGN(const uint64_t value,
                             ChecksumFile(folder.Join("a")));
  EXPECT_EQ(value, Of("abc"));
  EXPECT_THAT(ChecksumFile(folder.Join("none")),
              StatusIs(absl::StatusCode::kNotFound));
}

}  // namespace
}  // namespace octet::io
