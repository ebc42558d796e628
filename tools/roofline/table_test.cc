// SPDX-License-Identifier: Apache-2.0
#include "tools/roofline/table.h"

#include <limits>

#include "gtest/gtest.h"

namespace octet::tools {
namespace {

Table Example() {
  Table table({{"name"},
               {"M", CellStyle::kWhole},
               {"fp8_s", CellStyle::kSeconds, "fp8 us"},
               {"speedup", CellStyle::kRatio},
               {"hidden", CellStyle::kDataOnly},
               {"why", CellStyle::kText}});
  table.AddRow({std::string("a, b"), int64_t{1} << 40, 1.0 / 3.0 * 1e-6, 2.0,
                int64_t{7}, std::string()});
  // Cells that are not given are absent.
  table.AddRow({std::string("c"), int64_t{5}});
  return table;
}

TEST(TableTest, TextIsAlignedAndRounded) {
  EXPECT_EQ(Example().Text(),
            "name              M  fp8 us  speedup  why\n"
            "a, b  1099511627776   0.333    2.000\n"
            "c                 5       -        -  -\n");
}

TEST(TableTest, CsvHasEveryColumnAndDigit) {
  EXPECT_EQ(Example().Csv(),
            "name,M,fp8_s,speedup,hidden,why\n"
            "\"a, b\",1099511627776,3.333333333333333e-07,2,7,\n"
            "c,5,,,,\n");
}

TEST(TableTest, JsonHasNullsForWhatIsAbsent) {
  Table table({{"a"}, {"b", CellStyle::kNumber}});
  table.AddRow({std::string("x\"y"), 0.5});
  table.AddRow({std::string("z"), std::numeric_limits<double>::quiet_NaN()});
  table.AddRow({});
  EXPECT_EQ(table.Json(),
            "[\n  {\n    \"a\": \"x\\\"y\",\n    \"b\": 0.5\n  },\n"
            "  {\n    \"a\": \"z\",\n    \"b\": null\n  },\n"
            "  {\n    \"a\": null,\n    \"b\": null\n  }\n]\n");
}

TEST(TableTest, NoRowsIsAHeader) {
  const Table table({{"a"}, {"b", CellStyle::kPercent}});
  EXPECT_EQ(table.Text(), "a  b\n");
  EXPECT_EQ(table.Csv(), "a,b\n");
  EXPECT_EQ(table.Json(), "[]\n");
}

}  // namespace
}  // namespace octet::tools
