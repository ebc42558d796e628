// SPDX-License-Identifier: Apache-2.0

// Early return on an error, as in
//
//   OCTET_RETURN_IF_ERROR(Check(x));
//   OCTET_ASSIGN_OR_RETURN(const Tensor y, Make(x));
#ifndef OCTET_BASE_STATUS_MACROS_H_
#define OCTET_BASE_STATUS_MACROS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#define OCTET_RETURN_IF_ERROR(expr)                             \
  do {                                                          \
    if (absl::Status octet_status = (expr); !octet_status.ok()) \
      return octet_status;                                      \
  } while (false)

#define OCTET_STATUS_CONCAT_INNER_(a, b) a##b
#define OCTET_STATUS_CONCAT_(a, b) OCTET_STATUS_CONCAT_INNER_(a, b)

#define OCTET_ASSIGN_OR_RETURN(lhs, expr) \
  OCTET_ASSIGN_OR_RETURN_(OCTET_STATUS_CONCAT_(octet_or_, __LINE__), lhs, expr)

#define OCTET_ASSIGN_OR_RETURN_(var, lhs, expr)  \
  auto var = (expr);                             \
  if (!var.ok()) return std::move(var).status(); \
  lhs = std::move(var).value()

#endif  // OCTET_BASE_STATUS_MACROS_H_
