// SPDX-License-Identifier: Apache-2.0

#include "roofline/model/model.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "base/status_macros.h"
#include "roofline/cost.h"
#include "roofline/kernel_cost.h"
#include "roofline/model/collective.h"
#include "roofline/model/timeline.h"

namespace octet::roofline {
namespace {

// Of one block and pass.
struct PassSeconds {
  double forward = 0, backward = 0;
  double total() const { return forward + backward; }
  PassSeconds& operator+=(const PassSeconds& other) {
    forward += other.forward;
    backward += other.backward;
    return *this;
  }
};

// A linear layer under one recipe.
struct LinearSeconds {
  PassSeconds gemm, cast;
};

class Estimator {
 public:
  Estimator(const Hardware& hardware, const ModelShape& shape,
            const ModelJob& job, const BoundOptions& bound)
      : hardware_(hardware),
        shape_(shape),
        job_(job),
        bound_(bound),
        shards_(job.shard_ranks > 0 ? job.shard_ranks : job.ranks),
        tokens_(static_cast<double>(job.batch) *
                static_cast<double>(job.sequence)) {}

  absl::StatusOr<ModelEstimate> Run() {
    ModelEstimate e;
    e.parameters = Parameters(shape_);
    e.flops_per_token = FlopsPerToken(shape_, job_.sequence);
    OCTET_RETURN_IF_ERROR(AddLayers(&e));
    const PassSeconds attention = Attention();
    const PassSeconds elementwise = Elementwise();
    OCTET_ASSIGN_OR_RETURN(const PassSeconds head, Head());
    PassSeconds block = linears_.gemm;
    block += linears_.cast;
    block += attention;
    block += elementwise;
    OCTET_ASSIGN_OR_RETURN(const Timeline timeline, Pass(block, head));

    const double passes = static_cast<double>(job_.microbatches);
    const double blocks = passes * static_cast<double>(shape_.layers);
    ModelParts& parts = e.parts;
    parts.gemm = blocks * linears_.gemm.total();
    parts.cast = blocks * linears_.cast.total();
    parts.attention = blocks * attention.total();
    parts.elementwise = blocks * elementwise.total();
    parts.head = passes * head.total();
    parts.optimizer = Optimizer();
    OCTET_ASSIGN_OR_RETURN(const double sums, SmallReductions());
    parts.communication = passes * timeline.exposed_seconds() + sums;
    e.hidden_communication =
        passes * (timeline.communication_seconds - timeline.exposed_seconds());
    for (const ModelPart& part : ListParts(parts)) e.seconds += part.seconds;

    e.tokens = tokens_ * passes * static_cast<double>(job_.ranks);
    e.tokens_per_second = e.tokens / e.seconds;
    e.tokens_per_second_per_gpu =
        e.tokens_per_second / static_cast<double>(job_.ranks);
    e.flops_per_second_per_gpu =
        e.tokens_per_second_per_gpu * e.flops_per_token;
    e.mfu = e.flops_per_second_per_gpu / hardware_.bf16_flops;
    e.memory = EstimateModelMemory(shape_, job_);
    e.fits = e.memory.total() <= hardware_.memory_bytes;
    return e;
  }

 private:
  double MemoryRate() const {
    return bound_.rates == Rates::kCalibrated && hardware_.copy_rate > 0
               ? hardware_.copy_rate
               : hardware_.memory_rate * hardware_.memory_share;
  }
  double Launches(double kernels) const {
    return kernels * (bound_.launch == Launch::kGraph
                          ? hardware_.graph_launch_seconds
                          : hardware_.launch_seconds);
  }

  absl::StatusOr<LinearModel> Layer(const std::string& recipe, bool fused) {
    LinearOptions options;
    options.recipe = recipe;
    options.fused_producer = fused && recipe != "bf16";
    options.recompute = job_.recompute == Recompute::kFull;
    options.microbatches = job_.microbatches;
    if (shards_ > 1) {
      options.gather = recipe == "bf16" ? Gather::kBf16 : job_.gather;
      options.ranks = shards_;
    }
    return LinearModel::Create(options, hardware_, bound_);
  }

