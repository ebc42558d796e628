// SPDX-License-Identifier: Apache-2.0

// Seconds of scaled matrix products from a table that was measured: what
// //tools:gemm_sweep writes, or torchao's bench_matmul.py.
//
// A size that is not in the table is an error that names it, or is
// interpolated where the caller asks for that, and then says so: log(seconds)
// is linear in the logarithms of m, k and n between the nearest sizes that were
// measured. All of these must be there; nothing is extrapolated.
//
// Modes (hardware.h): bf16, tensor_fast, tensor, row_fast, row, block128,
// block1x128, f32.
#ifndef OCTET_ROOFLINE_GEMM_TIME_H_
#define OCTET_ROOFLINE_GEMM_TIME_H_

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace octet::roofline {

// A mode as columns of a table spell it.
struct GemmMode {
  absl::string_view name;
  absl::string_view dtype;         // bf16, e4m3, f32
  absl::string_view scale_mode;    // none, tensor, row, block...
  absl::string_view accumulation;  // f32, fast, precise
};
const std::vector<GemmMode>& GemmModes();

// The columns that gemm_sweep writes, in order:
//   device,m,k,n,dtype,scale_mode,accumulation,seconds,heuristic_seconds,
//   tflops,reason
// `seconds` is the best algorithm's, `heuristic_seconds` cuBLASLt's first
// guess's, empty where there is but one. A product that the device refuses has
// a reason and no seconds.
const std::vector<std::string>& GemmTableColumns();

enum class GemmCandidate { kBest, kHeuristic };

struct GemmTableOptions {
  GemmCandidate candidate = GemmCandidate::kBest;
  bool interpolate = false;
  // Which device's rows; needed where a table has several.
  std::string device;
  // torchao's table does not say what its float8 times are: "tensor" or "row".
  std::string torchao_scale_mode = "tensor";
};

struct GemmTime {
  double seconds = 0;
  bool is_interpolated = false;
};

class GemmTable {
 public:
  // Errors name FILE:LINE. DataLoss: a broken line or number, a product twice,
  // neither tool's columns. InvalidArgument: an option that does not fit the
  // table.
  static absl::StatusOr<GemmTable> Parse(absl::string_view text,
                                         absl::string_view file,
                                         const GemmTableOptions& options = {});
  // NotFound if there is no such file.
  static absl::StatusOr<GemmTable> Read(const std::string& path,
                                        const GemmTableOptions& options = {});

  // NotFound names the size and how to measure it; InvalidArgument: sizes that
  // are not positive, an unknown mode.
  absl::StatusOr<GemmTime> Find(absl::string_view mode, int64_t m, int64_t k,
                                int64_t n) const;

  // Whether there is a row of it: a time, or why there is none.
  bool Has(absl::string_view mode, int64_t m, int64_t k, int64_t n) const;

  // What adds such products to the file, of sizes "MxKxN,..." in modes "a,b";
  // "" for torchao's, which gemm_sweep does not write.
  std::string MeasureCommand(absl::string_view sizes,
                             absl::string_view modes) const;

  // Whose times they are, in the driver's words; "" where the table does not
  // say.
  const std::string& device() const { return device_; }

  int64_t size() const;

 private:
  using Sizes3 = std::array<int64_t, 3>;  // m, k, n
  struct Entry {
    double seconds = 0;  // 0: refused
    std::string reason;
    int64_t line = 0;
  };
  using Entries = std::map<Sizes3, Entry>;

  absl::Status Add(absl::string_view mode, const Sizes3& sizes, Entry entry,
                   bool keep_faster);
  absl::StatusOr<double> Interpolate(absl::string_view mode,
                                     const Entries& entries,
                                     const Sizes3& sizes) const;
  absl::Status NotMeasured(absl::string_view mode, const Sizes3& sizes,
                           absl::string_view why) const;

  friend class GemmTableReader;

  std::string file_;
  std::string device_;
  bool is_torchao_ = false;
  GemmTableOptions options_;
  std::map<std::string, Entries, std::less<>> modes_;
};

}  // namespace octet::roofline

#endif  // OCTET_ROOFLINE_GEMM_TIME_H_
