// SPDX-License-Identifier: Apache-2.0

#include "train/run.h"

#include <chrono>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/device.h"
#include "base/device_runtime.h"
#include "base/parallel.h"
#include "base/status_macros.h"
#include "base/stream.h"
#include "io/atomic_file.h"
#include "models/llama/config.h"
#include "train/checkpoint.h"
#include "train/job_model.h"
#include "train/metrics.h"
#include "train/plan/memory_plan.h"
#include "train/plan/mfu.h"
#include "train/run_device.h"
#include "train/run_folder.h"
#include "train/run_resume.h"
#include "train/run_sample.h"
#include "train/run_state.h"
#include "train/sample.h"
#include "train/step.h"
#include "train/tokens.h"

namespace octet::train {
namespace {

using Clock = std::chrono::steady_clock;

// A state that skipping does not heal is given up after so many steps.
constexpr int64_t kMaxSkippedInARow = 10;

double Since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

class Run {
 public:
  Run(const JobConfig& config, const RunHooks& hooks)
      : config_(config), hooks_(hooks) {}

  absl::Status Execute();

 private:
  void Say(absl::string_view label, absl::string_view text) {
    if (bar_) bar_->Clear();
    *hooks_.out << absl::StrFormat("%-11s", label) << text << std::endl;
  }
  bool IsStopped() const { return hooks_.stop != nullptr && *hooks_.stop; }

  absl::Status OpenData();
  absl::Status OpenModel();
  // Goes on from a checkpoint (resume_), or moves an earlier run away.
  absl::Status ChooseStart();
  absl::Status SayStart();
  absl::Status Loop();
  absl::Status OneStep();
  absl::Status HandleNonFinite(const TrainerState& before,
                               const StepMetrics& metrics);
  absl::StatusOr<std::optional<double>> MaybeValidate(int64_t step);
  absl::Status Save();
  void SayStopped();
  absl::Status Finish();
  absl::Status Sample();

