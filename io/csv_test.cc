// SPDX-License-Identifier: Apache-2.0
#include "io/csv.h"

#include <clocale>
#include <cmath>
#include <limits>

#include "absl/strings/numbers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "testing/status_matchers.h"

namespace octet::io {
namespace {

using ::octet::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(CsvTest, ReadsFieldsAndLines) {
  OCTET_ASSERT_OK_AND_ASSIGN(const CsvTable table,
                             ParseCsv("\xef\xbb\xbf,a,\"b, c\"\r\n1,\"say "
                                      "\"\"x\"\"\",\r\n\n\"two\nlines\",2,3",
                                      "f.csv"));
  EXPECT_THAT(table.header, ElementsAre("", "a", "b, c"));
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_THAT(table.rows[0].fields, ElementsAre("1", "say \"x\"", ""));
  EXPECT_EQ(table.rows[0].line, 2);
  EXPECT_THAT(table.rows[1].fields, ElementsAre("two\nlines", "2", "3"));
  EXPECT_EQ(table.rows[1].line, 4);
  EXPECT_EQ(table.Find("b, c"), 2);
  EXPECT_EQ(table.Find("d"), -1);
}

TEST(CsvTest, AHeaderAloneIsAnEmptyTable) {
  OCTET_ASSERT_OK_AND_ASSIGN(const CsvTable table, ParseCsv("a,b\n", "f.csv"));
  EXPECT_TRUE(table.rows.empty());
}

TEST(CsvTest, ErrorsNameTheLine) {
  const struct {
    const char* text;
    const char* message;
  } kCases[] = {
      {"", "f.csv:1: no header"},
      {"a,b\n1,2\n3\n", "f.csv:3: 1 fields, the header has 2"},
      {"a,b\n1,2,3\n", "f.csv:2: 3 fields, the header has 2"},
      {"a,a\n", "f.csv:1: column \"a\" is there twice"},
      {"a\n1\n\"2\n", "f.csv:3: a quote that does not close"},
      {"a\n1\"2\n", "f.csv:2: a quote inside a field"},
      {"a\n\"1\"2\n", "f.csv:2: text behind a closing quote"},
  };
  for (const auto& c : kCases) {
    EXPECT_THAT(ParseCsv(c.text, "f.csv").status(),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr(c.message)))
        << c.text;
  }
}

TEST(CsvTest, LinesReadBack) {
  const std::vector<std::string> fields = {"a", "", "b,c", "d\"e", "f\r\ng"};
  const std::string line = CsvLine(fields);
  EXPECT_EQ(line, "a,,\"b,c\",\"d\"\"e\",\"f\r\ng\"\n");
  OCTET_ASSERT_OK_AND_ASSIGN(const CsvTable table, ParseCsv(line, "f.csv"));
  EXPECT_EQ(table.header, fields);
}

TEST(CsvTest, NumbersAreShortAndReadBack) {
  std::setlocale(LC_ALL, "de_DE.UTF-8");  // where it is installed
  EXPECT_EQ(CsvNumber(0.1), "0.1");
  EXPECT_EQ(CsvNumber(-2.0), "-2");
  EXPECT_EQ(CsvNumber(1.5e-9), "1.5e-09");
  for (const double value : {1.0 / 3.0, std::sqrt(2.0) * 1e-7,
                             std::numeric_limits<double>::denorm_min()}) {
    double back = 0.0;
    ASSERT_TRUE(absl::SimpleAtod(CsvNumber(value), &back));
    EXPECT_EQ(back, value);
  }
  std::setlocale(LC_ALL, "C");
}

}  // namespace
}  // namespace octet::io
