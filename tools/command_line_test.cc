// SPDX-License-Identifier: Apache-2.0
#include "tools/command_line.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "testing/status_matchers.h"

namespace octet::tools {
namespace {

using ::octet::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

absl::StatusOr<CommandLine> Parse(const std::vector<std::string>& arguments) {
  const FlagSpec flags[] = {{"size"},
                            {"file_name"},
                            {"no-saturate", FlagKind::kSwitch},
                            {"fusion", FlagKind::kBool}};
  return ParseCommandLine("cut", flags, arguments);
}

TEST(CommandLineTest, TakesFlagsInEveryForm) {
  OCTET_ASSERT_OK_AND_ASSIGN(
      const CommandLine line,
      Parse({"a", "--size=3", "--file-name", "x=y", "--no_saturate", "-1",
             "--fusion", "False", "--", "--b"}));
  EXPECT_EQ(line.Get("size", ""), "3");
  EXPECT_EQ(line.Get("file_name", ""), "x=y");
  EXPECT_TRUE(line.Has("no-saturate"));
  EXPECT_FALSE(line.GetBool("fusion", true));
  EXPECT_THAT(line.words, ElementsAre("a", "-1", "--b"));
}

TEST(CommandLineTest, BoolsAsPythonWritesThem) {
  const struct {
    std::vector<std::string> arguments;
    bool value;
  } kCases[] = {{{"--fusion"}, true},        {{"--fusion=True"}, true},
                {{"--fusion", "1"}, true},   {{"--fusion", "word"}, true},
                {{"--fusion=false"}, false}, {{"--nofusion"}, false},
                {{"--fusion", "0"}, false}};
  for (const auto& c : kCases) {
    OCTET_ASSERT_OK_AND_ASSIGN(const CommandLine line, Parse(c.arguments));
    EXPECT_EQ(line.GetBool("fusion", !c.value), c.value) << c.arguments[0];
  }
}

TEST(CommandLineTest, ReadsNumbersAndChoices) {
  OCTET_ASSERT_OK_AND_ASSIGN(const CommandLine line, Parse({"--size=12"}));
  EXPECT_EQ(*line.GetInt("size", 1, 1, 12), 12);
  EXPECT_EQ(*line.GetInt("absent", 7, 1, 2), 7);
  EXPECT_EQ(*line.GetDouble("size", 1, 0, 12), 12.0);
  EXPECT_EQ(*line.GetChoice("size", {"11", "12"}), "12");
  EXPECT_EQ(*line.GetChoice("absent", {"11", "12"}), "11");
  EXPECT_THAT(line.GetChoice("size", {"11", "13"}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "--size=12 is none of 11, 13"));
}

TEST(CommandLineTest, RefusesWhatIsNoNumber) {
  for (const char* text :
       {"0", "-1", "13", "1e3", "4096x", "", "nan", "99999999999999999999"}) {
    OCTET_ASSERT_OK_AND_ASSIGN(const CommandLine line,
                               Parse({std::string("--size=") + text}));
    const auto message = StatusIs(absl::StatusCode::kInvalidArgument,
                                  HasSubstr(std::string("--size=") + text));
    EXPECT_THAT(line.GetInt("size", 1, 1, 12).status(), message) << text;
    EXPECT_THAT(line.GetDouble("size", 1, 1, 12).status(), message) << text;
  }
}

TEST(CommandLineTest, ErrorsNameTheFlag) {
  const struct {
    std::vector<std::string> arguments;
    const char* message;
  } kCases[] = {
      {{"--sise=1"}, "cut has no flag --sise=1; did you mean --size?"},
      {{"--other"}, "cut has no flag --other"},
      {{"--nosize"}, "cut has no flag --nosize"},
      {{"--size"}, "--size needs a value"},
      {{"--size", "--fusion"}, "--size needs a value"},
      {{"--size=1", "--size=2"}, "--size=2: the flag is given twice"},
      {{"--no-saturate=1"}, "--no-saturate=1: the flag takes no value"},
      {{"--fusion=maybe"}, "--fusion=maybe is no true or false"},
  };
  for (const auto& c : kCases) {
    EXPECT_THAT(
        Parse(c.arguments).status(),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(c.message)));
  }
}

}  // namespace
}  // namespace octet::tools
