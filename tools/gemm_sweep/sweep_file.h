// SPDX-License-Identifier: Apache-2.0

// The CSV that a sweep grows, row by row (columns: roofline/gemm_time.h).
//
// A row is written at once and synced, so a kill loses no more than the product
// in flight. Opening cuts a last line without its end. One process a file at a
// time.
#ifndef OCTET_TOOLS_GEMM_SWEEP_SWEEP_FILE_H_
#define OCTET_TOOLS_GEMM_SWEEP_SWEEP_FILE_H_

#include <cstdint>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tools/gemm_sweep/measure.h"

namespace octet::tools {

class SweepFile {
 public:
  // Creates the file or goes on with it. Errors name it: DataLoss (with the
  // line) for one that no sweep wrote, FailedPrecondition when another process
  // is at it.
  static absl::StatusOr<SweepFile> Open(const std::string& path,
                                        const std::string& device);

  SweepFile(SweepFile&& other) noexcept;
  SweepFile& operator=(SweepFile&&) = delete;
  ~SweepFile();

  // Whether there is a row of it, of this device.
  bool Has(const GemmCase& gemm) const;

  absl::Status Add(const GemmCase& gemm, const MeasuredGemm& measured);
  absl::Status AddRefused(const GemmCase& gemm, const std::string& reason);

  // Of the line that Open cut; 0 for none.
  int64_t bytes_cut() const { return bytes_cut_; }

 private:
  SweepFile(std::string path, std::string device, int fd);

  absl::Status Load();
  absl::Status Append(const std::string& text);
  std::string Key(const GemmCase& gemm) const;

  std::string path_;
  std::string device_;
  int fd_ = -1;
  int64_t bytes_cut_ = 0;
  std::set<std::string> keys_;
};

}  // namespace octet::tools

#endif  // OCTET_TOOLS_GEMM_SWEEP_SWEEP_FILE_H_
