// SPDX-License-Identifier: Apache-2.0

#include "float8/gemm_peer.h"

#include <cmath>
#include <memory>
#include <vector>

#include "dnnl.h"

namespace octet::float8::internal {
namespace {

// Values of both signs, none denormal.
std::vector<float> Values(int64_t count) {
  std::vector<float> values(count);
  for (int64_t i = 0; i < count; ++i) {
    values[i] = 0.5f + static_cast<float>(i * 7919 % 1009) / 1009.0f;
    if (i % 3 == 0) values[i] = -values[i];
  }
  return values;
}

absl::StatusOr<GemmPeerCall> PeerCpu(const Stream&, const GemmOperand& x,
                                     const GemmOperand& w, const GemmOptions&,
                                     const TensorView& out) {
  struct Memory {
    std::vector<float> a, b, c;
  };
  const auto memory = std::make_shared<Memory>();
  const int64_t m = out.rows(), n = out.cols(), k = x.cols();
  memory->a = Values(m * k);
  memory->b = Values(w.rows() * k);
  memory->c.resize(m * n);
  return GemmPeerCall([memory, m, n, k] {
    const dnnl_status_t status =
        dnnl_sgemm('N', 'T', m, n, k, 1.0f, memory->a.data(), k,
                   memory->b.data(), k, 0.0f, memory->c.data(), n);
    return status == dnnl_success ? absl::OkStatus()
                                  : absl::InternalError("dnnl_sgemm");
  });
}

}  // namespace

KernelSlot<GemmPeer>& GemmPeerSlot() {
  static KernelSlot<GemmPeer> slot("//float8/cuda:gemm_cuda_peer", &PeerCpu);
  return slot;
}

}  // namespace octet::float8::internal
