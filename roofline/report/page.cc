// SPDX-License-Identifier: Apache-2.0

#include "roofline/report/page.h"

#include <filesystem>
#include <set>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "io/atomic_file.h"
#include "io/file.h"
#include "roofline/report/svg.h"

namespace octet::roofline {
namespace {

// More rows than this are folded away.
constexpr size_t kOpenRows = 40;

constexpr char kStyle[] = R"(<style>
:root{color-scheme:light dark;--ink:#1f2328;--paper:#fff;--soft:#57606a;--line:#d0d7de;--band:#f6f8fa}
@media (prefers-color-scheme:dark){:root{--ink:#e6edf3;--paper:#0d1117;--soft:#9da7b1;--line:#30363d;--band:#161b22}}
*{box-sizing:border-box}
body{margin:0 auto;padding:16px 10px 40px;max-width:1180px;background:var(--paper);color:var(--ink);
font:15px/1.5 system-ui,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;overflow-wrap:break-word}
h1{font-size:24px;line-height:1.25;margin:0 0 8px}h2{font-size:18px;margin:32px 0 8px}p{margin:0 0 10px;max-width:75ch}
code{display:block;overflow-wrap:anywhere;font:13px/1.5 ui-monospace,"DejaVu Sans Mono",monospace;background:var(--band);border:1px solid var(--line);border-radius:6px;padding:8px 10px;margin:0 0 16px}
dl{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,200px),1fr));gap:10px;margin:0}
dl div{border:1px solid var(--line);border-radius:6px;padding:8px 10px}
dt{color:var(--soft);font-size:13px}dd{margin:0;font-size:17px;font-weight:600;font-variant-numeric:tabular-nums}
.pictures{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,324px),1fr));gap:28px;margin:8px 0 20px}
.pictures svg{display:block;width:100%;max-width:480px;height:auto}
.table{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:14px;font-variant-numeric:tabular-nums}
th,td{text-align:right;padding:5px 8px;border-bottom:1px solid var(--line)}
th:first-child,td:first-child{text-align:left}
thead th{color:var(--soft);font-weight:600;vertical-align:bottom}
tbody tr:nth-child(even){background:var(--band)}
summary{cursor:pointer;padding:6px 0}
@media (max-width:700px){
thead{display:none}table,tbody,tr,td{display:block}
tr{border-bottom:1px solid var(--line);padding:6px 4px}
td,td:first-child{display:flex;justify-content:space-between;gap:16px;text-align:right;border:0;padding:2px 4px}
td::before{content:attr(data-name);color:var(--soft);text-align:left;flex:none;max-width:60%}
td,td::before{overflow-wrap:anywhere}
td:first-child{font-weight:600}
}
</style>)";

void AppendTable(const ReportTable& table, std::string* out) {
  const bool fold = table.rows.size() > kOpenRows;
  if (fold) {
    absl::StrAppend(out, "<details><summary>All ", table.rows.size(),
                    " rows</summary>\n");
  }
  absl::StrAppend(out, "<div class=\"table\"><table>\n<thead><tr>");
  for (const std::string& column : table.columns) {
    absl::StrAppend(out, "<th scope=\"col\">", EscapeXml(column), "</th>");
  }
  absl::StrAppend(out, "</tr></thead>\n<tbody>\n");
  for (const std::vector<std::string>& row : table.rows) {
    absl::StrAppend(out, "<tr>");
    for (size_t i = 0; i < table.columns.size(); ++i) {
      absl::StrAppend(out, "<td data-name=\"", EscapeXml(table.columns[i]),
                      "\">", i < row.size() ? EscapeXml(row[i]) : "", "</td>");
    }
    absl::StrAppend(out, "</tr>\n");
  }
  absl::StrAppend(out, "</tbody>\n</table></div>\n",
                  fold ? "</details>\n" : "");
}

void AppendSection(const ReportSection& section, std::string* out) {
  absl::StrAppend(out, "<section>\n<h2>", EscapeXml(section.heading),
                  "</h2>\n");
  for (const std::string& paragraph : section.paragraphs) {
    absl::StrAppend(out, "<p>", EscapeXml(paragraph), "</p>\n");
  }
  if (!section.pictures.empty()) {
    absl::StrAppend(out, "<div class=\"pictures\">\n");
    for (const ReportPicture& picture : section.pictures) {
      absl::StrAppend(out, "<div>", picture.svg, "</div>\n");
    }
    absl::StrAppend(out, "</div>\n");
  }
  if (!section.table.columns.empty()) {
    if (section.table.rows.empty()) {
      absl::StrAppend(out, "<p>No rows.</p>\n");
    } else {
      AppendTable(section.table, out);
    }
  }
  absl::StrAppend(out, "</section>\n");
}

bool IsFileName(const std::string& name) {
  for (const char c : name) {
    if (!absl::ascii_isalnum(c) && c != '-' && c != '_') return false;
  }
  return !name.empty();
}

}  // namespace

std::string ReportHtml(const Report& report) {
  std::string out = absl::StrCat(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta "
      "charset=\"utf-8\"/>\n<meta name=\"viewport\" "
      "content=\"width=device-width, initial-scale=1\"/>\n<title>",
      EscapeXml(report.title), "</title>\n", kStyle, "\n</head>\n<body>\n<h1>",
      EscapeXml(report.title), "</h1>\n");
  if (!report.command.empty()) {
    absl::StrAppend(&out, "<code>", EscapeXml(report.command), "</code>\n");
  }
  if (!report.facts.empty()) {
    absl::StrAppend(&out, "<dl>\n");
    for (const ReportFact& fact : report.facts) {
      absl::StrAppend(&out, "<div><dt>", EscapeXml(fact.name), "</dt><dd>",
                      EscapeXml(fact.value), "</dd></div>\n");
    }
    absl::StrAppend(&out, "</dl>\n");
  }
  for (const ReportSection& section : report.sections) {
    AppendSection(section, &out);
  }
  absl::StrAppend(&out, "</body>\n</html>\n");
  return out;
}

absl::Status WriteReportHtml(const std::string& path, const Report& report) {
  return io::WriteFile(path, ReportHtml(report));
}

absl::Status WriteReportPictures(const std::string& folder,
                                 const Report& report) {
  std::set<std::string> names;
  for (const ReportSection& section : report.sections) {
    for (const ReportPicture& picture : section.pictures) {
      if (!IsFileName(picture.name) || !names.insert(picture.name).second) {
        return absl::InvalidArgumentError(absl::StrCat(
            "report: a picture is called \"", picture.name,
            "\", expected letters, digits, '-' and '_', each name once"));
      }
    }
  }
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    return absl::FailedPreconditionError(
        absl::StrCat("cannot create ", folder, ": ", error.message()));
  }
  for (const ReportSection& section : report.sections) {
    for (const ReportPicture& picture : section.pictures) {
      OCTET_RETURN_IF_ERROR(io::WriteFile(
          io::JoinPath(folder, absl::StrCat(picture.name, ".svg")),
          absl::StrCat("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n",
                       picture.svg)));
    }
  }
  return absl::OkStatus();
}

}  // namespace octet::roofline
