// SPDX-License-Identifier: Apache-2.0

// Matchers for absl::Status and StatusOr:
//
//   EXPECT_THAT(Cast(...), IsOk());
//   EXPECT_THAT(Cast(...), StatusIs(absl::StatusCode::kInvalidArgument,
//                                   HasSubstr("[128, 96]")));
//   OCTET_ASSERT_OK_AND_ASSIGN(const Tensor t, Tensor::Allocate(...));
#ifndef OCTET_TESTING_STATUS_MATCHERS_H_
#define OCTET_TESTING_STATUS_MATCHERS_H_

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace octet::testing {

inline const absl::Status& StatusOf(const absl::Status& status) {
  return status;
}
template <typename T>
const absl::Status& StatusOf(const absl::StatusOr<T>& value) {
  return value.status();
}

MATCHER(IsOk, "is OK") {
  *result_listener << "which is " << StatusOf(arg).ToString();
  return StatusOf(arg).ok();
}

MATCHER_P2(StatusIs, code, message, "has the code and the message") {
  const absl::Status& status = StatusOf(arg);
  *result_listener << "which is " << status.ToString();
  return status.code() == code &&
         ::testing::Matches(message)(std::string(status.message()));
}

inline auto StatusIs(absl::StatusCode code) {
  return StatusIs(code, ::testing::_);
}

}  // namespace octet::testing

#define OCTET_TESTING_CONCAT_INNER_(a, b) a##b
#define OCTET_TESTING_CONCAT_(a, b) OCTET_TESTING_CONCAT_INNER_(a, b)
#define OCTET_ASSERT_OK_AND_ASSIGN(lhs, expr)                                  \
  OCTET_ASSERT_OK_AND_ASSIGN_(OCTET_TESTING_CONCAT_(octet_or_, __LINE__), lhs, \
                              expr)
#define OCTET_ASSERT_OK_AND_ASSIGN_(var, lhs, expr) \
  auto var = (expr);                                \
  ASSERT_THAT(var, ::octet::testing::IsOk());       \
  lhs = std::move(var).value()

#endif  // OCTET_TESTING_STATUS_MATCHERS_H_
