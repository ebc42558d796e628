// SPDX-License-Identifier: Apache-2.0

#include "float8/gemm_cpu_product_kernel.h"

#include <algorithm>
#include <exception>

#include "absl/strings/str_cat.h"
#include "dnnl.hpp"

namespace octet::float8::internal {
namespace {

// A transposed operand is one whose rows are next to each other.
char TransposeOf(const PlainMatrix& x) { return x.col_stride == 1 ? 'N' : 'T'; }

int64_t LeadingDim(const PlainMatrix& x, int64_t rows, int64_t cols) {
  return x.col_stride == 1 ? std::max(x.row_stride, cols)
                           : std::max(x.col_stride, rows);
}

absl::Status ProductF32(int64_t m, int64_t n, int64_t k, const PlainMatrix& a,
                        const PlainMatrix& b, WriteMode mode, float* c,
                        int64_t ldc) {
  const dnnl_status_t status =
      dnnl_sgemm(TransposeOf(a), TransposeOf(b), m, n, k, 1.0f,
                 static_cast<const float*>(a.data), LeadingDim(a, m, k),
                 static_cast<const float*>(b.data), LeadingDim(b, k, n),
                 mode == WriteMode::kAdd ? 1.0f : 0.0f, c, ldc);
  if (status == dnnl_success) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("oneDNN sgemm [", m, ", ", n, ", ", k,
                                          "]: ", "status ",
                                          static_cast<int>(status)));
}

dnnl::memory::desc DescOf(int64_t rows, int64_t cols, const PlainMatrix& x) {
  const bool by_rows = x.col_stride == 1;
  const int64_t leading = LeadingDim(x, rows, cols);
  return dnnl::memory::desc(
      {rows, cols}, dnnl::memory::data_type::bf16,
      dnnl::memory::dims{by_rows ? leading : 1, by_rows ? 1 : leading});
}

const dnnl::engine& CpuEngine() {
  static const dnnl::engine& engine =
      *new dnnl::engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

absl::Status ProductBf16(int64_t m, int64_t n, int64_t k, const PlainMatrix& a,
                         const PlainMatrix& b, WriteMode mode, DType c_dtype,
                         void* c, int64_t ldc) {
  // The library's C++ interface throws.
  try {
    const dnnl::engine& engine = CpuEngine();
    const dnnl::memory::desc a_desc = DescOf(m, k, a);
    const dnnl::memory::desc b_desc = DescOf(k, n, b);
    const dnnl::memory::desc c_desc({m, n},
                                    c_dtype == DType::kBf16
                                        ? dnnl::memory::data_type::bf16
                                        : dnnl::memory::data_type::f32,
                                    dnnl::memory::dims{ldc, 1});
    dnnl::primitive_attr attributes;
    if (mode == WriteMode::kAdd) {
      dnnl::post_ops post_ops;
      post_ops.append_sum(1.0f);
      attributes.set_post_ops(post_ops);
    }
    // The library caches what is made here.
    const dnnl::matmul matmul(dnnl::matmul::primitive_desc(
        dnnl::matmul::desc(a_desc, b_desc, c_desc), attributes, engine));
    dnnl::stream stream(engine);
    matmul.execute(stream,
                   {{DNNL_ARG_SRC,
                     dnnl::memory(a_desc, engine, const_cast<void*>(a.data))},
                    {DNNL_ARG_WEIGHTS,
                     dnnl::memory(b_desc, engine, const_cast<void*>(b.data))},
                    {DNNL_ARG_DST, dnnl::memory(c_desc, engine, c)}});
    stream.wait();
    return absl::OkStatus();
  } catch (const std::exception& error) {
    return absl::InternalError(absl::StrCat("oneDNN matmul [", m, ", ", n, ", ",
                                            k, "]: ", error.what()));
  }
}

}  // namespace

PlainMatrix PlainMatrix::Offset(int64_t row, int64_t col) const {
  PlainMatrix moved = *this;
  moved.data = static_cast<const char*>(data) +
               (row * row_stride + col * col_stride) * SizeOf(dtype);
  return moved;
}

absl::Status Product(int64_t m, int64_t n, int64_t k, const PlainMatrix& a,
                     const PlainMatrix& b, WriteMode mode, DType c_dtype,
                     void* c, int64_t ldc) {
  if (a.dtype == DType::kBf16) {
    return ProductBf16(m, n, k, a, b, mode, c_dtype, c, ldc);
  }
  return ProductF32(m, n, k, a, b, mode, static_cast<float*>(c), ldc);
}

}  // namespace octet::float8::internal
