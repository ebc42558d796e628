// SPDX-License-Identifier: Apache-2.0

#include "float8/gemm.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "float8/gemm_kernel.h"

namespace octet::float8 {
namespace {

// What errors call an operand and its parts; put together here, because a check
// that passes must not build strings.
struct OperandNames {
  const char* operand;
  const char* scale;
  const char* transposed;
  const char* reciprocal;
  const char* transposed_reciprocal;
};
constexpr OperandNames kA = {"a", "scale of a", "transposed of a",
                             "reciprocal of a", "transposed_reciprocal of a"};
constexpr OperandNames kB = {"b", "scale of b", "transposed of b",
                             "reciprocal of b", "transposed_reciprocal of b"};

template <typename... Parts>
absl::Status Invalid(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat("gemm: ", parts...));
}

std::string ToString(const GemmOperand& operand) {
  return operand.data.present()
             ? operand.data.ToString()
             : absl::StrCat("the transpose of ", operand.transposed.ToString());
}

// `contracts_rows`: the sum runs over the rows of the operand's own matrix.
absl::Status CheckScale(const OperandNames& names, const GemmOperand& operand,
                        bool contracts_rows) {
  if (!operand.scale.present()) {
    return Invalid(names.operand, " is ", ToString(operand), " without scales");
  }
  const Shape want =
      ScaleShape(operand.granularity, operand.rows(), operand.cols());
  if (operand.scale.dtype() != DType::kF32 || operand.scale.shape() != want) {
    return Invalid(names.scale, " is ", operand.scale.ToString(),
                   ", must be f32 ", want.ToString(), " for ",
                   ToString(operand), " by ", Name(operand.granularity));
  }
  const Tile tile = TileOf(operand.granularity);
  if ((contracts_rows ? tile.rows : tile.cols) == 1) {
    return Invalid(names.operand,
                   " has a scale for each element along the sum: ",
                   Name(operand.granularity), " scales, and the sum runs over ",
                   contracts_rows ? "rows" : "columns");
  }
  return absl::OkStatus();
}

// The form that is there for a GPU: the same matrix, on the same device.
absl::Status CheckTransposed(const char* name, const Stream& stream,
                             const GemmOperand& operand) {
  const TensorView& data = operand.data;
  const TensorView& transposed = operand.transposed;
  if (!transposed.present()) return absl::OkStatus();
  OCTET_RETURN_IF_ERROR(CheckArgument(stream, "gemm", name, transposed));
  if (data.present() &&
      (transposed.dtype() != data.dtype() || transposed.rows() != data.cols() ||
       transposed.cols() != data.rows())) {
    return Invalid(name, " is ", transposed.ToString(), ", its data ",
                   data.ToString());
  }
  return absl::OkStatus();
}

// 1 / scale of a [rows, cols] matrix, where a GPU is given it.
absl::Status CheckReciprocal(const char* name, const Stream& stream,
                             const TensorView& reciprocal,
                             Granularity granularity, int64_t rows,
                             int64_t cols) {
  if (!reciprocal.present()) return absl::OkStatus();
  OCTET_RETURN_IF_ERROR(CheckArgument(stream, "gemm", name, reciprocal));
  const Shape want = ReciprocalShape(granularity, rows, cols);
  if (reciprocal.dtype() != DType::kF32 || reciprocal.shape() != want) {
    return Invalid(name, " is ", reciprocal.ToString(), ", must be f32 ",
                   want.ToString());
  }
  return absl::OkStatus();
}

absl::Status CheckFloat8(const OperandNames& names, const Stream& stream,
                         bool contracts_rows, const GemmOperand& operand) {
  OCTET_RETURN_IF_ERROR(CheckScale(names, operand, contracts_rows));
  OCTET_RETURN_IF_ERROR(
      CheckArgument(stream, "gemm", names.scale, operand.scale));
  const Granularity granularity = operand.granularity;
  const int64_t rows = operand.rows(), cols = operand.cols();
  OCTET_RETURN_IF_ERROR(CheckReciprocal(
      names.reciprocal, stream, operand.reciprocal, granularity, rows, cols));
  return CheckReciprocal(names.transposed_reciprocal, stream,
                         operand.transposed_reciprocal, granularity, cols,
                         rows);
}

absl::Status CheckOperand(const OperandNames& names, const Stream& stream,
                          bool contracts_rows, GemmOperand* operand) {
  const TensorView& data = operand->data;
  if (data.present() || !operand->transposed.present()) {
    OCTET_RETURN_IF_ERROR(CheckArgument(stream, "gemm", names.operand, data));
    if (operand->leading_dim == 0) operand->leading_dim = data.cols();
    if (operand->leading_dim < data.cols()) {
      return Invalid("leading_dim of ", names.operand, " is ",
                     operand->leading_dim, ", less than its ", data.cols(),
                     " columns");
    }
  }
  OCTET_RETURN_IF_ERROR(CheckTransposed(names.transposed, stream, *operand));
  const DType dtype = operand->dtype();
  if (IsFloat8(dtype)) {
    return CheckFloat8(names, stream, contracts_rows, *operand);
  }
  if (dtype != DType::kF32 && dtype != DType::kBf16 && dtype != DType::kF64) {
    return Invalid(names.operand, " is ", ToString(*operand),
                   ", must be float8, f32 or bf16 (or f64)");
  }
  if (!data.present()) {
    return Invalid(names.operand, " is ", ToString(*operand),
                   ": only float8 may come without data");
  }
  if (operand->scale.present()) {
    return Invalid(names.operand, " is ", data.ToString(), " and has scales");
  }
  return absl::OkStatus();
}

absl::Status CheckDTypes(const GemmOperand& a, const GemmOperand& b,
                         const TensorView& out) {
  const DType a_type = a.dtype(), b_type = b.dtype();
  if (a_type == DType::kF8E5M2 && b_type == DType::kF8E5M2) {
    return Invalid("a and b are both f8_e5m2, which no device multiplies");
  }
  const bool f64 = a_type == DType::kF64 || b_type == DType::kF64;
  if (f64 ? !(a_type == b_type && out.dtype() == DType::kF64)
          : out.dtype() != DType::kF32 && out.dtype() != DType::kBf16 &&
                out.dtype() != DType::kF16) {
    return Invalid("a is ", Name(a_type), ", b is ", Name(b_type), ", out is ",
                   Name(out.dtype()),
                   "; out must be f32, bf16 or f16, or all three f64");
  }
  return absl::OkStatus();
}

absl::Status CheckBias(const TensorView& bias, int64_t n, DType out,
                       const Stream& stream) {
  if (!bias.present()) return absl::OkStatus();
  OCTET_RETURN_IF_ERROR(CheckArgument(stream, "gemm", "bias", bias));
  if (bias.shape() != Shape({n})) {
    return Invalid("bias is ", bias.ToString(), ", must be [", n, "]");
  }
  const DType dtype = bias.dtype();
  if (dtype != DType::kF32 && dtype != DType::kBf16 && dtype != DType::kF16 &&
      !(dtype == DType::kF64 && out == DType::kF64)) {
    return Invalid("bias is ", Name(dtype), " and out is ", Name(out),
                   "; bias must be f32, bf16 or f16");
  }
  return absl::OkStatus();
}

}  // namespace

