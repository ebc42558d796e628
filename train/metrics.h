// SPDX-License-Identifier: Apache-2.0

// What a run tells of each step: a console line, a bar, metrics.jsonl.
//
// tflops = flops_per_token * tokens/s / 1e12, where flops_per_token is
// 6 (N - N_embedding) + 12 L H head_dim T (torchtitan's convention: the causal
// half is not discounted, recompute not counted). MFU is that against the
// device's dense bf16 peak and is n/a where no peak is known, as on a CPU.
#ifndef OCTET_TRAIN_METRICS_H_
#define OCTET_TRAIN_METRICS_H_

#include <cstdint>
#include <fstream>
#include <optional>
#include <ostream>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace octet::train {

struct StepMetrics {
  int64_t step = 0;  // from 1
  int64_t steps = 0;
  double loss = 0;       // mean over the step's tokens, before the update
  double grad_norm = 0;  // before clipping
  double lr = 0;
  int64_t epoch = 0;
  int64_t tokens_seen = 0;
  bool skipped = false;  // not finite: the weights were left
  double seconds = 0;    // of the step
  double tokens_per_second = 0;
  double tflops = 0;
  double memory_gib = 0;  // peak, of the process (CPU) or the device
  std::optional<double> mfu = std::nullopt;  // of bf16's dense peak
  // Of a GPU, at the end of the step.
  std::optional<double> sm_mhz = std::nullopt;
  std::optional<double> watts = std::nullopt;
  std::optional<double> validation_loss = std::nullopt;
};

// "step  20/200  loss 3.1416  grad_norm 1.23  lr 3.0e-03  9,876 tokens/s  ..."
std::string ConsoleLine(const StepMetrics& metrics);

// One JSON object and no line end. Numbers that are not finite are null.
std::string JsonLine(const StepMetrics& metrics);

// Appends to a file of one object a line.
class MetricsFile {
 public:
  // Keeps the lines of steps up to `last_step`; those after it, and a line cut
  // short by a kill, are removed, so that each step stands in it once.
  static absl::StatusOr<MetricsFile> Open(const std::string& path,
                                          int64_t last_step);

  // Reaches the file before it returns.
  absl::Status Write(const StepMetrics& metrics);

 private:
  explicit MetricsFile(const std::string& path);

  std::string path_;
  std::ofstream file_;
};

// A bar on the last line of a terminal.
class ProgressBar {
 public:
  // Draws nothing if `visible` is false.
  ProgressBar(std::ostream* out, int64_t total, int64_t first, bool visible);
  ~ProgressBar();

  // Draws it for a step that has just ended.
  void Draw(const StepMetrics& metrics);
  // Takes it away, so that a line can be printed.
  void Clear();

 private:
  std::ostream* out_;
  int64_t total_;
  int64_t first_;
  bool visible_;
  bool drawn_ = false;
  double seconds_ = 0;
};

// Peak resident memory of this process.
double PeakProcessGib();

}  // namespace octet::train

#endif  // OCTET_TRAIN_METRICS_H_
