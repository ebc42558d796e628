// SPDX-License-Identifier: Apache-2.0

// Fills the slots of gemm for CUDA. Arguments were checked by gemm.cc.
//
// Aligned operands that bring what cuBLASLt wants are one launch. Everything
// else is made around it in scratch memory: operands before, and behind it a
// result that cuBLASLt cannot write where it belongs, as f32 sums.
#include <cublasLt.h>
#include <cuda_runtime_api.h>

#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "base/cuda_status.h"
#include "base/status_macros.h"
#include "float8/cuda/gemm_cuda_algorithms.h"
#include "float8/cuda/gemm_cuda_known.h"
#include "float8/cuda/gemm_cuda_operands.h"
#include "float8/cuda/gemm_cuda_problem.h"
#include "float8/cuda/gemm_kernel.h"
#include "float8/gemm_algorithms.h"
#include "float8/gemm_kernel.h"

namespace octet::float8::internal {
namespace {

int64_t RoundUp(int64_t x, int64_t to) { return CeilDiv(x, to) * to; }

bool IsAligned(const void* pointer, int64_t bytes) {
  return reinterpret_cast<uintptr_t>(pointer) % bytes == 0;
}

bool HasBias(const GemmArguments& g) { return !g.options.bias.empty(); }

// Where cuBLASLt writes, and who adds the bias.
struct Way {
  bool writes_out = false;  // else sums, which the finish kernel turns into out
  bool adds_bias = false;   // else the finish kernel
};

bool IsWide(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF64;
}

// Of the plain matrices that cuBLASLt multiplies.
DType PlainTypeOf(const GemmArguments& g) {
  return g.a.dtype() == g.b.dtype() ? g.a.dtype() : DType::kF32;
}

bool CanWriteOut(const GemmArguments& g, const GemmScaleModes& modes) {
  const DType out = g.out.dtype();
  if (modes.a == kNoGemmType) {
    const DType type = PlainTypeOf(g);
    return out == type || (type == DType::kBf16 && out == DType::kF32);
  }
  // Whole rows of 16 bytes, and for 1x128 scales four of them.
  return g.n * SizeOf(out) % 16 == 0 && IsAligned(g.out.data(), 16) &&
         (modes.a != CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F || g.m % 4 == 0) &&
         (modes.b != CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F || g.n % 4 == 0);
}

// cuBLASLt's table: float8 products take bf16, or f16 with an f16 result; other
// products a bias of the result's type.
bool CanAddBias(const GemmArguments& g, const GemmScaleModes& modes) {
  const DType out = g.out.dtype(), bias = g.options.bias.dtype();
  if (out == DType::kF64 || !IsAligned(g.options.bias.data(), 16)) return false;
  if (modes.a == kNoGemmType) return bias == out;
  return bias == (out == DType::kF16 ? DType::kF16 : DType::kBf16);
}

// The best first.
absl::InlinedVector<Way, 3> WaysFor(const GemmArguments& g,
                                    const GemmScaleModes& modes) {
  absl::InlinedVector<Way, 3> ways;
  if (CanWriteOut(g, modes)) {
    if (!HasBias(g)) {
      ways.push_back({true, false});
    } else {
      if (CanAddBias(g, modes)) ways.push_back({true, true});
      // A second rounding would differ from one.
      if (IsWide(g.out.dtype())) ways.push_back({true, false});
    }
  }
  ways.push_back({false, false});
  return ways;
}

absl::Status Finish(const GemmArguments& g, const void* sums, int64_t sums_ld,
                    double beta, cudaStream_t stream) {
  GemmFinish finish;
  finish.sums = sums;
  finish.sums_ld = sums_ld;
  finish.m = g.m;
  finish.n = g.n;
  finish.beta = beta;
  finish.out = g.out.data();
  finish.out_type = ElementOf(g.out.dtype());
  finish.bias = HasBias(g) ? g.options.bias.data() : nullptr;
  finish.bias_type = ElementOf(g.options.bias.dtype());
  return CudaStatus(LaunchGemmFinish(finish, stream), "gemm: finishing out");
}

// One call, laid out.
struct Layout {
  GemmSide a;
  GemmSide b;
  int64_t m = 0;  // padded
  int64_t n = 0;
  int64_t k = 0;
  int64_t workspace_offset = 0;
  int64_t sums_offset = 0;
  GemmScratch scratch;
};

Layout LayOut(const GemmArguments& g, const GemmScaleModes& modes,
              const Way& way) {
  Layout l;
  const bool is_float8 = modes.a != kNoGemmType;
  l.m = g.m;
  l.n = g.n;
  l.k = is_float8 ? RoundUp(g.k, 16) : g.k;
  if (is_float8 && !way.writes_out) {
    if (modes.a == CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F) {
      l.m = RoundUp(g.m, 4);
    }
    l.n = RoundUp(g.n, 16);
  }
  l.workspace_offset = l.scratch.Add(kGemmWorkspace);
  const DType plain = PlainTypeOf(g);
  l.a = GemmSide::Plan(g.a, true, modes.a, {l.m, l.k}, plain, &l.scratch);
  l.b = GemmSide::Plan(g.b, false, modes.b, {l.n, l.k}, plain, &l.scratch);
  if (!way.writes_out) {
    l.sums_offset =
        l.scratch.Add(l.m * l.n * (g.out.dtype() == DType::kF64 ? 8 : 4));
  }
  return l;
}

GemmProblem ProblemOf(const GemmArguments& g, const GemmScaleModes& modes,
                      const Way& way, const Layout& l,
                      const GemmPointers& pointers) {
  GemmProblem p;
  p.m = l.n;
  p.n = l.m;
  p.k = l.k;
  p.a_ld = l.b.ld();
  p.b_ld = l.a.ld();
  p.d_ld = l.n;
  p.a_type = l.b.type();
  p.b_type = l.a.type();
  p.d_type = way.writes_out                 ? CudaTypeOf(g.out.dtype())
             : g.out.dtype() == DType::kF64 ? CUDA_R_64F
                                            : CUDA_R_32F;
  if (way.adds_bias) p.bias_type = CudaTypeOf(g.options.bias.dtype());
  p.a_scale = modes.b;
  p.b_scale = modes.a;
  p.a_transposed = l.b.is_transposed();
  p.b_transposed = l.a.is_transposed();
  p.has_c = pointers.beta != 0.0;
  p.fast_accumulation =
      modes.a != kNoGemmType && g.options.accumulation == Accumulation::kFast;
  p.a_alignment = AlignmentOf(pointers.a);
  p.b_alignment = AlignmentOf(pointers.b);
  p.d_alignment = AlignmentOf(pointers.d);
  return p;
}

absl::Status Multiply(const Stream& stream, const GemmArguments& g,
                      const GemmScaleModes& modes, const Way& way,
                      GemmDevice* device) {
  const cudaStream_t native = static_cast<cudaStream_t>(stream.native());
  Layout l = LayOut(g, modes, way);
  OCTET_ASSIGN_OR_RETURN(void* const memory, stream.Scratch(l.scratch.bytes()));
  OCTET_RETURN_IF_ERROR(
      CudaStatus(l.a.Prepare(memory, native), "gemm: preparing a"));
  OCTET_RETURN_IF_ERROR(
      CudaStatus(l.b.Prepare(memory, native), "gemm: preparing b"));
  char* const base = static_cast<char*>(memory);
  GemmPointers pointers;
  pointers.a = l.b.data();
  pointers.b = l.a.data();
  pointers.a_scale = l.b.scale();
  pointers.b_scale = l.a.scale();
  pointers.d = way.writes_out ? g.out.data() : base + l.sums_offset;
  pointers.c = pointers.d;
  pointers.bias = way.adds_bias ? g.options.bias.data() : nullptr;
  pointers.workspace = base + l.workspace_offset;
  pointers.alpha = g.options.alpha;
  pointers.beta = way.writes_out ? g.options.beta : 0.0;
  OCTET_RETURN_IF_ERROR(device->Multiply(ProblemOf(g, modes, way, l, pointers),
                                         pointers, native));
  if (!way.writes_out) {
    return Finish(g, pointers.d, l.n, g.options.beta, native);
  }
  if (!HasBias(g) || way.adds_bias) return absl::OkStatus();
  return Finish(g, pointers.d, l.n, 0.0, native);
}

absl::Status GemmCuda(const Stream& stream, const GemmArguments& g) {
  OCTET_RETURN_IF_ERROR(
      CudaStatus(cudaSetDevice(stream.device().index), "cudaSetDevice"));
  OCTET_ASSIGN_OR_RETURN(GemmDevice* const device,
                         GemmDevice::Get(stream.device().index));
  OCTET_ASSIGN_OR_RETURN(const GemmScaleModes modes, ScaleModesOf(g));
  if (g.k == 0) {
    return Finish(g, nullptr, 0, g.options.beta,
                  static_cast<cudaStream_t>(stream.native()));
  }
  absl::Status status;
  for (const Way& way : WaysFor(g, modes)) {
    status = Multiply(stream, g, modes, way, device);
    if (!absl::IsNotFound(status)) return status;
  }
  return absl::UnimplementedError(status.message());
}

GemmAlgorithmFunctions AlgorithmFunctions() {
  return {&SetGemmMode, &SaveKnownGemm, &LoadKnownGemm};
}

[[maybe_unused]] const bool kRegistered =
    GemmSlot().Register(DeviceKind::kCuda, &GemmCuda) &&
    GemmAlgorithmSlot().Register(DeviceKind::kCuda, &AlgorithmFunctions);

}  // namespace
}  // namespace octet::float8::internal
