// SPDX-License-Identifier: Apache-2.0
#include "io/atomic_file.h"

#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <string>

#include "io/file.h"
#include "testing/status_matchers.h"
#include "testing/temp_folder.h"

namespace octet::io {
namespace {

using ::octet::testing::IsOk;
using ::octet::testing::StatusIs;
using ::octet::testing::TempFolder;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(AtomicFileTest, WritesAndReplaces) {
  const TempFolder folder;
  const std::string path = folder.Join("a");
  ASSERT_THAT(WriteFile(path, "one"), IsOk());
  EXPECT_EQ(ReadFile(path).value(), "one");
  const std::string large(300000, 'x');
  ASSERT_THAT(WriteFile(path, large), IsOk());
  EXPECT_EQ(ReadFile(path).value(), large);
  ASSERT_THAT(WriteFile(path, ""), IsOk());
  EXPECT_EQ(ReadFile(path).value(), "");
  EXPECT_THAT(folder.List(), ElementsAre("a"));
}

TEST(AtomicFileTest, NothingShowsBeforeTheCommit) {
  const TempFolder folder;
  const std::string path = folder.Join("a");
  ASSERT_THAT(WriteFile(path, "old"), IsOk());
  {
    OCTET_ASSERT_OK_AND_ASSIGN(AtomicFile file, AtomicFile::Create(path));
    ASSERT_THAT(file.Write("new", 3), IsOk());
    EXPECT_EQ(ReadFile(path).value(), "old");
  }
  EXPECT_EQ(ReadFile(path).value(), "old");
  EXPECT_THAT(folder.List(), ElementsAre("a"));
}

// No file of the process grows beyond some bytes: as on a disk that is full.
class SmallFiles {
 public:
  SmallFiles() {
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit small = {1000, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
  }
  ~SmallFiles() { setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_ = {};
};

TEST(AtomicFileTest, AFileThatCannotGrowIsNamedAndLeavesTheOldOne) {
  const TempFolder folder;
  const std::string path = folder.Join("a");
  ASSERT_THAT(WriteFile(path, "old"), IsOk());
  const std::string large(5000, 'x');
  OCTET_ASSERT_OK_AND_ASSIGN(AtomicFile file, AtomicFile::Create(path));
  EXPECT_EQ(folder.List().size(), 2u);
  const auto full = StatusIs(absl::StatusCode::kOutOfRange,
                             AllOf(HasSubstr(path), HasSubstr("too large")));
  {
    const SmallFiles scope;
    EXPECT_THAT(file.Write(large.data(), large.size()), full);
  }
  EXPECT_THAT(folder.List(), ElementsAre("a"));
  EXPECT_THAT(file.Write("new", 3), full);
  EXPECT_THAT(file.Commit(), full);
  EXPECT_EQ(ReadFile(path).value(), "old");
  EXPECT_THAT(folder.List(), ElementsAre("a"));
}

// Whatever has such a name is its owner's.
TEST(AtomicFileTest, OthersFilesStay) {
  const TempFolder folder;
  ASSERT_THAT(WriteFile(folder.Join("a.tmp"), "mine"), IsOk());
  ASSERT_EQ(symlink("/dev/full", folder.Join("b.tmp").c_str()), 0);
  ASSERT_THAT(WriteFile(folder.Join("a"), "a"), IsOk());
  ASSERT_THAT(WriteFile(folder.Join("b"), "b"), IsOk());
  EXPECT_THAT(AtomicFile::Create(folder.Join("a")).status(), IsOk());
  EXPECT_EQ(ReadFile(folder.Join("a.tmp")).value(), "mine");
  EXPECT_EQ(ReadFile(folder.Join("a")).value(), "a");
  EXPECT_THAT(folder.List(), ElementsAre("a", "a.tmp", "b", "b.tmp"));
}

TEST(AtomicFileTest, TwoWritersAtOnce) {
  const TempFolder folder;
  const std::string path = folder.Join("a");
  OCTET_ASSERT_OK_AND_ASSIGN(AtomicFile first, AtomicFile::Create(path));
  OCTET_ASSERT_OK_AND_ASSIGN(AtomicFile second, AtomicFile::Create(path));
  ASSERT_THAT(first.Write("first", 5), IsOk());
  ASSERT_THAT(second.Write("second", 6), IsOk());
  ASSERT_THAT(second.Commit(), IsOk());
  EXPECT_EQ(ReadFile(path).value(), "second");
  ASSERT_THAT(first.Commit(), IsOk());
  EXPECT_EQ(ReadFile(path).value(), "first");
  EXPECT_THAT(folder.List(), ElementsAre("a"));
}

TEST(AtomicFileTest, TemporaryNames) {
  const TempFolder folder;
  for (const std::string& name :
       {std::string("a.json"), std::string(255, 'n'), std::string(244, 'n')}) {
    OCTET_ASSERT_OK_AND_ASSIGN(AtomicFile file,
                               AtomicFile::Create(folder.Join(name)));
    ASSERT_EQ(folder.List().size(), 1u);
    EXPECT_EQ(WithoutTemporary(folder.List()[0]), name.substr(0, 244));
  }
  EXPECT_THAT(WriteFile(folder.Join(std::string(255, 'n')), "x"), IsOk());
  EXPECT_EQ(folder.List().size(), 1u);
  EXPECT_FALSE(AtomicFile::Create(folder.Join(std::string(256, 'n'))).ok());
  EXPECT_EQ(folder.List().size(), 1u);
  EXPECT_EQ(WithoutTemporary("a.b.1a2b3c.tmp"), "a.b");
  for (const char* name : {"", "a", "a.tmp", "a.1a2b3c", ".1a2b3c.tmp",
                           "a.1a2b3.tmp", "a.1A2b3c.tmp", "1a2b3c.tmp"}) {
    EXPECT_EQ(WithoutTemporary(name), name);
  }
}

TEST(AtomicFileTest, CannotReplaceAFolder) {
  const TempFolder folder;
  ASSERT_EQ(mkdir(folder.Join("a").c_str(), 0777), 0);
  EXPECT_THAT(WriteFile(folder.Join("a"), "b"),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr(folder.Join("a"))));
  EXPECT_THAT(folder.List(), ElementsAre("a"));
}

TEST(AtomicFileTest, OneCommitAlone) {
  const TempFolder folder;
  OCTET_ASSERT_OK_AND_ASSIGN(AtomicFile file,
                             AtomicFile::Create(folder.Join("a")));
  ASSERT_THAT(file.Commit(), IsOk());
  EXPECT_THAT(file.Commit(), StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(file.Write("b", 1),
              StatusIs(absl::StatusCode::kFailedPrecondition));
}

TEST(AtomicFileTest, AMissingFolderIsNotFound) {
  const TempFolder folder;
  EXPECT_THAT(WriteFile(folder.Join("none/a"), "b"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("none/a")));
  EXPECT_THAT(SyncFolder(folder.Join("none")),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("none")));
  EXPECT_THAT(SyncFolder(folder.path()), IsOk());
}

TEST(FileTest, ReadErrorsNameThePath) {
  const TempFolder folder;
  EXPECT_THAT(ReadFile(folder.Join("none")),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("/none")));
  EXPECT_THAT(MappedFile::Open(folder.Join("none")),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("/none")));
  EXPECT_THAT(ReadFile(folder.path()),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("is a folder")));
}

