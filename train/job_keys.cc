// SPDX-License-Identifier: Apache-2.0

#include "train/job_keys.h"

#include <cstdlib>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/edit_distance.h"
#include "train/token_format.h"

namespace octet::train {
namespace {

constexpr double kMany = 9007199254740992.0;  // 2^53

class Table {
 public:
  void Flag(std::string name, bool* value, std::string help) {
    keys_.push_back({std::move(name), value, std::move(help), 0, 0, {}, true});
  }
  void Int(std::string name, int64_t* value, double min, std::string help) {
    keys_.push_back(
        {std::move(name), value, std::move(help), min, kMany, {}, true});
  }
  void Real(std::string name, double* value, double min, double max,
            std::string help) {
    keys_.push_back(
        {std::move(name), value, std::move(help), min, max, {}, true});
  }
  void Text(std::string name, std::string* value, std::string help,
            std::vector<std::string> choices = {}) {
    keys_.push_back({std::move(name), value, std::move(help), 0, 0,
                     std::move(choices), true});
  }
  void List(std::string name, std::vector<std::string>* value,
            std::string help) {
    keys_.push_back({std::move(name), value, std::move(help), 0, 0, {}, true});
  }
  // The keys since the last call may change in a run that goes on.
  void MayChange(size_t count) {
    for (size_t i = keys_.size() - count; i < keys_.size(); ++i) {
      keys_[i].is_fixed = false;
    }
  }
  std::vector<JobKey> Take() { return std::move(keys_); }

