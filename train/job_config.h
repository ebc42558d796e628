// SPDX-License-Identifier: Apache-2.0

// A training job: a TOML file and command-line overrides, with torchtitan's
// names where it has one. The defaults are a whole job, which trains a small
// Llama on a CPU in a minute or two.
//
// One table (job_keys.h) drives parsing, --help and the dump.
#ifndef OCTET_TRAIN_JOB_CONFIG_H_
#define OCTET_TRAIN_JOB_CONFIG_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace octet::train {

// See job_keys.cc for what they mean.
struct JobConfig {
  struct {
    std::string dump_folder = "./outputs/train";
    std::string description;
    std::string device = "auto";
    bool print_config = false;
  } job;
  struct {
    std::string name = "llama3";
    std::string flavor = "tiny";
    int64_t num_layers = 0;
  } model;
  struct {
    std::string path = "/usr/share/common-licenses";
    std::string format = "auto";
    std::string validation_path;
    double validation_fraction = 0.05;
    bool shuffle = true;
  } data;
  struct {
    std::string name = "AdamW";
    double lr = 1.5e-3;
    double beta1 = 0.9;
    double beta2 = 0.95;
    double eps = 1e-8;
    double weight_decay = 0.1;
    std::string state_dtype = "float32";
  } optimizer;
  struct {
    int64_t warmup_steps = 20;
    double decay_ratio = -1;
    std::string decay_type = "linear";
    double min_lr_factor = 0;
  } lr_scheduler;
  struct {
    int64_t local_batch_size = 8;
    int64_t global_batch_size = -1;
    int64_t seq_len = 256;
    int64_t steps = 300;
    double max_norm = 1.0;
    int64_t seed = 42;
    std::string mixed_precision_param = "bfloat16";
    std::string dtype = "float32";
    std::string gradient_dtype = "float32";
    bool deterministic = false;
    std::string nonfinite = "stop";
    int64_t loss_chunk = 0;
  } training;
  struct {
    std::string mode = "auto";
  } activation_checkpoint;
  struct {
    std::string recipe = "tensorwise";
    std::vector<std::string> filter_fqns = {"lm_head"};
    std::string gemm_cache_path;
    // For float8::ApplyOverride: ("forward.fast_accumulation", "false").
    std::vector<std::pair<std::string, std::string>> overrides;
  } float8;
  struct {
    bool enable = true;
    std::string folder = "checkpoint";
    int64_t interval = 100;
    int64_t keep_latest_k = 10;
    std::string resume = "auto";
    std::string initial_load_path;
    bool last_save_in_hf = true;
  } checkpoint;
  struct {
    int64_t log_freq = 10;
    std::string progress = "auto";
    double peak_tflops = 0;
  } metrics;
  struct {
    bool enable = true;
    int64_t freq = 100;
    int64_t steps = -1;
  } validation;
  struct {
    int64_t tokens = 300;
    std::string prompt = "This program is ";
    double temperature = 0.8;
  } sample;
};

struct JobArguments {
  JobConfig config;
  std::vector<std::string> config_files;  // the values of --config
  bool help = false;
};

// The arguments after the program's name:
//
//   --config FILE           read first, wherever it stands
//   --section.key=value     or --section.key value; lists with commas
//   --section.key           true;  --section.no_key is false
//   --data, --device        data.path, job.device
//   --resume, --noresume    checkpoint.resume = "always", "never"
//   --deterministic, --print_config, --help
//
// InvalidArgument names the key, the value and what would be right.
absl::StatusOr<JobArguments> ParseArguments(absl::Span<const std::string> args);

// Sets what a TOML text says; `name` (its path) stands in messages.
absl::Status ApplyToml(absl::string_view text, absl::string_view name,
                       JobConfig* config);

// Sets one key, "training.steps", from its text.
absl::Status SetKey(absl::string_view key, absl::string_view value,
                    JobConfig* config);

// What no single key shows: batches that do not divide, a float8 mix that no
// device runs, and such.
absl::Status Validate(const JobConfig& config);

// The whole job as TOML, which parses back to the same job.
std::string DumpToml(const JobConfig& config);

// "training.seq_len is 128, was 256" for each key that a run may not change.
std::vector<std::string> Differences(const JobConfig& now,
                                     const JobConfig& before);

// What --help prints after the usage: every key, its default, one line.
std::string KeysHelp();

}  // namespace octet::train

#endif  // OCTET_TRAIN_JOB_CONFIG_H_
