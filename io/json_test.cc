// SPDX-License-Identifier: Apache-2.0
#include "io/json.h"

#include <clocale>
#include <cmath>
#include <limits>
#include <locale>
#include <string>

#include "io/atomic_file.h"
#include "io/file.h"
#include "testing/status_matchers.h"
#include "testing/temp_folder.h"

namespace octet::io {
namespace {

using ::octet::testing::IsOk;
using ::octet::testing::StatusIs;
using ::octet::testing::TempFolder;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr absl::StatusCode kDataLoss = absl::StatusCode::kDataLoss;

TEST(JsonTest, ErrorsSayWhere) {
  EXPECT_THAT(ParseJson("{\"a\": 1,\n  oops}", "config.json"),
              StatusIs(kDataLoss, AllOf(HasSubstr("config.json: "),
                                        HasSubstr("line 2, column 3"))));
  EXPECT_THAT(ParseJson("", "x"), StatusIs(kDataLoss));
  EXPECT_THAT(ParseJson("{} {}", "x"), StatusIs(kDataLoss));
}

TEST(JsonTest, RefusesWhatIsNotStrict) {
  for (const char* text :
       {"NaN", "[Infinity]", "[-Infinity]", "[1e999]", "[1,]", "[01]", "[.5]",
        "// c\n1", "\"\xff\"", "'a'"}) {
    EXPECT_THAT(ParseJson(text, "x"), StatusIs(kDataLoss)) << text;
  }
}

TEST(JsonTest, RefusesEqualNames) {
  EXPECT_THAT(ParseJson(R"({"a": {"b": 1, "c": 2, "b": 3}})", "x"),
              StatusIs(kDataLoss, HasSubstr("'b' stands twice")));
  EXPECT_THAT(ParseJson(R"({"": 1, "": 2})", "x"), StatusIs(kDataLoss));
  EXPECT_THAT(ParseJson(R"([{"a": 1}, {"a": {"a": 2}}])", "x"), IsOk());
}

TEST(JsonTest, NotANumberBecomesNull) {
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(DumpJson(Json{{"loss", std::nan("")}, {"norm", -inf}, {"x", 0.5}}),
            R"({"loss":null,"norm":null,"x":0.5})");
  EXPECT_EQ(DumpJson(Json("\xff")), "\"\xef\xbf\xbd\"");
}

TEST(JsonTest, DoublesComeBack) {
  for (const double x : {0.1, 1e-300, 3.0e38, -0.0, 1.0 / 3.0}) {
    OCTET_ASSERT_OK_AND_ASSIGN(const Json back, ParseJson(DumpJson(x), "x"));
    EXPECT_EQ(back.get<double>(), x);
  }
}

// 1.234,5
class CommaNumbers : public std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

TEST(JsonTest, TheLocaleDoesNotMatter) {
  const std::locale before =
      std::locale::global(std::locale(std::locale(), new CommaNumbers));
  // C's as well, where the machine has one with a comma.
  for (const char* name : {"fr_FR", "fr_FR.UTF-8", "de_DE", "de_DE.UTF-8"}) {
    std::setlocale(LC_NUMERIC, name);
  }
  EXPECT_EQ(DumpJson(Json{{"a", 1234.5}, {"b", 1234567}}),
            R"({"a":1234.5,"b":1234567})");
  EXPECT_EQ(ParseJson("1234.5", "x").value().get<double>(), 1234.5);
  std::setlocale(LC_NUMERIC, "C");
  std::locale::global(before);
}

TEST(JsonTest, Files) {
  const TempFolder folder;
  const std::string path = folder.Join("a.json");
  ASSERT_THAT(WriteJsonFile(path, Json{{"b", 1}, {"a", {1, 2}}}), IsOk());
  EXPECT_EQ(ReadFile(path).value(),
            "{\n  \"a\": [\n    1,\n    2\n  ],\n  \"b\": 1\n}\n");
  EXPECT_EQ(ReadJsonFile(path).value()["b"], 1);
  EXPECT_THAT(ReadJsonFile(folder.Join("none")),
              StatusIs(absl::StatusCode::kNotFound));
  ASSERT_THAT(WriteFile(path, "{"), IsOk());
  EXPECT_THAT(ReadJsonFile(path), StatusIs(kDataLoss, HasSubstr(path)));
}

TEST(JsonTest, TypedFields) {
  const Json json =
      ParseJson(R"({"i": -3, "d": 0.5, "b": true, "s": "t", "e": 1e3,
                    "u": 18446744073709551615})",
                "x")
          .value();
  EXPECT_EQ(GetInt(json, "i", "f").value(), -3);
  EXPECT_EQ(GetNumber(json, "d", "f").value(), 0.5);
  EXPECT_EQ(GetNumber(json, "i", "f").value(), -3.0);
  EXPECT_EQ(GetBool(json, "b", "f").value(), true);
  EXPECT_EQ(GetString(json, "s", "f").value(), "t");
}

TEST(JsonTest, TypedFieldErrorsNameFileAndField) {
  const Json json =
      ParseJson(R"({"d": 0.5, "s": "t", "u": 18446744073709551615})", "x")
          .value();
  EXPECT_THAT(GetInt(json, "d", "f.json"),
              StatusIs(kDataLoss, HasSubstr("f.json: field 'd' must be a whole "
                                            "number of 64 bits, is 0.5")));
  EXPECT_THAT(GetInt(json, "u", "f"), StatusIs(kDataLoss));
  EXPECT_THAT(GetNumber(json, "s", "f"), StatusIs(kDataLoss, HasSubstr("'s'")));
  EXPECT_THAT(GetBool(json, "s", "f"), StatusIs(kDataLoss));
  EXPECT_THAT(GetString(json, "d", "f"), StatusIs(kDataLoss));
  EXPECT_THAT(GetString(json, "none", "f"),
              StatusIs(kDataLoss, HasSubstr("no field 'none'")));
  EXPECT_THAT(GetInt(Json(1), "a", "f"),
              StatusIs(kDataLoss, HasSubstr("got number")));
}

}  // namespace
}  // namespace octet::io