  // Casts of x and dy as their producers allow, and of w.
  static absl::StatusOr<LinearSeconds> Sum(const LinearModel& plain,
                                           const LinearModel& fused,
                                           const ModelLinear& linear) {
    LinearSeconds out;
    for (const bool from_fused : {false, true}) {
      const LinearModel& model = from_fused ? fused : plain;
      OCTET_ASSIGN_OR_RETURN(const std::vector<KernelBound> bounds,
                             model.BoundKernels(linear.sizes));
      for (size_t i = 0; i < bounds.size(); ++i) {
        const KernelCost& kernel = model.kernels()[i];
        if (kernel.part == "collective") continue;
        const bool is_gemm = kernel.part == "gemm";
        const bool by_producer =
            !is_gemm && ((kernel.operand == Operand::kInput &&
                          linear.input_from_producer) ||
                         (kernel.operand == Operand::kGradOutput &&
                          linear.gradient_from_producer));
        if (by_producer != from_fused) continue;
        PassSeconds& to = is_gemm ? out.gemm : out.cast;
        (kernel.pass == Pass::kForward ? to.forward : to.backward) +=
            bounds[i].seconds;
      }
    }
    return out;
  }

  absl::Status AddLayers(ModelEstimate* e) {
    OCTET_ASSIGN_OR_RETURN(const LinearModel bf16, Layer("bf16", false));
    OCTET_ASSIGN_OR_RETURN(const LinearModel plain, Layer(job_.recipe, false));
    OCTET_ASSIGN_OR_RETURN(const LinearModel fused,
                           Layer(job_.recipe, job_.fused_producer));
    for (const ModelLinear& linear :
         ModelLinears(shape_, job_.batch * job_.sequence)) {
      OCTET_ASSIGN_OR_RETURN(const LinearSeconds high, Sum(bf16, bf16, linear));
      OCTET_ASSIGN_OR_RETURN(const LinearSeconds low,
                             Sum(plain, fused, linear));
      ModelLayer layer;
      layer.name = linear.name;
      layer.sizes = linear.sizes;
      layer.bf16_seconds = high.gemm.total();
      layer.float8_gemm_seconds = low.gemm.total();
      layer.float8_cast_seconds = low.cast.total();
      layer.is_float8 =
          job_.recipe != "bf16" && (!job_.only_faster || layer.speedup() > 1.0);
      const LinearSeconds& used = layer.is_float8 ? low : high;
      linears_.gemm += used.gemm;
      linears_.cast += used.cast;
      e->layers.push_back(layer);
    }
    return absl::OkStatus();
  }

  // Two products of half of T x T in forward, four in backward.
  PassSeconds Attention() const {
    const double flops = 2.0 * tokens_ * static_cast<double>(job_.sequence) *
                         static_cast<double>(shape_.heads) *
                         static_cast<double>(shape_.head_dim);
    const double forward =
        flops / (hardware_.bf16_flops * job_.attention_share);
    PassSeconds out;
    out.forward = forward + Launches(1);
    out.backward = 2.0 * forward + Launches(2);
    if (job_.recompute == Recompute::kFull) out.backward += out.forward;
    return out;
  }

  // Bytes of bf16: a norm with the residual's addition reads and writes two
  // rows in either direction; SwiGLU reads two and writes one, and reads three
  // and writes two; rotary embedding reads and writes q and k.
  PassSeconds Elementwise() const {
    const double hidden = static_cast<double>(shape_.hidden);
    const double mlp = static_cast<double>(shape_.mlp);
    const double rotated = static_cast<double>(shape_.heads + shape_.kv_heads) *
                           static_cast<double>(shape_.head_dim);
    const double norms = 2.0 * 8.0 * hidden;
    const double rate = MemoryRate();
    PassSeconds out;
    out.forward =
        tokens_ * (norms + 6.0 * mlp + 4.0 * rotated) / rate + Launches(4);
    out.backward =
        tokens_ * (norms + 10.0 * mlp + 4.0 * rotated) / rate + Launches(4);
    if (job_.recompute == Recompute::kFull) out.backward += out.forward;
    return out;
  }

  // The head's three products in bf16, and the loss: reads the logits and
  // writes their gradient over them. The embedding moves two rows a token and
  // counts here too.
  absl::StatusOr<PassSeconds> Head() const {
    const Sizes sizes = {job_.batch * job_.sequence, shape_.hidden,
                         shape_.vocab};
    PassSeconds out;
    for (const GemmRole role :
         {GemmRole::kOutput, GemmRole::kGradInput, GemmRole::kGradWeight}) {
      OCTET_ASSIGN_OR_RETURN(const KernelBound bound,
                             BoundKernel(GemmCost(role, "bf16", 2, 2), sizes,
                                         CostModel::kOctet, hardware_, bound_));
      (role == GemmRole::kOutput ? out.forward : out.backward) += bound.seconds;
    }
    const double rate = MemoryRate();
    out.forward +=
        tokens_ * 4.0 * static_cast<double>(shape_.vocab) / rate + Launches(1);
    const double rows = tokens_ * 4.0 * static_cast<double>(shape_.hidden);
    out.forward += rows / rate + Launches(1);
    out.backward += rows / rate + Launches(1);
    return out;
  }

