// SPDX-License-Identifier: Apache-2.0
#include "tools/roofline/gemm_times.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"

namespace octet::tools {
namespace {

// Whether a driver's description ("NVIDIA H200, 139.8 GiB, sm_90") is of the
// card.
bool IsOfCard(absl::string_view device, const roofline::Hardware& hardware) {
  const absl::string_view name = device.substr(0, device.find(','));
  if (absl::EqualsIgnoreCase(name, hardware.name) ||
      absl::c_linear_search(hardware.aliases, name)) {
    return true;
  }
  const auto measured = roofline::FindHardware(name);
  const auto card = roofline::FindHardware(hardware.name);
  return measured.ok() && card.ok() && measured->name == card->name;
}

absl::Status CheckDevice(const CommandLine& line,
                         const roofline::GemmTable& table,
                         const roofline::Hardware& hardware) {
  const std::string& device = table.device();
  if (device.empty() || line.Has("gemm_device") || IsOfCard(device, hardware)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "--gemm_benchmarks_file=", line.Get("gemm_benchmarks_file", ""),
      " has times of ", device, ", and the card is ", hardware.name,
      ": choose --hardware, or --gemm_device=\"", device,
      "\" takes them all the same"));
}

absl::StatusOr<roofline::GemmTable> ReadTable(const CommandLine& line) {
  const std::string path = line.Get("gemm_benchmarks_file", "");
  if (path.empty()) {
    return absl::InvalidArgumentError(
        "--gemm_time_strategy=benchmarks needs --gemm_benchmarks_file=FILE.csv "
        "(measured by gemm_sweep or torchao's bench_matmul.py); "
        "--gemm_time_strategy=roofline needs none");
  }
  roofline::GemmTableOptions options;
  options.interpolate = line.GetBool("gemm_interpolate", false);
  options.device = line.Get("gemm_device", "");
  OCTET_ASSIGN_OR_RETURN(
      const std::string candidate,
      line.GetChoice("gemm_candidate", {"best", "heuristic"}));
  if (candidate == "heuristic") {
    options.candidate = roofline::GemmCandidate::kHeuristic;
  }
  OCTET_ASSIGN_OR_RETURN(options.torchao_scale_mode,
                         line.GetChoice("gemm_scale_mode", {"tensor", "row"}));
  return roofline::GemmTable::Read(path, options);
}

absl::StatusOr<double> Look(GemmLookups* lookups, absl::string_view mode,
                            const std::array<int64_t, 3>& sizes) {
  const auto [m, k, n] = sizes;
  const absl::StatusOr<roofline::GemmTime> time =
      lookups->table->Find(mode, m, k, n);
  if (time.ok()) {
    ++(time->is_interpolated ? lookups->interpolated : lookups->measured);
    return time->seconds;
  }
  if (!lookups->is_collecting) return time.status();
  // What is there was refused: no measurement helps.
  if (absl::IsNotFound(time.status()) && !lookups->table->Has(mode, m, k, n)) {
    lookups->missing_sizes.insert(sizes);
    lookups->missing_modes.insert(std::string(mode));
  }
  return 1.0;
}

}  // namespace

const std::vector<FlagSpec>& GemmTimeFlags() {
  static const auto& flags =
      *new std::vector<FlagSpec>{{"gemm_time_strategy"},
                                 {"gemm_benchmarks_file"},
                                 {"gemm_interpolate", FlagKind::kBool},
                                 {"gemm_candidate"},
                                 {"gemm_device"},
                                 {"gemm_scale_mode"}};
  return flags;
}

std::string GemmTimeUsage() {
  return "  --gemm_time_strategy=roofline|benchmarks\n"
         "  --gemm_benchmarks_file=FILE.csv   of gemm_sweep, or torchao's "
         "bench_matmul.py\n"
         "  --gemm_interpolate       between sizes that were measured; else a "
         "size "
         "that was not\n"
         "                           is an error\n"
         "  --gemm_candidate=best|heuristic   the fastest algorithm's time, or "
         "cuBLASLt's first\n"
         "                           guess's\n"
         "  --gemm_device=NAME       whose rows of the file; named, they may "
         "be of another "
         "device than\n"
         "                           the card\n"
         "  --gemm_scale_mode=tensor|row   what torchao's float8 times are\n";
}

absl::StatusOr<std::shared_ptr<GemmLookups>> SetGemmTimes(
    const CommandLine& line, absl::string_view default_strategy,
    const roofline::Hardware& hardware, roofline::BoundOptions* bound) {
  std::string strategy(default_strategy);
  if (line.Has("gemm_time_strategy")) {
    OCTET_ASSIGN_OR_RETURN(
        strategy,
        line.GetChoice("gemm_time_strategy", {"roofline", "benchmarks"}));
  } else if (line.Has("gemm_benchmarks_file")) {
    strategy = "benchmarks";
  }
  if (strategy == "benchmarks") {
    OCTET_ASSIGN_OR_RETURN(roofline::GemmTable measured, ReadTable(line));
    OCTET_RETURN_IF_ERROR(CheckDevice(line, measured, hardware));
    const auto lookups = std::make_shared<GemmLookups>();
    lookups->table =
        std::make_shared<const roofline::GemmTable>(std::move(measured));
    bound->gemm_seconds = [lookups](absl::string_view mode, int64_t m,
                                    int64_t k, int64_t n) {
      return Look(lookups.get(), mode, {m, k, n});
    };
    return lookups;
  }
  for (const char* flag :
       {"gemm_benchmarks_file", "gemm_interpolate", "gemm_candidate",
        "gemm_device", "gemm_scale_mode"}) {
    if (line.Has(flag)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--", flag, " is of --gemm_time_strategy=benchmarks, which is ",
          strategy));
    }
  }
  return std::shared_ptr<GemmLookups>();
}

absl::Status WithAllMissing(const absl::Status& error, GemmLookups* lookups,
                            const std::function<void()>& ask_all) {
  if (lookups == nullptr || !absl::IsNotFound(error)) return error;
  const int64_t measured = lookups->measured;
  const int64_t interpolated = lookups->interpolated;
  lookups->is_collecting = true;
  ask_all();
  lookups->is_collecting = false;
  lookups->measured = measured;
  lookups->interpolated = interpolated;
  const auto& sizes = lookups->missing_sizes;
  const auto& modes = lookups->missing_modes;
  if (sizes.size() < 2 && modes.size() < 2) return error;
  const std::string command = lookups->table->MeasureCommand(
      absl::StrJoin(sizes, ",",
                    [](std::string* out, const auto& s) {
                      absl::StrAppend(out, absl::StrJoin(s, "x"));
                    }),
      absl::StrJoin(modes, ","));
  if (command.empty()) return error;
  return absl::NotFoundError(
      absl::StrCat(error.message(), "\nall that is missing: ", command));
}

}  // namespace octet::tools
