// SPDX-License-Identifier: Apache-2.0

#include "float8/cuda/gemm_cuda_candidates.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "base/status_macros.h"
#include "float8/cuda/gemm_cuda_known.h"

namespace octet::float8::internal {
namespace {

constexpr int kCandidates = 32;

// Partial sums of a split k go through memory and are added in one order
// (COMPUTE_TYPE). "In place" adds them to D as they come.
constexpr uint32_t kReductions =
    CUBLASLT_REDUCTION_SCHEME_NONE | CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;

// Those that the heuristic offers for one size or another.
constexpr cublasLtMatmulTile_t kTiles[] = {
    CUBLASLT_MATMUL_TILE_128x128, CUBLASLT_MATMUL_TILE_64x256,
    CUBLASLT_MATMUL_TILE_128x256, CUBLASLT_MATMUL_TILE_256x128,
    CUBLASLT_MATMUL_TILE_128x160, CUBLASLT_MATMUL_TILE_192x128,
    CUBLASLT_MATMUL_TILE_128x192, CUBLASLT_MATMUL_TILE_176x128};

constexpr cublasLtClusterShape_t kClusters[] = {CUBLASLT_CLUSTER_SHAPE_1x1x1,
                                                CUBLASLT_CLUSTER_SHAPE_2x1x1,
                                                CUBLASLT_CLUSTER_SHAPE_1x2x1};

constexpr uint32_t kMaxCustomOption = 7;

// Kernels for Hopper name their cluster; those before have none to vary.
bool HasCluster(const cublasLtMatmulAlgo_t& algorithm) {
  uint16_t cluster = CUBLASLT_CLUSTER_SHAPE_AUTO;
  size_t bytes = 0;
  return cublasLtMatmulAlgoConfigGetAttribute(
             &algorithm, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, &cluster,
             sizeof(cluster), &bytes) == CUBLAS_STATUS_SUCCESS &&
         cluster != CUBLASLT_CLUSTER_SHAPE_AUTO;
}

template <typename T>
bool Set(cublasLtMatmulAlgo_t* algorithm,
         cublasLtMatmulAlgoConfigAttributes_t attribute, T value) {
  return cublasLtMatmulAlgoConfigSetAttribute(algorithm, attribute, &value,
                                              sizeof(value)) ==
         CUBLAS_STATUS_SUCCESS;
}

template <typename T>
absl::Status Prefer(cublasLtMatmulPreference_t preference,
                    cublasLtMatmulPreferenceAttributes_t attribute, T value) {
  return CublasStatus(cublasLtMatmulPreferenceSetAttribute(
                          preference, attribute, &value, sizeof(value)),
                      "cublasLtMatmulPreferenceSetAttribute");
}

absl::Status FillPreference(const GemmProblem& p,
                            cublasLtMatmulPreference_t preference) {
  OCTET_RETURN_IF_ERROR(CublasStatus(cublasLtMatmulPreferenceInit(preference),
                                     "cublasLtMatmulPreferenceInit"));
  OCTET_RETURN_IF_ERROR(Prefer(preference,
                               CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                               static_cast<uint64_t>(kGemmWorkspace)));
  OCTET_RETURN_IF_ERROR(Prefer(
      preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, kReductions));
  const std::pair<cublasLtMatmulPreferenceAttributes_t, int64_t> alignments[] =
      {{CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, p.a_alignment},
       {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, p.b_alignment},
       {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, p.d_alignment},
       {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, p.d_alignment}};
  for (const auto& [attribute, bytes] : alignments) {
    OCTET_RETURN_IF_ERROR(
        Prefer(preference, attribute, static_cast<uint32_t>(bytes)));
  }
  return absl::OkStatus();
}

}  // namespace

bool RunGemm(GemmCall* call, const cublasLtMatmulAlgo_t& algorithm) {
  const GemmPointers& p = call->pointers;
  GemmDescriptors* const d = &call->descriptors;
  const float alpha = static_cast<float>(p.alpha);
  const float beta = static_cast<float>(p.beta);
  const bool is_f64 = call->problem->d_type == CUDA_R_64F;
  const void* const alpha_pointer =
      is_f64 ? static_cast<const void*>(&p.alpha) : &alpha;
  const void* const beta_pointer =
      is_f64 ? static_cast<const void*>(&p.beta) : &beta;
  return cublasLtMatmul(call->handle, &d->operation, alpha_pointer, p.a, &d->a,
                        p.b, &d->b, beta_pointer, p.c, &d->d, p.d, &d->d,
                        &algorithm, p.workspace, kGemmWorkspace,
                        call->stream) == CUBLAS_STATUS_SUCCESS;
}

bool IsSameGemm(const cublasLtMatmulAlgo_t& x, const cublasLtMatmulAlgo_t& y) {
  return std::memcmp(x.data, y.data, sizeof(x.data)) == 0;
}

bool CanRunGemm(const GemmCall& call, const cublasLtMatmulAlgo_t& algorithm) {
  GemmDescriptors copy = call.descriptors;
  GemmDescriptors* const d = &copy;
  cublasLtMatmulHeuristicResult_t result = {};
  const cublasStatus_t status =
      cublasLtMatmulAlgoCheck(call.handle, &d->operation, &d->a, &d->b, &d->d,
                              &d->d, &algorithm, &result);
  return status == CUBLAS_STATUS_SUCCESS &&
         static_cast<int64_t>(result.workspaceSize) <= kGemmWorkspace;
}

absl::StatusOr<std::vector<cublasLtMatmulAlgo_t>> GemmCandidates(
    GemmCall call) {
  cublasLtMatmulPreferenceOpaque_t preference;
  OCTET_RETURN_IF_ERROR(FillPreference(*call.problem, &preference));
  GemmDescriptors* const d = &call.descriptors;
  std::vector<cublasLtMatmulHeuristicResult_t> results(kCandidates);
  int count = 0;
  const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
      call.handle, &d->operation, &d->a, &d->b, &d->d, &d->d, &preference,
      kCandidates, results.data(), &count);
  std::vector<cublasLtMatmulAlgo_t> candidates;
  if (status == CUBLAS_STATUS_NOT_SUPPORTED ||
      status == CUBLAS_STATUS_INVALID_VALUE) {
    return candidates;
  }
  OCTET_RETURN_IF_ERROR(CublasStatus(status, "cublasLtMatmulAlgoGetHeuristic"));
  for (int i = 0; i < count; ++i) {
    if (results[i].state == CUBLAS_STATUS_SUCCESS) {
      candidates.push_back(results[i].algo);
    }
  }
  return candidates;
}

