// SPDX-License-Identifier: Apache-2.0

// A report as one HTML page that needs nothing else: style and pictures stand
// in it, and there is no script. Well-formed XML too. On a phone the rows of a
// table become blocks, so that nothing scrolls sideways.
#ifndef OCTET_ROOFLINE_REPORT_PAGE_H_
#define OCTET_ROOFLINE_REPORT_PAGE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace octet::roofline {

// Text, written as it is.
struct ReportTable {
  std::vector<std::string> columns;
  // A row may be shorter than `columns`; what is too much is left out.
  std::vector<std::vector<std::string>> rows;
};

struct ReportPicture {
  std::string name;  // of its file, without ".svg"
  std::string svg;   // from pictures.h
};

struct ReportFact {
  std::string name, value;
};

struct ReportSection {
  std::string heading;
  std::vector<std::string> paragraphs;
  std::vector<ReportPicture> pictures;
  ReportTable table;
};

struct Report {
  std::string title;
  std::string command;  // that wrote it
  std::vector<ReportFact> facts;
  std::vector<ReportSection> sections;
};

std::string ReportHtml(const Report& report);

// Atomic; see io/atomic_file.h.
absl::Status WriteReportHtml(const std::string& path, const Report& report);

// FOLDER/NAME.svg of each picture; the folder is created. InvalidArgument, with
// nothing written, for a name with other than letters, digits, '-' and '_', or
// one that stands twice.
absl::Status WriteReportPictures(const std::string& folder,
                                 const Report& report);

}  // namespace octet::roofline

#endif  // OCTET_ROOFLINE_REPORT_PAGE_H_
