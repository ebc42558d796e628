// SPDX-License-Identifier: Apache-2.0

// Casts of many matrices on the GPU: those by tensor and by 128x128 in batches
// of one launch (and one more for their amax), the others one by one.
#include <algorithm>
#include <iterator>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "base/status_macros.h"
#include "float8/cast_cuda_problem.h"
#include "float8/cuda/amax_kernel.h"
#include "float8/cuda/operands.h"

namespace octet::float8::internal {
namespace {

// Of a block of the amax of many tensors.
constexpr int64_t kMinChunk = 16 << 10;
constexpr int64_t kMaxChunk = 256 << 10;
constexpr int64_t kChunksPerSm = 12;

// Up to kMaxCasts matrices of one type, format and alignment.
class Batch {
 public:
  Batch(ElementType type, Fp8 format) : type_(type), format_(format) {
    problems_.count = 0;
    amax_.count = 0;
  }

  bool full() const { return problems_.count == kMaxCasts; }
  bool Takes(const CastProblem& p, Fp8 format) const {
    return p.in.type == type_ && format == format_ &&
           CastIsAligned(p) == CastIsAligned(problems_.problems[0]);
  }
  void Add(const CastProblem& p, bool by_tensor) {
    const int64_t elements = p.in.rows * p.in.cols;
    if (by_tensor) {
      by_amax_.push_back(problems_.count);
      amax_.jobs[amax_.count++] = {p.in.data, elements, 0};
      elements_ += elements;
    }
    problems_.problems[problems_.count++] = p;
  }
  absl::Status Launch(const CastQueue& queue) {
    OCTET_RETURN_IF_ERROR(TakeAmax(queue));
    int64_t blocks = 0;
    for (int i = 0; i < problems_.count; ++i) {
      const MatrixIn& in = problems_.problems[i].in;
      problems_.first[i] = blocks;
      blocks += Tiles(in.rows) * Tiles(in.cols);
    }
    problems_.first[problems_.count] = blocks;
    return queue.Done(LaunchCastMany(problems_, type_, format_, queue.native()),
                      "cast of many");
  }

 private:
  absl::Status TakeAmax(const CastQueue& queue);

  ElementType type_;
  Fp8 format_;
  CastProblems problems_;
  AmaxJobs amax_;
  std::vector<int> by_amax_;  // the problem of each amax
  int64_t elements_ = 0;      // of those
};

absl::Status Batch::TakeAmax(const CastQueue& queue) {
  if (amax_.count == 0) return absl::OkStatus();
  const int64_t wanted = MultiprocessorsOf(queue.device()) * kChunksPerSm;
  amax_.chunk =
      std::clamp(RoundUp(elements_ / wanted, kMinChunk), kMinChunk, kMaxChunk);
  amax_.blocks = 0;
  for (int i = 0; i < amax_.count; ++i) {
    amax_.jobs[i].first = amax_.blocks;
    amax_.blocks += RoundUp(amax_.jobs[i].elements, amax_.chunk) / amax_.chunk;
  }
  OCTET_ASSIGN_OR_RETURN(amax_.out, queue.Floats(amax_.count + amax_.blocks));
  amax_.partial = amax_.out + amax_.count;
  OCTET_ASSIGN_OR_RETURN(amax_.counters, queue.stream().Counters());
  for (int i = 0; i < amax_.count; ++i) {
    ScaleTarget& scale = problems_.problems[by_amax_[i]].scale;
    scale.source = ScaleSource::kAmax;
    scale.from = amax_.out + i;
  }
  return queue.Done(LaunchAmaxOfMany(amax_, type_, queue.native()),
                    "amax of many");
}

}  // namespace

absl::Status CastManyCuda(const Stream& stream,
                          absl::Span<const CastItem> items) {
  const CastQueue queue(stream);
  OCTET_RETURN_IF_ERROR(queue.Start());
  for (const CastItem& item : items) {
    OCTET_RETURN_IF_ERROR(CheckCudaPlan(item.form.plan));
  }
  std::vector<Batch> batches;
  for (const CastItem& item : items) {
    const Granularity tiles = item.form.plan.granularity;
    if (item.in.empty() || KindOf(tiles) != ScaleKind::kTile) {
      OCTET_RETURN_IF_ERROR(CastOne(queue, item.in, item.form, {}));
      continue;
    }
    const CastProblem p = ProblemOf(item.in, item.form);
    const Fp8 format = Fp8Of(item.form.plan.dtype);
    auto batch = std::find_if(
        batches.begin(), batches.end(),
        [&](const Batch& b) { return !b.full() && b.Takes(p, format); });
    if (batch == batches.end()) {
      batches.emplace_back(p.in.type, format);
      batch = std::prev(batches.end());
    }
    batch->Add(p, tiles == Granularity::kTensor);
  }
  for (Batch& batch : batches) OCTET_RETURN_IF_ERROR(batch.Launch(queue));
  return absl::OkStatus();
}

}  // namespace octet::float8::internal
