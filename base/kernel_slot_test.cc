// SPDX-License-Identifier: Apache-2.0
#include "base/kernel_slot.h"

#include "testing/status_matchers.h"

namespace octet {
namespace {

using ::octet::testing::IsOk;
using ::octet::testing::StatusIs;
using ::testing::HasSubstr;

int One() { return 1; }
int Two() { return 2; }

TEST(KernelSlotTest, CudaIsMissingUntilRegistered) {
  KernelSlot<int()> slot("//x:y_cuda", &One);
  const Device gpu{DeviceKind::kCuda, 0};
  OCTET_ASSERT_OK_AND_ASSIGN(auto* cpu, slot.Get(Device{}));
  EXPECT_EQ(cpu(), 1);
  EXPECT_THAT(slot.Get(gpu), StatusIs(absl::StatusCode::kUnimplemented,
                                      HasSubstr("//x:y_cuda")));
  slot.Register(DeviceKind::kCuda, &Two);
  OCTET_ASSERT_OK_AND_ASSIGN(auto* cuda, slot.Get(gpu));
  EXPECT_EQ(cuda(), 2);
}

}  // namespace
}  // namespace octet
