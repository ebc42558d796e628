// SPDX-License-Identifier: Apache-2.0
#include "base/device_runtime.h"

#include "base/device.h"
#include "base/tensor.h"
#include "testing/status_matchers.h"
#include "testing/test_device.h"

namespace octet {
namespace {

using ::octet::testing::IsOk;
using ::octet::testing::StatusIs;
using ::testing::HasSubstr;

TEST(DeviceRuntimeTest, CountsAndDescribesItsDevices) {
  OCTET_TEST_STREAM(stream);
  OCTET_ASSERT_OK_AND_ASSIGN(const DeviceRuntime* runtime,
                             GetDeviceRuntime(stream.device().kind));
  OCTET_ASSERT_OK_AND_ASSIGN(const int count, runtime->count());
  EXPECT_GE(count, 1);
  OCTET_ASSERT_OK_AND_ASSIGN(const std::string text, runtime->describe(0));
  EXPECT_FALSE(text.empty());
}

TEST(DeviceRuntimeTest, MemoryIsAlignedAndComesBackAsWritten) {
  OCTET_TEST_STREAM(stream);
  OCTET_ASSERT_OK_AND_ASSIGN(
      const Tensor host, Tensor::Zeros(Stream(), DType::kI32, Shape({1000})));
  for (int i = 0; i < 1000; ++i) host.as<int32_t>()[i] = i * i;
  OCTET_ASSERT_OK_AND_ASSIGN(const Tensor there,
                             testing::ToDevice(stream, host));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(there.view().data()) % 256, 0u);
  EXPECT_EQ(there.view().device(), stream.device());
  OCTET_ASSERT_OK_AND_ASSIGN(const Tensor back, testing::ToHost(stream, there));
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(back.as<int32_t>()[i], i * i);
}

TEST(DeviceRuntimeTest, FillZeroReachesEveryByte) {
  OCTET_TEST_STREAM(stream);
  OCTET_ASSERT_OK_AND_ASSIGN(const Tensor host,
                             Tensor::Allocate(DType::kU8, Shape({777})));
  for (int i = 0; i < 777; ++i) host.as<uint8_t>()[i] = 0xaa;
  OCTET_ASSERT_OK_AND_ASSIGN(const Tensor there,
                             testing::ToDevice(stream, host));
  ASSERT_THAT(FillZero(stream, there), IsOk());
  OCTET_ASSERT_OK_AND_ASSIGN(const Tensor back, testing::ToHost(stream, there));
  for (int i = 0; i < 777; ++i) EXPECT_EQ(back.as<uint8_t>()[i], 0);
}

TEST(DeviceRuntimeTest, TooMuchMemoryIsNamedAndLeavesTheDeviceUsable) {
  OCTET_TEST_STREAM(stream);
  EXPECT_THAT(Tensor::Allocate(DType::kU8, Shape({1LL << 50}), stream.device()),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("1125899906842624 bytes")));
  EXPECT_THAT(Tensor::Zeros(stream, DType::kU8, Shape({16})), IsOk());
  EXPECT_THAT(stream.Synchronize(), IsOk());
}

TEST(DeviceRuntimeTest, AutoIsTheBestDeviceThatIsLinked) {
  OCTET_TEST_STREAM(stream);
  OCTET_ASSERT_OK_AND_ASSIGN(const Device device, ResolveDevice("auto"));
  EXPECT_EQ(device.kind, stream.device().kind);
  EXPECT_THAT(ResolveDevice("cuda:99"),
              StatusIs(absl::StatusCode::kFailedPrecondition));
}

}  // namespace
}  // namespace octet
