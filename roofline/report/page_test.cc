// SPDX-License-Identifier: Apache-2.0

#include "roofline/report/page.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "io/file.h"
#include "roofline/report/pictures.h"
#include "testing/status_matchers.h"
#include "testing/temp_folder.h"

namespace octet::roofline {
namespace {

using ::octet::testing::IsOk;
using ::octet::testing::StatusIs;
using ::octet::testing::TempFolder;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

Report Example() {
  Report report;
  report.title = "Linear layer <8B> & co";
  report.command = "roofline linear --gpu=\"h200\"";
  report.facts = {{"GPU", "H200"}, {"Tokens/s", "16,234"}};
  ReportSection section;
  section.heading = "Speed-up";
  section.paragraphs = {"M > 4096 is 'fast'."};
  section.pictures = {{"speedup", HeatMapSvg({})}};
  section.table.columns = {"M", "speed-up"};
  section.table.rows = {{"16", "0.7132"}, {"4096", "1.4567", "too much"}, {}};
  report.sections = {section};
  return report;
}

TEST(ReportHtmlTest, HoldsEveryCell) {
  const std::string html = ReportHtml(Example());
  for (const char* cell : {"16", "0.7132", "4096", "1.4567"}) {
    EXPECT_THAT(html, HasSubstr(std::string(">") + cell + "</td>"));
  }
  EXPECT_THAT(html, Not(HasSubstr("too much")));
  EXPECT_THAT(html, AllOf(HasSubstr("<dd>16,234</dd>"), HasSubstr("<svg")));
}

TEST(ReportHtmlTest, EscapesText) {
  const std::string html = ReportHtml(Example());
  EXPECT_THAT(html,
              AllOf(HasSubstr("<h1>Linear layer &lt;8B&gt; &amp; co</h1>"),
                    HasSubstr("--gpu=&quot;h200&quot;"),
                    HasSubstr("M &gt; 4096 is &#39;fast&#39;.")));
  EXPECT_THAT(html, Not(HasSubstr("<8B>")));
}

TEST(ReportHtmlTest, NeedsNothingElse) {
  const std::string html = ReportHtml(Example());
  EXPECT_THAT(html, Not(HasSubstr("<script")));
  EXPECT_THAT(html, Not(HasSubstr("<link")));
  EXPECT_THAT(html, Not(HasSubstr("src=")));
  EXPECT_THAT(html, Not(HasSubstr("url(")));
  EXPECT_THAT(html, AllOf(HasSubstr("prefers-color-scheme:dark"),
                          HasSubstr("name=\"viewport\"")));
}

TEST(ReportHtmlTest, EmptyReportAndEmptyTable) {
  EXPECT_THAT(ReportHtml({}), HasSubstr("<h1></h1>"));
  Report report = Example();
  report.sections[0].table.rows.clear();
  EXPECT_THAT(ReportHtml(report), HasSubstr("No rows."));
}

TEST(ReportHtmlTest, LongTablesAreFolded) {
  Report report = Example();
  EXPECT_THAT(ReportHtml(report), Not(HasSubstr("<details>")));
  report.sections[0].table.rows.assign(343, {"1", "2"});
  EXPECT_THAT(ReportHtml(report), HasSubstr("<summary>All 343 rows</summary>"));
}

TEST(WriteReportTest, WritesPageAndPictures) {
  const TempFolder folder;
  const Report report = Example();
  ASSERT_THAT(WriteReportHtml(folder.Join("r.html"), report), IsOk());
  ASSERT_THAT(WriteReportPictures(folder.Join("a/b"), report), IsOk());
  OCTET_ASSERT_OK_AND_ASSIGN(const std::string html,
                             io::ReadFile(folder.Join("r.html")));
  EXPECT_EQ(html, ReportHtml(report));
  OCTET_ASSERT_OK_AND_ASSIGN(const std::string svg,
                             io::ReadFile(folder.Join("a/b/speedup.svg")));
  EXPECT_THAT(svg, AllOf(HasSubstr("<?xml"),
                         HasSubstr(report.sections[0].pictures[0].svg)));
  EXPECT_THAT(folder.List(), ElementsAre("a", "r.html"));
}

TEST(WriteReportTest, BadFolderAndBadName) {
  const TempFolder folder;
  Report report = Example();
  EXPECT_THAT(WriteReportHtml(folder.Join("no/r.html"), report),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("no/r.html")));
  report.sections[0].pictures[0].name = "../up";
  EXPECT_THAT(WriteReportPictures(folder.path(), report),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("../up")));
  report.sections[0].pictures[0].name = "one";
  report.sections.push_back(report.sections[0]);
  EXPECT_THAT(WriteReportPictures(folder.path(), report),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("once")));
  EXPECT_THAT(folder.List(), IsEmpty());
}

TEST(WriteReportTest, FolderThatIsAFile) {
  const TempFolder folder;
  ASSERT_THAT(WriteReportHtml(folder.Join("file"), Example()), IsOk());
  EXPECT_THAT(
      WriteReportPictures(folder.Join("file/below"), Example()),
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("file/below")));
}

}  // namespace
}  // namespace octet::roofline
