// SPDX-License-Identifier: Apache-2.0

// cuBLASLt as a program that calls it by hand would find it at its best: the
// default preferences, every candidate timed by single calls between events.
#include <cublasLt.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "base/cuda_status.h"
#include "base/event.h"
#include "base/status_macros.h"
#include "float8/cuda/gemm_cuda_candidates.h"
#include "float8/cuda/gemm_cuda_known.h"
#include "float8/cuda/gemm_cuda_operands.h"
#include "float8/cuda/gemm_cuda_problem.h"
#include "float8/gemm_kernel.h"
#include "float8/gemm_peer.h"

namespace octet::float8::internal {
namespace {

constexpr int kCandidates = 32;
constexpr int kWarmUps = 2;
constexpr int kCalls = 10;

// What a call refers to.
struct Peer {
  Stream stream;
  GemmProblem problem;
  Tensor workspace;
  GemmCall call;
  cublasLtMatmulAlgo_t algorithm;
};

absl::StatusOr<std::shared_ptr<Peer>> MakePeer(const Stream& stream,
                                               const GemmArguments& g) {
  OCTET_ASSIGN_OR_RETURN(const GemmScaleModes modes, ScaleModesOf(g));
  auto peer = std::make_shared<Peer>();
  peer->stream = stream;
  OCTET_ASSIGN_OR_RETURN(
      peer->workspace,
      Tensor::Allocate(DType::kU8, Shape({kGemmWorkspace}), stream.device()));
  GemmProblem& p = peer->problem;
  p.m = g.n;
  p.n = g.m;
  p.k = p.a_ld = p.b_ld = g.k;
  p.d_ld = g.n;
  p.a_type = CudaTypeOf(g.b.dtype());
  p.b_type = CudaTypeOf(g.a.dtype());
  p.d_type = CudaTypeOf(g.out.dtype());
  p.a_scale = modes.b;
  p.b_scale = modes.a;
  p.a_transposed = 1;
  p.fast_accumulation =
      modes.a != kNoGemmType && g.options.accumulation == Accumulation::kFast;
  GemmCall& call = peer->call;
  call.problem = &p;
  call.stream = static_cast<cudaStream_t>(stream.native());
  call.pointers.a = g.b.data.data();
  call.pointers.b = g.a.data.data();
  call.pointers.c = call.pointers.d = g.out.data();
  call.pointers.a_scale = g.b.reciprocal.as<float>();
  call.pointers.b_scale = g.a.reciprocal.as<float>();
  call.pointers.workspace = peer->workspace.view().data();
  OCTET_RETURN_IF_ERROR(
      CublasStatus(cublasLtCreate(&call.handle), "cublasLtCreate"));
  OCTET_ASSIGN_OR_RETURN(call.descriptors, Describe(p));
  OCTET_RETURN_IF_ERROR(
      SetPointers(p, call.pointers, &call.descriptors.operation));
  return peer;
}

absl::StatusOr<std::vector<cublasLtMatmulHeuristicResult_t>> Offers(
    Peer* peer) {
  cublasLtMatmulPreferenceOpaque_t preference;
  OCTET_RETURN_IF_ERROR(CublasStatus(cublasLtMatmulPreferenceInit(&preference),
                                     "cublasLtMatmulPreferenceInit"));
  const uint64_t workspace = kGemmWorkspace;
  OCTET_RETURN_IF_ERROR(
      CublasStatus(cublasLtMatmulPreferenceSetAttribute(
                       &preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                       &workspace, sizeof(workspace)),
                   "workspace"));
  std::vector<cublasLtMatmulHeuristicResult_t> results(kCandidates);
  int count = 0;
  GemmDescriptors* const d = &peer->call.descriptors;
  OCTET_RETURN_IF_ERROR(CublasStatus(
      cublasLtMatmulAlgoGetHeuristic(peer->call.handle, &d->operation, &d->a,
                                     &d->b, &d->d, &d->d, &preference,
                                     kCandidates, results.data(), &count),
      "cublasLtMatmulAlgoGetHeuristic"));
  results.resize(count);
  return results;
}

// The median of single calls; none if cuBLASLt does not take it.
absl::StatusOr<std::optional<double>> Seconds(Peer* peer) {
  OCTET_ASSIGN_OR_RETURN(const Event begin,
                         Event::Create(peer->stream.device()));
  OCTET_ASSIGN_OR_RETURN(const Event end, Event::Create(peer->stream.device()));
  std::vector<double> times;
  for (int i = 0; i < kWarmUps + kCalls; ++i) {
    OCTET_RETURN_IF_ERROR(begin.Record(peer->stream));
    if (!RunGemm(&peer->call, peer->algorithm)) return std::optional<double>();
    OCTET_RETURN_IF_ERROR(end.Record(peer->stream));
    OCTET_ASSIGN_OR_RETURN(const double seconds, SecondsBetween(begin, end));
    if (i >= kWarmUps) times.push_back(seconds);
  }
  std::sort(times.begin(), times.end());
  return std::optional<double>(times[times.size() / 2]);
}

absl::StatusOr<GemmPeerCall> PeerCuda(const Stream& stream,
                                      const GemmOperand& x,
                                      const GemmOperand& w,
                                      const GemmOptions& options,
                                      const TensorView& out) {
  GemmArguments g;
  g.a = x;
  g.b = w;
  g.options = options;
  g.out = out;
  g.m = out.rows();
  g.n = out.cols();
  g.k = x.cols();
  OCTET_ASSIGN_OR_RETURN(const std::shared_ptr<Peer> peer, MakePeer(stream, g));
  OCTET_ASSIGN_OR_RETURN(const auto offers, Offers(peer.get()));
  std::optional<double> best;
  cublasLtMatmulAlgo_t fastest;
  for (const cublasLtMatmulHeuristicResult_t& offer : offers) {
    peer->algorithm = offer.algo;
    OCTET_ASSIGN_OR_RETURN(const std::optional<double> seconds,
                           Seconds(peer.get()));
    if (!seconds.has_value() || (best.has_value() && *best <= *seconds)) {
      continue;
    }
    best = seconds;
    fastest = offer.algo;
  }
  if (!best.has_value()) return absl::NotFoundError("no algorithm");
  peer->algorithm = fastest;
  return GemmPeerCall([peer] {
    return RunGemm(&peer->call, peer->algorithm)
               ? absl::OkStatus()
               : absl::InternalError("cublasLtMatmul");
  });
}

[[maybe_unused]] const bool kRegistered =
    GemmPeerSlot().Register(DeviceKind::kCuda, &PeerCuda);

}  // namespace
}  // namespace octet::float8::internal