namespace internal {

KernelSlot<GemmKernel>& GemmSlot() {
  static KernelSlot<GemmKernel> slot("//float8:gemm_cuda", &GemmCpu);
  return slot;
}

}  // namespace internal

int64_t GemmOperand::rows() const {
  return data.present() ? data.rows() : transposed.cols();
}

int64_t GemmOperand::cols() const {
  return data.present() ? data.cols() : transposed.rows();
}

DType GemmOperand::dtype() const {
  return data.present() ? data.dtype() : transposed.dtype();
}

GemmOperand OperandOf(const Quantized& q, Transpose transpose) {
  GemmOperand operand = OperandOf(q.data.view(), transpose);
  operand.scale = q.scale;
  operand.granularity = q.plan.granularity;
  operand.transposed = q.transposed;
  operand.reciprocal = q.reciprocal;
  operand.transposed_reciprocal = q.transposed_reciprocal;
  return operand;
}

GemmOperand OperandOf(const TensorView& matrix, Transpose transpose) {
  GemmOperand operand;
  operand.data = matrix;
  operand.transpose = transpose;
  return operand;
}

absl::Status Gemm(const Stream& stream, const GemmOperand& a,
                  const GemmOperand& b, const GemmOptions& options,
                  const TensorView& out) {
  internal::GemmArguments arguments;
  arguments.a = a;
  arguments.b = b;
  arguments.options = options;
  arguments.out = out;
  const bool a_transposed = a.transpose == Transpose::kYes;
  const bool b_transposed = b.transpose == Transpose::kYes;
  OCTET_RETURN_IF_ERROR(CheckArgument(stream, "gemm", "out", out));
  OCTET_RETURN_IF_ERROR(CheckOperand(kA, stream, a_transposed, &arguments.a));
  OCTET_RETURN_IF_ERROR(CheckOperand(kB, stream, !b_transposed, &arguments.b));
  OCTET_RETURN_IF_ERROR(CheckDTypes(a, b, out));

  const int64_t m = a_transposed ? a.cols() : a.rows();
  const int64_t k = a_transposed ? a.rows() : a.cols();
  const int64_t b_k = b_transposed ? b.cols() : b.rows();
  const int64_t n = b_transposed ? b.rows() : b.cols();
  const auto operands = [&] {
    return absl::StrCat("; a is ", ToString(a),
                        a_transposed ? " transposed" : "", ", b is ",
                        ToString(b), b_transposed ? " transposed" : "");
  };
  if (k != b_k) {
    return Invalid("k is ", k, " in a and ", b_k, " in b", operands());
  }
  if (out.rows() != m || out.cols() != n) {
    return Invalid("out is ", out.ToString(), ", must be [", m, ", ", n, "]",
                   operands());
  }
  OCTET_RETURN_IF_ERROR(CheckBias(options.bias, n, out.dtype(), stream));
  if (m == 0 || n == 0) return absl::OkStatus();

  arguments.m = m;
  arguments.n = n;
  arguments.k = k;
  OCTET_ASSIGN_OR_RETURN(internal::GemmKernel * kernel,
                         internal::GemmSlot().Get(stream.device()));
  return kernel(stream, arguments);
}

}  // namespace octet::float8
