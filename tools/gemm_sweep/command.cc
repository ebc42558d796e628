// SPDX-License-Identifier: Apache-2.0
#include "tools/gemm_sweep/command.h"

#include <array>
#include <iostream>
#include <set>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "base/device.h"
#include "base/device_runtime.h"
#include "base/dtype.h"
#include "base/status_macros.h"
#include "base/stream.h"
#include "io/atomic_file.h"
#include "roofline/gemm_time.h"
#include "roofline/hardware.h"
#include "roofline/hardware_file.h"
#include "tools/gemm_sweep/calibrate.h"
#include "tools/gemm_sweep/measure.h"
#include "tools/gemm_sweep/sweep_file.h"
#include "tools/roofline/input/shapes.h"

namespace octet::tools {
namespace {

constexpr absl::string_view kAllModes =
    "bf16,tensor_fast,tensor,row_fast,row,block128,block1x128";

constexpr absl::string_view kModel = "llama3_8b";

std::string Help() {
  std::vector<absl::string_view> modes;
  for (const roofline::GemmMode& mode : roofline::GemmModes()) {
    modes.push_back(mode.name);
  }
  return absl::StrCat(
      "usage: gemm_sweep --outfile=FILE.csv [FLAGS]\n"
      "       gemm_sweep --calibrate=FILE.toml [--device=] [--seconds=]\n"
      "\n"
      "Times scaled products and appends a row for each to FILE.csv. Rows that "
      "are there\n"
      "already are not measured again, so a sweep that was stopped goes on.\n"
      "\n"
      "--calibrate measures the device's copies, launches and products, and "
      "writes what\n"
      "roofline --hardware=FILE.toml reads.\n"
      "\n"
      "  --device=auto|cpu|cuda|cuda:N\n"
      "  --modes=",
      kAllModes, "\n", "                           of ",
      absl::StrJoin(modes, ", "),
      "\n"
      "  --gemms=auto|linear|given   the three products of a linear layer's "
      "forward and\n"
      "                           backward for each shape, or one of these "
      "sizes; auto: one\n"
      "                           for shapes written as MxKxN, else three\n"
      "  --out=bf16|f32           dtype of the result\n"
      "  --seconds=0.2            for each product\n",
      ShapeUsage(),
      "\n"
      "A model's layers are also measured as this engine multiplies them: q, "
      "k and v as one,\n"
      "and gate and up.\n"
      "\n"
      "examples:\n"
      "  gemm_sweep --outfile=h200.csv --shapes=llama3_8b\n"
      "  gemm_sweep --outfile=h200.csv --shapes=sweep --min_size=512 "
      "--max_size=16384\n"
      "  gemm_sweep --outfile=cpu.csv --device=cpu --shapes=256x256x256 "
      "--modes=bf16,tensor\n"
      "Exit codes: 0 done, 1 failed, 2 wrong command line.\n");
}

std::vector<FlagSpec> Flags() {
  std::vector<FlagSpec> flags = {{"outfile"},  {"device"}, {"modes"},
                                 {"gemms"},    {"out"},    {"seconds"},
                                 {"calibrate"}};
  flags.insert(flags.end(), ShapeFlags().begin(), ShapeFlags().end());
  return flags;
}

absl::StatusOr<std::vector<roofline::GemmMode>> ModesOf(
    const CommandLine& line) {
  std::vector<roofline::GemmMode> modes;
  std::vector<absl::string_view> names;
  for (const roofline::GemmMode& mode : roofline::GemmModes()) {
    names.push_back(mode.name);
  }
  const std::string wanted = line.Get("modes", kAllModes);
  for (const absl::string_view name : absl::StrSplit(wanted, ',')) {
    const size_t before = modes.size();
    for (const roofline::GemmMode& mode : roofline::GemmModes()) {
      if (mode.name == name) modes.push_back(mode);
    }
    if (modes.size() == before) {
      return absl::InvalidArgumentError(
          absl::StrCat("--modes=", wanted, ": \"", name, "\" is none of ",
                       absl::StrJoin(names, ", ")));
    }
  }
  return modes;
}

absl::StatusOr<bool> HasThree(const CommandLine& line) {
  OCTET_ASSIGN_OR_RETURN(const std::string gemms,
                         line.GetChoice("gemms", {"auto", "linear", "given"}));
  if (gemms != "auto") return gemms == "linear";
  const std::string shapes = line.Get("shapes", "");
  return !line.Has("M") && (shapes.empty() || !absl::ascii_isdigit(shapes[0]));
}

// Each once, in order.
absl::StatusOr<std::vector<GemmCase>> CasesOf(const CommandLine& line) {
  OCTET_ASSIGN_OR_RETURN(const std::vector<roofline::GemmMode> modes,
                         ModesOf(line));
  OCTET_ASSIGN_OR_RETURN(std::vector<LayerShape> shapes,
                         ShapesOf(line, kModel));
  OCTET_ASSIGN_OR_RETURN(const std::vector<LayerShape> fused,
                         FusedShapesOf(line, kModel));
  shapes.insert(shapes.end(), fused.begin(), fused.end());
  OCTET_ASSIGN_OR_RETURN(const bool has_three, HasThree(line));
  std::set<std::array<int64_t, 3>> seen;
  std::vector<GemmCase> cases;
  for (const LayerShape& shape : shapes) {
    const auto [m, k, n] = shape.sizes;
    // Output, gradient of the input, gradient of the weight.
    const std::vector<std::array<int64_t, 3>> all = {
        {m, k, n}, {m, n, k}, {k, m, n}};
    for (size_t i = 0; i < (has_three ? 3 : 1); ++i) {
      if (!seen.insert(all[i]).second) continue;
      for (const roofline::GemmMode& mode : modes) {
        cases.push_back({mode, all[i][0], all[i][1], all[i][2]});
      }
    }
  }
  return cases;
}

// Where to measure.
struct Target {
  Stream stream;
  std::string description;
};

absl::StatusOr<Target> TargetOf(const CommandLine& line) {
  Target target;
  OCTET_ASSIGN_OR_RETURN(const Device device,
                         ResolveDevice(line.Get("device", "auto")));
  OCTET_ASSIGN_OR_RETURN(target.stream, Stream::Create(device));
  OCTET_ASSIGN_OR_RETURN(const DeviceRuntime* runtime,
                         GetDeviceRuntime(device.kind));
  OCTET_ASSIGN_OR_RETURN(target.description, runtime->describe(device.index));
  return target;
}

struct Sweep {
  std::vector<GemmCase> cases;
  MeasureOptions options;
  std::string path;
  Target target;
};

absl::StatusOr<Sweep> SweepOf(const CommandLine& line) {
  Sweep sweep;
  if (line.words.size() > (line.Has("outfile") ? 0u : 1u)) {
    return absl::InvalidArgumentError(
        absl::StrCat("unexpected argument \"", line.words.back(), "\""));
  }
  sweep.path = line.words.empty() ? line.Get("outfile", "") : line.words[0];
  if (sweep.path.empty()) {
    return absl::InvalidArgumentError("--outfile=FILE.csv is missing");
  }
  OCTET_ASSIGN_OR_RETURN(const std::string out,
                         line.GetChoice("out", {"bf16", "f32"}));
  sweep.options.out = out == "f32" ? DType::kF32 : DType::kBf16;
  OCTET_ASSIGN_OR_RETURN(sweep.options.seconds,
                         line.GetDouble("seconds", 0.2, 0.0, 3600.0));
  OCTET_ASSIGN_OR_RETURN(sweep.cases, CasesOf(line));
  OCTET_ASSIGN_OR_RETURN(sweep.target, TargetOf(line));
  return sweep;
}

// What the device cannot do is a row; anything else ends the sweep.
bool IsRefusal(const absl::Status& status) {
  return absl::IsUnimplemented(status) || absl::IsInvalidArgument(status) ||
         absl::IsResourceExhausted(status);
}

struct Counts {
  int64_t measured = 0, refused = 0, skipped = 0;
};

absl::Status RunCase(const Sweep& sweep, const GemmCase& gemm, SweepFile* file,
                     Counts* counts) {
  if (file->Has(gemm)) {
    ++counts->skipped;
    return absl::OkStatus();
  }
  std::cerr << absl::StrFormat("%-11s %dx%dx%d  ", gemm.mode.name, gemm.m,
                               gemm.k, gemm.n)
            << std::flush;
  const absl::StatusOr<MeasuredGemm> measured =
      MeasureGemm(sweep.target.stream, gemm, sweep.options);
  if (!measured.ok()) {
    std::cerr << measured.status().message() << "\n";
    if (!IsRefusal(measured.status())) return measured.status();
    ++counts->refused;
    return file->AddRefused(gemm, std::string(measured.status().message()));
  }
  std::cerr << absl::StrFormat("%.3f us\n", measured->seconds * 1e6);
  ++counts->measured;
  return file->Add(gemm, *measured);
}

absl::StatusOr<std::string> Run(const Sweep& sweep) {
  OCTET_ASSIGN_OR_RETURN(SweepFile file,
                         SweepFile::Open(sweep.path, sweep.target.description));
  if (file.bytes_cut() > 0) {
    std::cerr << "gemm_sweep: " << sweep.path << ": the last line was not "
              << "whole; cut " << file.bytes_cut() << " bytes\n";
  }
  Counts counts;
  for (const GemmCase& gemm : sweep.cases) {
    OCTET_RETURN_IF_ERROR(RunCase(sweep, gemm, &file, &counts));
  }
  if (counts.measured + counts.skipped == 0 && counts.refused > 0) {
    return absl::UnimplementedError(
        absl::StrCat(sweep.target.description, ": all ", counts.refused,
                     " products are refused; ", sweep.path, " says why"));
  }
  return absl::StrCat(sweep.target.description, ": measured ", counts.measured,
                      ", refused ", counts.refused, ", there already ",
                      counts.skipped, "; ", sweep.path, "\n");
}

absl::StatusOr<std::string> RunCalibrate(const CommandLine& line) {
  const std::string path = line.Get("calibrate", "");
  if (path.empty()) {
    return absl::InvalidArgumentError("--calibrate= names no file");
  }
  if (line.Has("outfile") || !line.words.empty()) {
    return absl::InvalidArgumentError(
        "--calibrate and --outfile do not go together");
  }
  for (const FlagSpec& flag : Flags()) {
    const bool is_used = flag.name == "calibrate" || flag.name == "device" ||
                         flag.name == "seconds";
    if (line.Has(flag.name) && !is_used) {
      return absl::InvalidArgumentError(
          absl::StrCat("--calibrate and --", flag.name,
                       " do not go together: it chooses its products"));
    }
  }
  CalibrateOptions options;
  OCTET_ASSIGN_OR_RETURN(options.seconds,
                         line.GetDouble("seconds", 0.2, 0.0, 3600.0));
  OCTET_ASSIGN_OR_RETURN(const Target target, TargetOf(line));
  OCTET_RETURN_IF_ERROR(io::CheckWritable(path));
  OCTET_ASSIGN_OR_RETURN(const roofline::Hardware hardware,
                         Calibrate(target.stream, target.description, options));
  OCTET_RETURN_IF_ERROR(roofline::WriteHardware(hardware, path));
  return absl::StrCat(target.description, ": wrote ", path, "\n");
}

CommandResult Usage(const absl::Status& status) {
  return {2, "",
          absl::StrCat("gemm_sweep: ", status.message(),
                       "\ngemm_sweep --help says what there is.\n")};
}

CommandResult Failed(const absl::Status& status) {
  return {1, "", absl::StrCat("gemm_sweep: ", status.message(), "\n")};
}

}  // namespace

CommandResult RunGemmSweep(absl::Span<const std::string> arguments) {
  for (const std::string& argument : arguments) {
    if (argument == "--help" || argument == "-h") return {0, Help(), ""};
  }
  const absl::StatusOr<CommandLine> line =
      ParseCommandLine("gemm_sweep", Flags(), arguments);
  if (!line.ok()) return Usage(line.status());
  absl::StatusOr<std::string> out;
  if (line->Has("calibrate")) {
    out = RunCalibrate(*line);
    if (absl::IsInvalidArgument(out.status())) return Usage(out.status());
  } else {
    const absl::StatusOr<Sweep> sweep = SweepOf(*line);
    if (absl::IsInvalidArgument(sweep.status())) return Usage(sweep.status());
    out = sweep.ok() ? Run(*sweep) : sweep.status();
  }
  if (!out.ok()) return Failed(out.status());
  return {0, *std::move(out), ""};
}

}  // namespace octet::tools
