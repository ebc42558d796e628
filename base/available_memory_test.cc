// SPDX-License-Identifier: Apache-2.0
#include "base/available_memory.h"

#include <filesystem>
#include <fstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "testing/status_matchers.h"

namespace octet {
namespace {

using ::octet::testing::StatusIs;

class AvailableMemoryTest : public ::testing::Test {
 protected:
  void Write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(
        std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }
  ~AvailableMemoryTest() override { std::filesystem::remove_all(root_); }

  std::string root_ =
      ::testing::TempDir() + "/memory_" +
      ::testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(AvailableMemoryTest, IsTheLowestOfMachineAndControlGroups) {
  EXPECT_THAT(AvailableMemory(root_), StatusIs(absl::StatusCode::kNotFound));
  Write("/proc/meminfo", "MemTotal: 900 kB\nMemAvailable:   800 kB\n");
  EXPECT_EQ(AvailableMemory(root_).value(), 800 * 1024);
  Write("/sys/fs/cgroup/memory.max", "max\n");
  EXPECT_EQ(AvailableMemory(root_).value(), 800 * 1024);
  Write("/proc/self/cgroup", "4:memory:/box\n0::/box/inner\n");
  Write("/sys/fs/cgroup/memory/box/memory.limit_in_bytes", "700000\n");
  EXPECT_EQ(AvailableMemory(root_).value(), 700000);
  Write("/sys/fs/cgroup/box/inner/memory.max", "600000\n");
  EXPECT_EQ(AvailableMemory(root_).value(), 600000);
  Write("/sys/fs/cgroup/memory.max", "500000\n");
  EXPECT_EQ(AvailableMemory(root_).value(), 500000);
}

TEST(AvailableMemory, OfThisMachine) {
  EXPECT_GT(AvailableMemory().value(), 1 << 20);
}

}  // namespace
}  // namespace octet
