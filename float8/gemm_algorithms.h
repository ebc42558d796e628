// SPDX-License-Identifier: Apache-2.0

// How Gemm picks its algorithms on a GPU, and how a choice is kept.
//
// cuBLASLt offers several algorithms for a product, and its first guess is
// often not the fastest. The first time a process meets a problem (sizes,
// types, layouts, scales, alignments) Gemm times the candidates on the operands
// at hand, into memory of its own, and keeps the fastest of those that give the
// bits of the first guess; so the choice changes no result. That waits for the
// stream, once, for up to a second. A file spares the next process that.
//
// While a graph is captured nothing is measured: a problem met first then takes
// cuBLASLt's first guess.
//
// All are Unimplemented without the CUDA leaf, //float8:gemm_cuda.
#ifndef OCTET_FLOAT8_GEMM_ALGORITHMS_H_
#define OCTET_FLOAT8_GEMM_ALGORITHMS_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/kernel_slot.h"

namespace octet::float8 {

enum class GemmAlgorithmMode : uint8_t {
  kMeasure,    // time the candidates (the default)
  kHeuristic,  // take cuBLASLt's first guess; what was measured or loaded stays
};
absl::Status SetGemmAlgorithmMode(GemmAlgorithmMode mode);

// Writes what was measured by this process or loaded by it: one JSON file,
// whole or not at all.
absl::Status SaveGemmAlgorithms(const std::string& path);

struct LoadedGemmAlgorithms {
  int64_t usable = 0;
  // Of a GPU that this machine does not have, or another cuBLASLt.
  int64_t ignored = 0;
};

// From now on those problems are not measured. DataLoss names what is wrong
// with a file, of which then nothing is taken; NotFound if there is none. An
// algorithm that cuBLASLt does not take after all is measured anew.
absl::StatusOr<LoadedGemmAlgorithms> LoadGemmAlgorithms(
    const std::string& path);

namespace internal {

struct GemmAlgorithmFunctions {
  void (*set_mode)(GemmAlgorithmMode mode);
  absl::Status (*save)(const std::string& path);
  absl::StatusOr<LoadedGemmAlgorithms> (*load)(const std::string& path);
};
KernelSlot<GemmAlgorithmFunctions()>& GemmAlgorithmSlot();

}  // namespace internal
}  // namespace octet::float8

#endif  // OCTET_FLOAT8_GEMM_ALGORITHMS_H_