  JobConfig config_;
  RunHooks hooks_;
  Clock::time_point begin_ = Clock::now();
  Stream stream_;
  models::LlamaConfig model_config_;
  MemoryPlan plan_;
  std::string memory_text_;
  std::string gemm_text_;
  std::optional<double> peak_tflops_;
  std::unique_ptr<TokenData> data_;
  RunFolder folder_;
  std::optional<FoundCheckpoint> resume_;
  std::unique_ptr<JobModel> model_;
  std::unique_ptr<Trainer> trainer_;
  std::unique_ptr<MetricsFile> metrics_;
  std::unique_ptr<ProgressBar> bar_;
  int64_t saved_step_ = 0;
  int64_t skipped_in_a_row_ = 0;
  std::optional<double> first_loss_;
  double last_loss_ = 0;
  std::optional<double> validation_loss_;
  double training_seconds_ = 0;
  int64_t trained_tokens_ = 0;
  int64_t steps_run_ = 0;
  // Since the last console line.
  double logged_seconds_ = 0;
  int64_t logged_steps_ = 0;
};

absl::Status Run::Execute() {
  OCTET_ASSIGN_OR_RETURN(const Device device,
                         ResolveDevice(config_.job.device));
  OCTET_ASSIGN_OR_RETURN(stream_, Stream::Create(device));
  OCTET_ASSIGN_OR_RETURN(model_config_, MakeModelConfig(config_));
  OCTET_ASSIGN_OR_RETURN(const std::optional<double> memory,
                         FreeMemory(device));
  OCTET_ASSIGN_OR_RETURN(
      plan_, PlanMemory(config_, model_config_, device.kind, memory));
  if (memory) {
    OCTET_ASSIGN_OR_RETURN(memory_text_, CheckMemory(plan_, *memory));
  }
  OCTET_RETURN_IF_ERROR(OpenData());
  OCTET_ASSIGN_OR_RETURN(folder_, OpenRunFolder(config_));
  OCTET_RETURN_IF_ERROR(OpenModel());
  OCTET_RETURN_IF_ERROR(ChooseStart());
  OCTET_RETURN_IF_ERROR(WriteJob(&folder_, config_, hooks_.config_files));
  OCTET_ASSIGN_OR_RETURN(
      MetricsFile metrics,
      MetricsFile::Open(folder_.metrics, trainer_->state().step));
  metrics_ = std::make_unique<MetricsFile>(std::move(metrics));
  OCTET_RETURN_IF_ERROR(SayStart());
  OCTET_RETURN_IF_ERROR(Loop());
  if (trainer_->state().step < config_.training.steps) {
    SayStopped();
    return absl::OkStatus();
  }
  return Finish();
}

void Run::SayStopped() {
  const int64_t step = trainer_->state().step;
  if (step == 0) {
    Say("stopped", "before the first step; nothing was trained");
    return;
  }
  absl::string_view next = "; without checkpoints nothing was kept";
  if (config_.checkpoint.enable) {
    next = config_.checkpoint.resume == "never"
               ? "; the same command without --noresume goes on from here"
               : "; the same command goes on from here";
  }
  Say("stopped",
      absl::StrCat("after step ", step, " of ", config_.training.steps, next));
}

absl::Status Run::OpenData() {
  TokenDataOptions options;
  options.path = config_.data.path;
  options.format = config_.data.format;
  options.validation_path = config_.data.validation_path;
  options.validation_fraction =
      config_.validation.enable ? config_.data.validation_fraction : 0;
  options.seq_len = config_.training.seq_len;
  options.vocab_size = model_config_.vocab_size;
  options.seed = config_.training.seed;
  options.shuffle = config_.data.shuffle;
  OCTET_ASSIGN_OR_RETURN(TokenData data, TokenData::Open(options));
  data_ = std::make_unique<TokenData>(std::move(data));
  return absl::OkStatus();
}

absl::Status Run::OpenModel() {
  OCTET_ASSIGN_OR_RETURN(
      gemm_text_,
      LoadGemmCache(stream_.device(), config_.float8.gemm_cache_path));
  OCTET_ASSIGN_OR_RETURN(model_, JobModel::Create(stream_, config_, plan_));
  OCTET_ASSIGN_OR_RETURN(
      Trainer trainer,
      Trainer::Create(stream_, MakeTrainerOptions(config_),
                      model_->step_model(), model_->store(), data_.get()));
  trainer_ = std::make_unique<Trainer>(std::move(trainer));
  return absl::OkStatus();
}

absl::Status Run::ChooseStart() {
  OCTET_ASSIGN_OR_RETURN(ResumeChoice choice, ChooseResume(config_, folder_));
  if (choice.from) {
    resume_ = *std::move(choice.from);
    saved_step_ = resume_->step;
    return ExplainDamage(
        RestoreRun(stream_, resume_->path, trainer_.get(), model_.get()),
        *resume_);
  }
  OCTET_ASSIGN_OR_RETURN(const std::string moved,
                         MoveEarlierRun(&folder_, hooks_.config_files));
  if (!moved.empty()) {
    Say("earlier",
        absl::StrCat("run moved to ", moved, ", not resumed: ", choice.reason));
  }
  return absl::OkStatus();
}

absl::Status Run::SayStart() {
  OCTET_ASSIGN_OR_RETURN(const DeviceRuntime* runtime,
                         GetDeviceRuntime(stream_.device().kind));
  OCTET_ASSIGN_OR_RETURN(const std::string description,
                         runtime->describe(stream_.device().index));
  if (!config_.job.description.empty()) Say("job", config_.job.description);
  const bool is_cpu = stream_.device().kind == DeviceKind::kCpu;
  Say("device", absl::StrCat(stream_.device().ToString(), is_cpu ? "" : ": ",
                             is_cpu ? "" : description, ", ", NumThreads(),
                             " CPU threads"));
  Say("data", data_->ToString());
  Say("model", model_->Describe());
  OCTET_ASSIGN_OR_RETURN(const std::string layers, model_->DescribeLayers());
  Say("float8", absl::StrCat("recipe ", config_.float8.recipe));
  *hooks_.out << layers << (absl::EndsWith(layers, "\n") ? "" : "\n");
  const auto& t = config_.training;
  peak_tflops_ = PeakTflops(config_.metrics.peak_tflops, description);
  Say("FLOPs", DescribeFlops(models::FlopsPerToken(model_config_, t.seq_len),
                             peak_tflops_));
  if (!memory_text_.empty()) Say("memory", "needs " + memory_text_);
  if (!gemm_text_.empty()) Say("algorithms", gemm_text_);
  if (config_.validation.enable &&
      data_->validation_size() < t.local_batch_size) {
    Say("validation",
        absl::StrCat("none: ", data_->validation_size(),
                     " windows are held out, a batch needs ",
                     t.local_batch_size, " (data.validation_fraction)"));
  }
  Say("training",
      absl::StrCat(t.steps, " steps of ", trainer_->tokens_per_step(),
                   " tokens (", MicroBatches(config_), " x ",
                   t.local_batch_size, " x ", t.seq_len, "), ",
                   t.mixed_precision_param, ", seed ", t.seed));
  Say("outputs", folder_.root);
  if (resume_) {
    for (const std::string& skipped : resume_->skipped) {
      Say("skipped", skipped);
    }
    Say("resumed", absl::StrCat(resume_->path, " (--noresume starts anew)"));
  }
  return absl::OkStatus();
}

absl::Status Run::Loop() {
  const std::string& progress = config_.metrics.progress;
  bar_ = std::make_unique<ProgressBar>(
      hooks_.out, config_.training.steps, trainer_->state().step,
      progress == "on" || (progress == "auto" && hooks_.is_terminal));
  while (trainer_->state().step < config_.training.steps && !IsStopped()) {
    OCTET_RETURN_IF_ERROR(OneStep());
    if (trainer_->state().step % config_.checkpoint.interval == 0) {
      OCTET_RETURN_IF_ERROR(Save());
    }
  }
  bar_->Clear();
  return Save();
}

absl::Status Run::OneStep() {
  const TrainerState before = trainer_->state();
  const Clock::time_point begin = Clock::now();
  OCTET_ASSIGN_OR_RETURN(const StepResult result, trainer_->Step());
  StepMetrics m;
  m.seconds = Since(begin);
  m.step = trainer_->state().step;
  m.steps = config_.training.steps;
  m.loss = result.loss;
  m.grad_norm = result.grad_norm;
  m.lr = result.lr;
  m.epoch = result.epoch;
  m.tokens_seen = m.step * trainer_->tokens_per_step();
  m.skipped = !result.is_finite;
  m.tokens_per_second = trainer_->tokens_per_step() / m.seconds;
  const double flops_per_token = static_cast<double>(
      models::FlopsPerToken(model_config_, config_.training.seq_len));
  m.tflops = flops_per_token * m.tokens_per_second / 1e12;
  m.mfu = Mfu(m.tflops, peak_tflops_);
  OCTET_RETURN_IF_ERROR(ReadDevice(stream_.device(), &m));
  OCTET_ASSIGN_OR_RETURN(m.validation_loss, MaybeValidate(m.step));
  OCTET_RETURN_IF_ERROR(metrics_->Write(m));

  training_seconds_ += m.seconds;
  trained_tokens_ += trainer_->tokens_per_step();
  if (++steps_run_ == 1) {
    OCTET_RETURN_IF_ERROR(
        SaveGemmCache(stream_.device(), config_.float8.gemm_cache_path));
  }
  logged_seconds_ += m.seconds;
  ++logged_steps_;
  if (!first_loss_) first_loss_ = m.loss;
  last_loss_ = m.loss;
  const bool is_logged = m.step == 1 || m.step == m.steps ||
                         m.step % config_.metrics.log_freq == 0 || m.skipped ||
                         m.validation_loss.has_value();
  bar_->Draw(m);
  if (is_logged) {
    StepMetrics line = m;
    line.tokens_per_second =
        logged_steps_ * trainer_->tokens_per_step() / logged_seconds_;
    line.tflops = flops_per_token * line.tokens_per_second / 1e12;
    line.mfu = Mfu(line.tflops, peak_tflops_);
    bar_->Clear();
    *hooks_.out << ConsoleLine(line) << std::endl;
    bar_->Draw(m);
    logged_seconds_ = 0;
    logged_steps_ = 0;
  }
  return HandleNonFinite(before, m);
}

absl::Status Run::HandleNonFinite(const TrainerState& before,
                                  const StepMetrics& metrics) {
  skipped_in_a_row_ = metrics.skipped ? skipped_in_a_row_ + 1 : 0;
  const bool goes_on = config_.training.nonfinite == "skip" &&
                       skipped_in_a_row_ < kMaxSkippedInARow;
  if (!metrics.skipped || goes_on) return absl::OkStatus();
  trainer_->set_state(before);
  OCTET_RETURN_IF_ERROR(Save());
  return absl::OutOfRangeError(absl::StrCat(
      "step ", metrics.step, ": loss is ", metrics.loss, ", gradient norm is ",
      metrics.grad_norm,
      config_.training.nonfinite == "skip"
          ? absl::StrCat(", as for ", kMaxSkippedInARow, " steps in a row")
          : std::string(" (--training.nonfinite=skip goes on)"),
      "; the weights are those before it"));
}

absl::StatusOr<std::optional<double>> Run::MaybeValidate(int64_t step) {
  const auto& v = config_.validation;
  const bool is_due = step % v.freq == 0 || step == config_.training.steps;
  if (!v.enable || !is_due ||
      data_->validation_size() < config_.training.local_batch_size) {
    return std::optional<double>();
  }
  OCTET_ASSIGN_OR_RETURN(const double loss, trainer_->ValidationLoss(v.steps));
  validation_loss_ = loss;
  return validation_loss_;
}

absl::Status Run::Save() {
  const int64_t step = trainer_->state().step;
  if (!config_.checkpoint.enable || step == saved_step_) {
    return absl::OkStatus();
  }
  OCTET_ASSIGN_OR_RETURN(
      const SavedCheckpoint saved,
      SaveRun(stream_, folder_.checkpoint, config_.checkpoint.keep_latest_k,
              *trainer_, model_.get()));
  saved_step_ = step;
  Say("checkpoint", saved.path);
  for (const std::string& message : saved.messages) Say("", message);
  return absl::OkStatus();
}

absl::Status Run::Finish() {
  if (config_.checkpoint.last_save_in_hf) {
    OCTET_RETURN_IF_ERROR(model_->SaveHuggingFace(folder_.model));
    Say("weights", absl::StrCat(folder_.model, " (opens in Hugging Face)"));
  }
  OCTET_RETURN_IF_ERROR(Sample());
  Say("metrics", folder_.metrics);
  if (first_loss_) {
    std::string text =
        absl::StrFormat("loss %.4f -> %.4f", *first_loss_, last_loss_);
    if (validation_loss_) {
      absl::StrAppendFormat(&text, ", validation %.4f", *validation_loss_);
    }
    absl::StrAppendFormat(&text,
                          "; %d tokens in %.1f s of training (%.0f tokens/s)",
                          trained_tokens_, training_seconds_,
                          trained_tokens_ / training_seconds_);
    Say("result", text);
  }
  Say("done", absl::StrFormat("in %.1f s", Since(begin_)));
  return absl::OkStatus();
}

absl::Status Run::Sample() {
  if (config_.sample.tokens == 0) return absl::OkStatus();
  if (data_->format() != "text") {
    Say("sample", absl::StrCat("none: tokens of ", data_->format(),
                               " data are not text"));
    return absl::OkStatus();
  }
  OCTET_ASSIGN_OR_RETURN(const std::string text,
                         WriteOn(config_, stream_.device(), model_.get()));
  OCTET_RETURN_IF_ERROR(io::WriteFile(folder_.sample, text));
  Say("sample", folder_.sample);
  *hooks_.out << "---\n" << Printable(text) << "---\n";
  return absl::OkStatus();
}

}  // namespace

absl::Status RunJob(const JobConfig& config, const RunHooks& hooks) {
  OCTET_RETURN_IF_ERROR(Validate(config));
  return Run(config, hooks).Execute();
}

}  // namespace octet::train