  // Reads gradient, master and moments, writes master and moments; before it
  // one more read of the gradient for its norm is hidden in the reduction.
  double Optimizer() const {
    const double bytes = 7.0 * static_cast<double>(job_.state_bytes);
    return Parameters(shape_) / static_cast<double>(shards_) * bytes /
               MemoryRate() +
           Launches(2);
  }

  // Embedding, blocks, and the head with its norm.
  absl::StatusOr<Timeline> Pass(const PassSeconds& block,
                                const PassSeconds& head) const {
    const bool by_fp8 = job_.gather == Gather::kFp8 && job_.recipe != "bf16";
    const double linears =
        LinearParameters(shape_) / static_cast<double>(shape_.layers);
    const double rest = BlockParameters(shape_) - linears;
    // Rows' scales differ in either direction, so each pass gathers its own
    // bytes; one byte an element each time in all recipes.
    OCTET_ASSIGN_OR_RETURN(
        TimelineUnit unit,
        Transfers((by_fp8 ? 1.0 : 2.0) * linears + 2.0 * rest,
                  BlockParameters(shape_)));
    unit.forward_seconds = block.forward;
    unit.backward_seconds = block.backward;
    OCTET_ASSIGN_OR_RETURN(TimelineUnit table,
                           Transfers(2.0 * EmbeddingParameters(shape_),
                                     EmbeddingParameters(shape_)));
    table.keeps_weights = true;
    TimelineUnit last = table;
    if (shape_.tied) last.gather_seconds = last.reduce_seconds = 0.0;
    last.forward_seconds = head.forward;
    last.backward_seconds = head.backward;
    std::vector<TimelineUnit> units(static_cast<size_t>(shape_.layers) + 2,
                                    unit);
    units.front() = table;
    units.back() = last;
    return RunTimeline(units);
  }

  absl::StatusOr<TimelineUnit> Transfers(double gather_bytes,
                                         double parameters) const {
    const Group shard = NeighbourGroup(hardware_, shards_);
    const double bytes = parameters * static_cast<double>(job_.reduce_bytes);
    TimelineUnit unit;
    OCTET_ASSIGN_OR_RETURN(unit.gather_seconds,
                           AllGatherSeconds(hardware_, shard, gather_bytes));
    OCTET_ASSIGN_OR_RETURN(unit.reduce_seconds,
                           ReduceScatterSeconds(hardware_, shard, bytes));
    if (shards_ < job_.ranks) {
      OCTET_ASSIGN_OR_RETURN(
          const double copies,
          AllReduceSeconds(hardware_,
                           StridedGroup(hardware_, job_.ranks, shards_),
                           bytes / static_cast<double>(shards_)));
      unit.reduce_seconds += copies;
    }
    return unit;
  }

  // The gradients' norm and the loss; with float8 on the wire the amaxes of all
  // weights.
  absl::StatusOr<double> SmallReductions() const {
    const Group all = NeighbourGroup(hardware_, job_.ranks);
    OCTET_ASSIGN_OR_RETURN(const double norm,
                           AllReduceSeconds(hardware_, all, 8.0));
    if (job_.gather != Gather::kFp8 ||
        !absl::StartsWith(job_.recipe, "tensorwise")) {
      return norm;
    }
    OCTET_ASSIGN_OR_RETURN(
        const double amaxes,
        AllReduceSeconds(hardware_, NeighbourGroup(hardware_, shards_),
                         16.0 * static_cast<double>(shape_.layers)));
    return norm + amaxes;
  }

  const Hardware& hardware_;
  const ModelShape& shape_;
  const ModelJob& job_;
  const BoundOptions& bound_;
  const int64_t shards_;
  const double tokens_;  // of a GPU's pass
  LinearSeconds linears_;
};

}  // namespace

std::vector<ModelPart> ListParts(const ModelParts& p) {
  return {{"gemm", p.gemm},
          {"cast", p.cast},
          {"attention", p.attention},
          {"elementwise", p.elementwise},
          {"head", p.head},
          {"optimizer", p.optimizer},
          {"communication", p.communication}};
}

absl::StatusOr<ModelEstimate> EstimateModel(const Hardware& hardware,
                                            const ModelShape& shape,
                                            const ModelJob& job,
                                            const BoundOptions& bound) {
  OCTET_RETURN_IF_ERROR(CheckHardware(hardware));
  OCTET_RETURN_IF_ERROR(CheckShape(shape));
  OCTET_RETURN_IF_ERROR(CheckJob(job));
  return Estimator(hardware, shape, job, bound).Run();
}

}  // namespace octet::roofline
