// SPDX-License-Identifier: Apache-2.0

// Bytes and FLOPs of one kernel, as polynomials in the sizes of a linear layer
// y[M, N] = x[M, K] w[N, K]ᵀ.
#ifndef OCTET_ROOFLINE_KERNEL_COST_H_
#define OCTET_ROOFLINE_KERNEL_COST_H_

#include <array>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "roofline/polynomial.h"

namespace octet::roofline {

// The three matrices that a linear layer quantises: x [M, K], w [N, K] and
// dy [M, N].
enum class Operand { kInput, kWeight, kGradOutput };

// "input", "weight", "grad_output".
absl::string_view OperandName(Operand operand);

// M*K, K*N or M*N.
Polynomial Elements(Operand operand);

enum class Pass { kForward, kBackward };

struct KernelCost {
  std::string name;  // "cast input"
  std::string part;  // gemm, cast, amax, norm, activation, collective
  Pass pass = Pass::kForward;
  Operand operand = Operand::kInput;  // of casts and amaxes
  Polynomial bytes;                   // read + written, in the GPU's memory
  Polynomial flops;
  Polynomial wire_bytes;  // received by each of `ranks`
  int64_t ranks = 1;
  double launches = 1;
  // How often it runs in a forward and backward: 0.25 is once in four.
  double count = 1;
  // GEMMs alone: the key in Hardware::gemm_flops, and which sizes its own
  // m, k and n are.
  std::string mode;
  std::array<Variable, 3> gemm = {Variable::kM, Variable::kK, Variable::kN};
};

// y = x wᵀ; dx = dy w (sizes M, N, K); dw = dyᵀ x (sizes K, M, N).
enum class GemmRole { kOutput, kGradInput, kGradWeight };

// "output", "grad_input", "grad_weight".
absl::string_view GemmRoleName(GemmRole role);

// Operands of so many bytes an element (33/32: with a scale of one byte for
// 32), as the formulas above name them from left to right; result in bf16.
KernelCost GemmCost(GemmRole role, absl::string_view mode, double left_bytes,
                    double right_bytes);
inline KernelCost GemmCost(GemmRole role, absl::string_view mode,
                           double operand_bytes) {
  return GemmCost(role, mode, operand_bytes, operand_bytes);
}

// Reads the bf16 operand.
KernelCost AmaxCost(Operand operand);

// `reads` and `writes` in bytes an element; scales are extra.
KernelCost CastCost(absl::string_view name, Operand operand, double reads,
                    double writes);

// RMS norm of [M, K] in bf16. Backward reads dy and x and writes dx.
KernelCost NormCost(Pass pass);

// SwiGLU: two inputs [M, N] to one output [M, N], bf16.
KernelCost ActivationCost(Pass pass);

// Each of `ranks` holds a slice of a tensor of `elements` * `element_bytes`
// and receives the rest of it (gather), or the others' parts of its slice.
KernelCost AllGatherCost(const Polynomial& elements, double element_bytes,
                         int64_t ranks);
KernelCost ReduceScatterCost(const Polynomial& elements, double element_bytes,
                             int64_t ranks);

}  // namespace octet::roofline

#endif  // OCTET_ROOFLINE_KERNEL_COST_H_
