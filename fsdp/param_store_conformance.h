// SPDX-License-Identifier: Apache-2.0

// What every ParamStore must do, as tests for GoogleTest:
//
//   INSTANTIATE_TEST_SUITE_P(Whole, ParamStoreConformanceTest,
//                            ::testing::Values(ParamStoreWorld{...}));
#ifndef OCTET_FSDP_PARAM_STORE_CONFORMANCE_H_
#define OCTET_FSDP_PARAM_STORE_CONFORMANCE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "base/dtype.h"
#include "base/stream.h"
#include "fsdp/param_store.h"
#include "gtest/gtest.h"

namespace octet::fsdp {

// One rank's view while a test runs.
struct RankOfTest {
  int64_t rank = 0;
  int64_t world_size = 1;
  Stream stream;
  ParamStore* store = nullptr;
};

// A way to make the stores under test.
struct ParamStoreWorld {
  std::string name;
  DType compute_dtype = DType::kF32;
  DType master_dtype = DType::kF32;
  // Makes one store a rank for these units, calls `body` on all ranks at once
  // (each on a thread of this process), and returns when all have returned. A
  // store that cannot be made is a test failure.
  std::function<void(const std::vector<UnitSpec>& units,
                     absl::FunctionRef<void(const RankOfTest&)> body)>
      run;
};

class ParamStoreConformanceTest
    : public ::testing::TestWithParam<ParamStoreWorld> {};

}  // namespace octet::fsdp

#endif  // OCTET_FSDP_PARAM_STORE_CONFORMANCE_H_
