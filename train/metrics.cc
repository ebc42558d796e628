// SPDX-License-Identifier: Apache-2.0

#include "train/metrics.h"

#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "io/atomic_file.h"
#include "io/file.h"
#include "io/json.h"

namespace octet::train {
namespace {

constexpr int kBarWidth = 30;

// 12345 as "12,345".
std::string WithCommas(double value) {
  std::string digits = absl::StrCat(std::llround(value));
  for (int64_t i = digits.size() - 3; i > 0; i -= 3) digits.insert(i, ",");
  return digits;
}

std::string Duration(double seconds) {
  const int64_t s = std::llround(seconds);
  return s < 3600
             ? absl::StrFormat("%d:%02d", s / 60, s % 60)
             : absl::StrFormat("%d:%02d:%02d", s / 3600, s / 60 % 60, s % 60);
}

// The step of a line, or -1 for what is no whole line of ours.
int64_t StepOfLine(absl::string_view line) {
  const auto json = io::ParseJson(line, "line");
  if (!json.ok()) return -1;
  const auto step = io::GetInt(*json, "step", "line");
  return step.ok() ? *step : -1;
}

}  // namespace

std::string ConsoleLine(const StepMetrics& m) {
  const int width = absl::StrCat(m.steps).size();
  std::string line = absl::StrFormat(
      "step %*d/%d  loss %.4f  grad_norm %.3f  lr %.2e  %s tokens/s  "
      "%.4g TFLOP/s",
      width, m.step, m.steps, m.loss, m.grad_norm, m.lr,
      WithCommas(std::isfinite(m.tokens_per_second) ? m.tokens_per_second : 0),
      m.tflops);
  absl::StrAppend(
      &line, "  MFU ",
      m.mfu ? absl::StrFormat("%.1f%% of bf16 peak", 100 * *m.mfu) : "n/a",
      absl::StrFormat("  memory %.2f GiB", m.memory_gib));
  if (m.epoch > 0) absl::StrAppend(&line, "  epoch ", m.epoch);
  if (m.skipped) absl::StrAppend(&line, "  SKIPPED: not finite");
  if (m.validation_loss) {
    absl::StrAppend(
        &line, absl::StrFormat("  validation loss %.4f", *m.validation_loss));
  }
  return line;
}

std::string JsonLine(const StepMetrics& m) {
  io::Json json = {{"step", m.step},
                   {"loss", m.loss},
                   {"grad_norm", m.grad_norm},
                   {"lr", m.lr},
                   {"epoch", m.epoch},
                   {"tokens_seen", m.tokens_seen},
                   {"skipped", m.skipped},
                   {"seconds", m.seconds},
                   {"tokens_per_second", m.tokens_per_second},
                   {"tflops", m.tflops},
                   {"memory_gib", m.memory_gib}};
  if (m.mfu) json["mfu"] = *m.mfu;
  if (m.sm_mhz) json["sm_mhz"] = *m.sm_mhz;
  if (m.watts) json["watts"] = *m.watts;
  if (m.validation_loss) json["validation_loss"] = *m.validation_loss;
  return io::DumpJson(json);
}

MetricsFile::MetricsFile(const std::string& path)
    : path_(path), file_(path, std::ios::binary | std::ios::app) {}

absl::StatusOr<MetricsFile> MetricsFile::Open(const std::string& path,
                                              int64_t last_step) {
  std::error_code error;
  if (std::filesystem::exists(path, error)) {
    OCTET_ASSIGN_OR_RETURN(const std::string text, io::ReadFile(path));
    std::string kept;
    for (const absl::string_view line :
         absl::StrSplit(text, '\n', absl::SkipEmpty())) {
      const int64_t step = StepOfLine(line);
      if (step >= 0 && step <= last_step) absl::StrAppend(&kept, line, "\n");
    }
    if (kept != text) OCTET_RETURN_IF_ERROR(io::WriteFile(path, kept));
  }
  MetricsFile file(path);
  if (!file.file_) {
    return absl::PermissionDeniedError(
        absl::StrCat("cannot write ", path, ": ", std::strerror(errno)));
  }
  return file;
}

absl::Status MetricsFile::Write(const StepMetrics& metrics) {
  file_ << JsonLine(metrics) << '\n' << std::flush;
  if (!file_) {
    return absl::ResourceExhaustedError(
        absl::StrCat("cannot write ", path_, ": ", std::strerror(errno)));
  }
  return absl::OkStatus();
}

ProgressBar::ProgressBar(std::ostream* out, int64_t total, int64_t first,
                         bool visible)
    : out_(out), total_(total), first_(first), visible_(visible) {}

ProgressBar::~ProgressBar() { Clear(); }

void ProgressBar::Draw(const StepMetrics& m) {
  seconds_ += m.seconds;
  if (!visible_) return;
  const int filled = static_cast<int>(kBarWidth * m.step / total_);
  const double left =
      seconds_ / std::max<int64_t>(1, m.step - first_) * (total_ - m.step);
  *out_ << "\r\033[K["
        << std::string(filled, '=') + std::string(kBarWidth - filled, ' ')
        << "] " << 100 * m.step / total_ << "%  step " << m.step << "/"
        << total_ << absl::StrFormat("  loss %.3f", m.loss) << "  "
        << Duration(left) << " left" << std::flush;
  drawn_ = true;
}

void ProgressBar::Clear() {
  if (drawn_) *out_ << "\r\033[K" << std::flush;
  drawn_ = false;
}

double PeakProcessGib() {
  struct rusage usage;
  if (getrusage(RUSAGE_SELF, &usage) != 0) return 0;
  return usage.ru_maxrss / 1048576.0;  // kilobytes
}

}  // namespace octet::train
