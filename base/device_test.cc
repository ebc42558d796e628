// SPDX-License-Identifier: Apache-2.0
#include "base/device.h"

#include "base/device_runtime.h"
#include "testing/status_matchers.h"

namespace octet {
namespace {

using ::octet::testing::IsOk;
using ::octet::testing::StatusIs;
using ::testing::HasSubstr;

TEST(DeviceTest, CpuIsAlwaysThere) {
  OCTET_ASSERT_OK_AND_ASSIGN(const Device device, ResolveDevice("cpu"));
  EXPECT_EQ(device.ToString(), "cpu");
}

TEST(DeviceTest, AutoFallsBackToCpuWithoutTheCudaLeaf) {
  OCTET_ASSERT_OK_AND_ASSIGN(const Device device, ResolveDevice("auto"));
  EXPECT_EQ(device.kind, DeviceKind::kCpu);
}

TEST(DeviceTest, CudaByNameNeedsTheLeaf) {
  EXPECT_THAT(ResolveDevice("cuda:1"),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("//base:device_cuda")));
}

TEST(DeviceTest, UnknownNamesAreRefused) {
  for (const char* name : {"", "gpu", "cuda:", "cuda:x", "cudax", "CPU"}) {
    EXPECT_THAT(ResolveDevice(name),
                StatusIs(absl::StatusCode::kInvalidArgument))
        << name;
  }
}

TEST(DeviceRuntimeTest, CpuMemoryIsAligned) {
  OCTET_ASSERT_OK_AND_ASSIGN(const DeviceRuntime* runtime,
                             GetDeviceRuntime(DeviceKind::kCpu));
  OCTET_ASSERT_OK_AND_ASSIGN(void* data, runtime->allocate(0, 3));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % 256, 0);
  runtime->free(0, data);
}

}  // namespace
}  // namespace octet