// Permissions do not bind the superuser: without its capabilities they do.
class WithoutCapabilities {
 public:
  WithoutCapabilities() {
    if (syscall(SYS_capget, &header_, before_) != 0) return;
    __user_cap_data_struct none[2] = {before_[0], before_[1]};
    none[0].effective = none[1].effective = 0;
    syscall(SYS_capset, &header_, none);
  }
  ~WithoutCapabilities() { syscall(SYS_capset, &header_, before_); }

 private:
  __user_cap_header_struct header_ = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct before_[2] = {};
};

TEST(FileTest, AForbiddenFileIsPermissionDenied) {
  const TempFolder folder;
  const std::string path = folder.Join("secret");
  ASSERT_THAT(WriteFile(path, "a"), IsOk());
  ASSERT_EQ(chmod(path.c_str(), 0), 0);
  const WithoutCapabilities scope;
  EXPECT_THAT(ReadFile(path), StatusIs(absl::StatusCode::kPermissionDenied,
                                       HasSubstr("/secret")));
}

TEST(FileTest, ReadsWhatHasNoSize) {
  OCTET_ASSERT_OK_AND_ASSIGN(const std::string status,
                             ReadFile("/proc/self/status"));
  EXPECT_THAT(status, HasSubstr("Pid:"));
}

TEST(FileTest, Maps) {
  const TempFolder folder;
  ASSERT_THAT(WriteFile(folder.Join("a"), "abc"), IsOk());
  ASSERT_THAT(WriteFile(folder.Join("empty"), ""), IsOk());
  OCTET_ASSERT_OK_AND_ASSIGN(MappedFile file,
                             MappedFile::Open(folder.Join("a")));
  const uint8_t* data = file.data();
  const MappedFile moved = std::move(file);
  EXPECT_EQ(moved.data(), data);
  EXPECT_EQ(moved.size(), 3);
  EXPECT_EQ(moved.data()[2], 'c');
  OCTET_ASSERT_OK_AND_ASSIGN(const MappedFile empty,
                             MappedFile::Open(folder.Join("empty")));
  EXPECT_EQ(empty.size(), 0);
}

TEST(FileTest, JoinPath) {
  EXPECT_EQ(JoinPath("a", "b"), "a/b");
  EXPECT_EQ(JoinPath("a/", "b"), "a/b");
  EXPECT_EQ(JoinPath("", "b"), "b");
  EXPECT_EQ(JoinPath("/", "b"), "/b");
}

TEST(AtomicFileTest, ADeviceStaysOne) {
  EXPECT_THAT(WriteFile("/dev/null", "x"), IsOk());
  EXPECT_THAT(
      WriteFile("/dev/full", "x"),
      StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("/dev/full")));
  EXPECT_THAT(
      AtomicFile::Create("/dev/null").status(),
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("/dev/null")));
}

}  // namespace
}  // namespace octet::io
