// SPDX-License-Identifier: Apache-2.0

// Trains a Llama in float8: `train --help`.
//
// Exit status: 0 when the run is complete or was stopped by Ctrl-C (SIGINT or
// SIGTERM) after a checkpoint, 1 for a failure, 2 for wrong arguments. A run
// whose console cannot be written goes on and counts as complete: its record is
// metrics.jsonl.

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_join.h"
#include "float8/recipe.h"
#include "models/llama/config.h"
#include "train/job_config.h"
#include "train/job_model.h"
#include "train/run.h"
#include "train/run_folder.h"

namespace {

constexpr char kUsage[] =
    R"(Trains a Llama in float8.

  train                                    the default job, below
  train --data /my/texts                   the same on your own text
  train --config job.toml                  a job from a file
  train --training.steps=500 --resume      any key can be set here

The default job needs no GPU and no download: a small Llama learns bytes of
English text that every Debian machine carries, the licences in
/usr/share/common-licenses (package base-files, about 240 KB; links skipped).
It takes about two minutes on two cores and writes to ./outputs/train.

An unfinished run of the same job in that folder is continued from its last
checkpoint; any other earlier run is moved to previous-1, previous-2, ... in
it. Ctrl-C or SIGTERM writes a checkpoint and stops; again after more than a
second, it ends the run at once. One run at a time may write to a folder.

  --config FILE      a TOML file with the keys below, as [section] key = value
  --data PATH        data.path: a file, a folder or a pattern
  --device DEVICE    job.device: auto (a GPU if there is one), cpu, cuda or cuda:N
  --deterministic    the same bits on every run, on a GPU too
  --resume           go on from the last checkpoint, or fail
  --noresume         start anew
  --print_config     print the whole job as TOML and stop
  --help             this text

Exit status: 0 complete, or stopped by Ctrl-C after a checkpoint; 1 failure;
2 wrong arguments.
)";

std::atomic<bool> stop_requested{false};
std::atomic<int64_t> stop_requested_at{0};  // ms

// One request may come twice: `timeout` signals the program and its group.
constexpr int64_t kRepeatMs = 1000;

int64_t NowMs() {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1000000;
}

void RequestStop(int signal_number) {
  if (!stop_requested.exchange(true)) {
    stop_requested_at = NowMs();
  } else if (NowMs() - stop_requested_at > kRepeatMs) {
    signal(signal_number, SIG_DFL);
    raise(signal_number);  // comes once this returns
  }
}

std::string Help() {
  std::string text = kUsage;
  text += "\nPresets (model.flavor):\n";
  for (const octet::models::LlamaPreset& preset :
       octet::models::LlamaPresets()) {
    text += "  " + preset.name + std::string(11 - preset.name.size(), ' ') +
            preset.summary + "\n";
  }
  text += "\nRecipes (float8.recipe):\n  " +
          absl::StrJoin(octet::float8::RecipeNames(), ", ") +
          "\n\nKeys and their defaults:\n" + octet::train::KeysHelp();
  return text;
}

int Fail(const absl::Status& status, int code) {
  std::cerr << "train: " << status.message() << std::endl;
  return code;
}

int Print(const std::string& text) {
  std::cout << text << std::flush;
  if (std::cout) return 0;
  std::cerr << "train: cannot write to the standard output" << std::endl;
  return 1;
}

// OpenMP's threads spin while they wait, which costs a busy machine most of its
// time (six times slower where four programs share two cores). They can be told
// to sleep by the environment alone, before the program starts.
void StartAgainWithSleepingThreads(char** argv) {
  if (std::getenv("OMP_WAIT_POLICY") != nullptr) return;
  setenv("OMP_WAIT_POLICY", "passive", 1);
  execv("/proc/self/exe", argv);  // if it fails, the run is slower
}

}  // namespace

int main(int argc, char** argv) {
  StartAgainWithSleepingThreads(argv);
  // `bazel run` starts programs elsewhere; paths are meant from the caller's.
  const char* folder = std::getenv("BUILD_WORKING_DIRECTORY");
  if (folder != nullptr && chdir(folder) != 0) {
    std::cerr << "train: cannot enter " << folder << std::endl;
    return 1;
  }
  const auto arguments = octet::train::ParseArguments(
      std::vector<std::string>(argv + 1, argv + argc));
  if (!arguments.ok()) return Fail(arguments.status(), 2);
  octet::train::JobConfig config = arguments->config;
  if (arguments->help) return Print(Help());
  const absl::Status model = octet::train::CheckModel(config);
  if (!model.ok()) return Fail(model, 2);
  const absl::Status names = octet::train::CheckFolderNames(config);
  if (!names.ok()) return Fail(names, 2);
  if (config.job.print_config) {
    config.job.print_config = false;  // what is printed is a job to run
    return Print(octet::train::DumpToml(config));
  }
  signal(SIGINT, RequestStop);
  signal(SIGTERM, RequestStop);
  signal(SIGPIPE, SIG_IGN);  // the run goes on without its reader
  octet::train::RunHooks hooks;
  hooks.out = &std::cout;
  hooks.is_terminal = isatty(STDOUT_FILENO) != 0;
  hooks.stop = &stop_requested;
  hooks.config_files = arguments->config_files;
  const absl::Status status = octet::train::RunJob(config, hooks);
  if (!status.ok()) return Fail(status, 1);
  if (!std::cout) {
    std::cerr << "train: some of this run's console output could not be "
                 "written; metrics.jsonl has every step"
              << std::endl;
  }
  return 0;
}
