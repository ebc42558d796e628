// SPDX-License-Identifier: Apache-2.0

// The device a device_test is about.
//
//   OCTET_TEST_STREAM(stream);           // skips the test where it is missing
//   const Device device = stream.device();
#ifndef OCTET_TESTING_TEST_DEVICE_H_
#define OCTET_TESTING_TEST_DEVICE_H_

#include "absl/status/statusor.h"
#include "base/stream.h"
#include "base/tensor.h"
#include "gtest/gtest.h"

namespace octet::testing {

// A stream on the device that $OCTET_TEST_DEVICE names ("cpu", "cuda"; unset:
// the CPU). FailedPrecondition where this machine has no such device.
absl::StatusOr<Stream> TestStream();

// Copies between the host and the stream's device, and waits.
absl::StatusOr<Tensor> ToDevice(const Stream& stream, const TensorView& host);
absl::StatusOr<Tensor> ToHost(const Stream& stream, const TensorView& device);

}  // namespace octet::testing

// Declares `stream`. Only a missing driver or GPU skips; a leaf that is not
// linked is a failure.
#define OCTET_TEST_STREAM(stream)                         \
  absl::StatusOr<::octet::Stream> stream##_or =           \
      ::octet::testing::TestStream();                     \
  if (absl::IsFailedPrecondition(stream##_or.status())) { \
    GTEST_SKIP() << stream##_or.status().message();       \
  }                                                       \
  ASSERT_TRUE(stream##_or.ok()) << stream##_or.status();  \
  const ::octet::Stream stream = *std::move(stream##_or)

#endif  // OCTET_TESTING_TEST_DEVICE_H_
