// SPDX-License-Identifier: Apache-2.0
#include "models/layers/cudnn/attention_plan.h"

#include <cudnn_frontend.h>

#include <cmath>
#include <exception>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace octet::models::internal {
namespace {

namespace fe = cudnn_frontend;
using TensorOf = std::shared_ptr<fe::graph::Tensor_attributes>;

enum Uid : int64_t {
  kQ = 1,
  kK,
  kV,
  kO,
  kLogSumExp,
  kGradO,
  kDq,
  kDk,
  kDv,
};

auto KeyOf(const CudnnAttentionProblem& p) {
  return std::make_tuple(p.backward, p.deterministic, p.batch, p.length,
                         p.heads, p.kv_heads, p.head_dim, p.row_heads,
                         p.row_kv_heads);
}

// [batch, heads, length, head_dim] for cuDNN, of [batch, length, heads,
// head_dim] in memory.
struct HeadLayout {
  std::vector<int64_t> dim, stride;
};

HeadLayout LayoutOf(const CudnnAttentionProblem& p, int64_t heads,
                    int64_t row_heads) {
  const int64_t row = row_heads * p.head_dim;
  return {{p.batch, heads, p.length, p.head_dim},
          {p.length * row, p.head_dim, row, 1}};
}

TensorOf Input(fe::graph::Graph* graph, const char* name, Uid uid,
               const HeadLayout& layout) {
  return graph->tensor(fe::graph::Tensor_attributes()
                           .set_name(name)
                           .set_uid(uid)
                           .set_dim(layout.dim)
                           .set_stride(layout.stride));
}

void SetOutput(const TensorOf& tensor, Uid uid, const HeadLayout& layout) {
  tensor->set_output(true)
      .set_uid(uid)
      .set_dim(layout.dim)
      .set_stride(layout.stride);
}

HeadLayout StatisticsLayout(const CudnnAttentionProblem& p) {
  return {{p.batch, p.heads, p.length, 1},
          {p.heads * p.length, p.length, 1, 1}};
}

void Describe(const CudnnAttentionProblem& p, fe::graph::Graph* graph) {
  graph->set_io_data_type(fe::DataType_t::BFLOAT16)
      .set_intermediate_data_type(fe::DataType_t::FLOAT)
      .set_compute_data_type(fe::DataType_t::FLOAT);
  const float scale = 1.0f / std::sqrt(static_cast<float>(p.head_dim));
  const HeadLayout queries = LayoutOf(p, p.heads, p.row_heads);
  const HeadLayout keys = LayoutOf(p, p.kv_heads, p.row_kv_heads);
  const HeadLayout statistics = StatisticsLayout(p);
  const TensorOf q = Input(graph, "q", kQ, queries);
  const TensorOf k = Input(graph, "k", kK, keys);
  const TensorOf v = Input(graph, "v", kV, keys);
  if (!p.backward) {
    auto [o, log_sum_exp] = graph->sdpa(q, k, v,
                                        fe::graph::SDPA_attributes()
                                            .set_name("attention")
                                            .set_generate_stats(true)
                                            .set_attn_scale(scale)
                                            .set_causal_mask(true));
    SetOutput(o, kO, queries);
    SetOutput(log_sum_exp, kLogSumExp, statistics);
    log_sum_exp->set_data_type(fe::DataType_t::FLOAT);
    return;
  }
  const TensorOf o = Input(graph, "o", kO, queries);
  const TensorOf grad_o = Input(graph, "grad_o", kGradO, queries);
  const TensorOf log_sum_exp =
      Input(graph, "log_sum_exp", kLogSumExp, statistics);
  log_sum_exp->set_data_type(fe::DataType_t::FLOAT);
  auto [dq, dk, dv] =
      graph->sdpa_backward(q, k, v, o, grad_o, log_sum_exp,
                           fe::graph::SDPA_backward_attributes()
                               .set_name("attention_backward")
                               .set_attn_scale(scale)
                               .set_causal_mask(true)
                               .set_deterministic_algorithm(p.deterministic));
  SetOutput(dq, kDq, queries);
  SetOutput(dk, kDk, keys);
  SetOutput(dv, kDv, keys);
}

std::string ToString(const CudnnAttentionProblem& p) {
  return absl::StrCat("cuDNN attention", p.backward ? " backward" : "",
                      p.backward && p.deterministic ? " (deterministic)" : "",
                      " of bf16 [", p.batch, ", ", p.length, ", ", p.heads,
                      ", ", p.head_dim, "], ", p.kv_heads, " key heads");
}

}  // namespace

struct CudnnAttentionPlan::Graph {
  // Running one changes nothing in it that is seen from outside; calls for a
  // handle come one at a time.
  mutable fe::graph::Graph graph;
};

CudnnAttentionPlan::CudnnAttentionPlan() : graph_(new Graph) {}
CudnnAttentionPlan::~CudnnAttentionPlan() = default;

bool operator<(const CudnnAttentionProblem& a, const CudnnAttentionProblem& b) {
  return KeyOf(a) < KeyOf(b);
}

absl::StatusOr<std::unique_ptr<CudnnAttentionPlan>> CudnnAttentionPlan::Build(
    cudnnHandle_t handle, const CudnnAttentionProblem& problem) {
  const auto refused = [&](absl::string_view reason) {
    return absl::UnimplementedError(
        absl::StrCat(ToString(problem), ": ", reason));
  };
  // The frontend returns its errors, but says nowhere that it never throws.
  try {
    std::unique_ptr<CudnnAttentionPlan> plan(new CudnnAttentionPlan);
    plan->backward_ = problem.backward;
    fe::graph::Graph& graph = plan->graph_->graph;
    Describe(problem, &graph);
    fe::error_t built = graph.build(handle, {fe::HeurMode_t::A});
    if (built.is_bad()) return refused(built.get_message());
    fe::error_t sized = graph.get_workspace_size(plan->scratch_bytes_);
    if (sized.is_bad()) return refused(sized.get_message());
    return plan;
  } catch (const std::exception& error) {
    return refused(error.what());
  }
}

absl::Status CudnnAttentionPlan::Run(cudnnHandle_t handle,
                                     const CudnnAttentionPointers& pointers,
                                     void* scratch) const {
  std::unordered_map<int64_t, void*> pack = {
      {kQ, pointers.q},
      {kK, pointers.k},
      {kV, pointers.v},
      {kO, pointers.o},
      {kLogSumExp, pointers.log_sum_exp}};
  if (backward_) {
    pack.insert({{kGradO, pointers.grad_o},
                 {kDq, pointers.dq},
                 {kDk, pointers.dk},
                 {kDv, pointers.dv}});
  }
  std::string problem;
  try {
    fe::error_t ran = graph_->graph.execute(handle, pack, scratch);
    if (ran.is_good()) return absl::OkStatus();
    problem = ran.get_message();
  } catch (const std::exception& error) {
    problem = error.what();
  }
  return absl::InternalError(absl::StrCat("cuDNN attention: ", problem));
}

}  // namespace octet::models::internal