 private:
  std::vector<JobKey> keys_;
};

void AddJob(JobConfig* c, Table* t) {
  t->Text("job.dump_folder", &c->job.dump_folder, "where outputs go");
  t->Text("job.description", &c->job.description, "a note, printed at start");
  t->Text("job.device", &c->job.device,
          "auto (a GPU if there is one), cpu, cuda or cuda:N");
  t->Flag("job.print_config", &c->job.print_config,
          "print the whole job as TOML and stop");
  t->MayChange(4);
  t->Text("model.name", &c->model.name, "architecture", {"llama3"});
  t->Text("model.flavor", &c->model.flavor, "size: a preset's name");
  t->Int("model.num_layers", &c->model.num_layers, 0,
         "the preset's shape with so many layers; 0: as many as it has");
}

void AddData(JobConfig* c, Table* t) {
  t->Text("data.path", &c->data.path, "a file, a folder or a pattern");
  t->Text("data.format", &c->data.format, "what the files are", TokenFormats());
  t->Text("data.validation_path", &c->data.validation_path,
          "files for validation; empty: the end of data.path");
  t->Real("data.validation_fraction", &c->data.validation_fraction, 0, 0.9,
          "part of data.path held out, if there are no validation files");
  t->Flag("data.shuffle", &c->data.shuffle, "another order in each pass");
}

void AddOptimizer(JobConfig* c, Table* t) {
  auto& o = c->optimizer;
  t->Text("optimizer.name", &o.name, "the optimizer", {"AdamW"});
  t->Real("optimizer.lr", &o.lr, 0, 1e6, "learning rate at its peak");
  t->Real("optimizer.beta1", &o.beta1, 0, 0.9999999, "decay of the mean");
  t->Real("optimizer.beta2", &o.beta2, 0, 0.9999999,
          "decay of the mean square");
  t->Real("optimizer.eps", &o.eps, 0, 1, "added to the root mean square");
  t->Real("optimizer.weight_decay", &o.weight_decay, 0, 1e6,
          "decoupled, on every parameter");
  t->Text("optimizer.state_dtype", &o.state_dtype,
          "both moments; bfloat16 is rounded stochastically",
          {"float32", "bfloat16"});
  auto& s = c->lr_scheduler;
  t->Int("lr_scheduler.warmup_steps", &s.warmup_steps, 0,
         "steps of linear warm-up, clipped to training.steps");
  t->Real("lr_scheduler.decay_ratio", &s.decay_ratio, -1, 1,
          "part of the steps that decays; -1: all after the warm-up");
  t->Text("lr_scheduler.decay_type", &s.decay_type, "shape of the decay",
          {"linear", "sqrt", "cosine"});
  t->Real("lr_scheduler.min_lr_factor", &s.min_lr_factor, 0, 1,
          "part of the peak that the decay ends at");
}

void AddTraining(JobConfig* c, Table* t) {
  auto& g = c->training;
  t->Int("training.steps", &g.steps, 1, "optimizer steps");
  t->Int("training.local_batch_size", &g.local_batch_size, 1,
         "sequences of one forward pass");
  t->Int("training.global_batch_size", &g.global_batch_size, -1,
         "sequences of one step, by accumulation; -1: local_batch_size");
  t->Int("training.seq_len", &g.seq_len, 1, "tokens of a sequence");
  t->Real("training.max_norm", &g.max_norm, 0, 1e30,
          "gradients are clipped to this global norm; 0: not");
  t->Int("training.seed", &g.seed, 0, "of weights, data order and sample");
  t->Text("training.mixed_precision_param", &g.mixed_precision_param,
          "activations and weights in compute", {"bfloat16", "float32"});
  t->Text("training.dtype", &g.dtype,
          "master weights of matrices; bfloat16 is rounded stochastically and "
          "is what the model computes with",
          {"float32", "bfloat16"});
  t->Text("training.gradient_dtype", &g.gradient_dtype, "gradients of matrices",
          {"float32", "bfloat16"});
  t->Text("training.nonfinite", &g.nonfinite,
          "a step whose loss or gradient is not finite leaves the weights and "
          "is skipped, or stops the run",
          {"stop", "skip"});
  t->Int("training.loss_chunk", &g.loss_chunk, 0,
         "tokens whose logits exist at once; 0: the model's choice");
  t->Flag("training.deterministic", &g.deterministic,
          "the same bits on every run on a GPU, where attention's gradient is "
          "slower for it; a CPU's always are");
  t->Text("activation_checkpoint.mode", &c->activation_checkpoint.mode,
          "what backward computes again: nothing, each block's MLP, each whole "
          "block, or as little as lets the job fit",
          {"none", "selective", "full", "auto"});
  t->MayChange(2);  // neither changes what is computed
  t->Text("float8.recipe", &c->float8.recipe, "see the recipes above");
  t->List("float8.filter_fqns", &c->float8.filter_fqns,
          "layers whose names contain one stay in high precision; "
          "auto_filter_small_kn stands for small ones");
}

void AddCheckpoint(JobConfig* c, Table* t) {
  t->Text("float8.gemm_cache_path", &c->float8.gemm_cache_path,
          "a file that keeps which algorithm of a GPU was fastest for each "
          "product; empty: measured by every run");
  t->MayChange(1);
  auto& p = c->checkpoint;
  t->Text("checkpoint.initial_load_path", &p.initial_load_path,
          "a Hugging Face folder to start from");
  t->Flag("checkpoint.enable", &p.enable, "write checkpoints");
  t->Text("checkpoint.folder", &p.folder, "inside job.dump_folder");
  t->Int("checkpoint.interval", &p.interval, 1, "steps from one to the next");
  t->Int("checkpoint.keep_latest_k", &p.keep_latest_k, 0,
         "older ones are removed; 0: none");
  t->Text("checkpoint.resume", &p.resume,
          "auto continues an unfinished run of the same job in the folder; "
          "always insists; never starts anew",
          {"auto", "always", "never"});
  t->Flag("checkpoint.last_save_in_hf", &p.last_save_in_hf,
          "write the final weights as a Hugging Face folder");
  t->MayChange(6);
  auto& m = c->metrics;
  t->Int("metrics.log_freq", &m.log_freq, 1,
         "steps from one console line to the next (metrics.jsonl has all)");
  t->Text("metrics.progress", &m.progress, "a bar; auto: on a terminal",
          {"auto", "on", "off"});
  t->Real("metrics.peak_tflops", &m.peak_tflops, 0, 1e9,
          "the device's dense bf16 peak, for MFU; 0: that of a known GPU");
  auto& v = c->validation;
  t->Flag("validation.enable", &v.enable, "measure the loss on held-out data");
  t->Int("validation.freq", &v.freq, 1,
         "steps from one to the next; also after the last");
  t->Int("validation.steps", &v.steps, -1,
         "batches of one validation; -1: all that is held out");
  auto& s = c->sample;
  t->Int("sample.tokens", &s.tokens, 0, "tokens generated after the run");
  t->Text("sample.prompt", &s.prompt, "what they continue");
  t->Real("sample.temperature", &s.temperature, 0, 100,
          "of the sample; 0: always the likeliest token");
  t->MayChange(9);
}

std::string Quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (c == '\n') {
      out += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      absl::StrAppendFormat(&out, "\\u%04X", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out + "\"";
}

// The shortest text that reads back as the same number; TOML tells a number
// with a point or an exponent from a whole one.
std::string Shortest(double value) {
  std::string text;
  for (int digits = 1; digits <= 17; ++digits) {
    text = absl::StrFormat("%.*g", digits, value);
    if (std::strtod(text.c_str(), nullptr) == value) break;
  }
  const bool whole = text.find_first_of(".en") == std::string::npos;
  return whole ? text + ".0" : text;
}

struct Printer {
  std::string operator()(const bool* v) const { return *v ? "true" : "false"; }
  std::string operator()(const int64_t* v) const { return absl::StrCat(*v); }
  std::string operator()(const double* v) const { return Shortest(*v); }
  std::string operator()(const std::string* v) const { return Quoted(*v); }
  std::string operator()(const std::vector<std::string>* v) const {
    return absl::StrCat(
        "[",
        absl::StrJoin(*v, ", ",
                      [](std::string* out, const std::string& item) {
                        out->append(Quoted(item));
                      }),
        "]");
  }
};

}  // namespace

std::vector<JobKey> JobKeys(JobConfig* config) {
  Table table;
  AddJob(config, &table);
  AddData(config, &table);
  AddOptimizer(config, &table);
  AddTraining(config, &table);
  AddCheckpoint(config, &table);
  return table.Take();
}

std::string ToToml(const JobValue& value) {
  return std::visit(Printer(), value);
}

std::string NearestWord(const std::string& word,
                        const std::vector<std::string>& known) {
  // A right name in the wrong section is nearer than any misspelling.
  const std::string last = word.substr(word.rfind('.') + 1);
  std::string nearest;
  int64_t least = INT64_MAX;
  for (const std::string& candidate : known) {
    const bool same_end = absl::EndsWith(candidate, absl::StrCat(".", last));
    if (!same_end && !IsNear(word, candidate)) continue;
    const int64_t distance = same_end ? 0 : EditDistance(word, candidate);
    if (distance < least) {
      least = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

}  // namespace octet::train