std::vector<cublasLtMatmulAlgo_t> GemmTileVariants(
    const GemmCall& call, const cublasLtMatmulAlgo_t& base) {
  std::vector<cublasLtMatmulAlgo_t> variants;
  if (!HasCluster(base)) return variants;
  for (const cublasLtMatmulTile_t tile : kTiles) {
    cublasLtMatmulAlgo_t variant = base;
    if (Set(&variant, CUBLASLT_ALGO_CONFIG_TILE_ID,
            static_cast<uint32_t>(tile)) &&
        CanRunGemm(call, variant)) {
      variants.push_back(variant);
    }
  }
  return variants;
}

std::vector<cublasLtMatmulAlgo_t> GemmScheduleVariants(
    const GemmCall& call, const cublasLtMatmulAlgo_t& base) {
  std::vector<cublasLtMatmulAlgo_t> variants;
  if (!HasCluster(base)) return variants;
  uint32_t last = 0;
  size_t bytes = 0;
  cublasLtMatmulAlgoCapGetAttribute(&base, CUBLASLT_ALGO_CAP_CUSTOM_OPTION_MAX,
                                    &last, sizeof(last), &bytes);
  last = std::min(last, kMaxCustomOption);
  for (const cublasLtClusterShape_t cluster : kClusters) {
    for (uint32_t option = 0; option <= last; ++option) {
      cublasLtMatmulAlgo_t variant = base;
      if (Set(&variant, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID,
              static_cast<uint16_t>(cluster)) &&
          Set(&variant, CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION, option) &&
          CanRunGemm(call, variant)) {
        variants.push_back(variant);
      }
    }
  }
  return variants;
}

}  // namespace octet::float8::internal
