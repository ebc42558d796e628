// SPDX-License-Identifier: Apache-2.0
#include "io/atomic_file.h"

#include <fcntl.h>
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

mode_t ModeOf(const std::string& path) {
  struct stat info = {};
  EXPECT_EQ(lstat(path.c_str(), &info), 0);
  return info.st_mode;
}

TEST(AtomicFileTest, ALinkStaysAndItsFileIsWritten) {
  const TempFolder folder;
  ASSERT_EQ(mkdir(folder.Join("d").c_str(), 0777), 0);
  ASSERT_THAT(WriteFile(folder.Join("d/a"), "old"), IsOk());
  ASSERT_EQ(symlink("d/a", folder.Join("one").c_str()), 0);
  ASSERT_EQ(symlink(folder.Join("one").c_str(), folder.Join("two").c_str()), 0);
  ASSERT_EQ(symlink("d/none", folder.Join("new").c_str()), 0);
  ASSERT_EQ(symlink("loop", folder.Join("loop").c_str()), 0);
  ASSERT_THAT(WriteFile(folder.Join("two"), "first"), IsOk());
  EXPECT_EQ(ReadFile(folder.Join("d/a")).value(), "first");
  {
    OCTET_ASSERT_OK_AND_ASSIGN(AtomicFile file,
                               AtomicFile::Create(folder.Join("one")));
    ASSERT_THAT(file.Write("second", 6), IsOk());
    ASSERT_THAT(file.Commit(), IsOk());
  }
  EXPECT_EQ(ReadFile(folder.Join("d/a")).value(), "second");
  ASSERT_THAT(WriteFile(folder.Join("new"), "new"), IsOk());
  EXPECT_EQ(ReadFile(folder.Join("d/none")).value(), "new");
  for (const char* link : {"one", "two", "new"}) {
    EXPECT_TRUE(S_ISLNK(ModeOf(folder.Join(link)))) << link;
  }
  EXPECT_THAT(WriteFile(folder.Join("loop"), "x").message(),
              HasSubstr(folder.Join("loop")));
  EXPECT_THAT(folder.List(), ElementsAre("d", "loop", "new", "one", "two"));
}

// As /dev/stdout leads to /proc/self/fd/1, whatever that is.
TEST(AtomicFileTest, AnOpenFileIsWrittenWhereItStands) {
  const TempFolder folder;
  const int fd = open(folder.Join("a").c_str(), O_RDWR | O_CREAT, 0600);
  ASSERT_GE(fd, 0);
  ASSERT_EQ(write(fd, "before ", 7), 7);
  ASSERT_EQ(symlink(("/proc/self/fd/" + std::to_string(fd)).c_str(),
                    folder.Join("link").c_str()),
            0);
  ASSERT_THAT(WriteFile(folder.Join("link"), "in"), IsOk());
  EXPECT_THAT(CheckWritable(folder.Join("link")), IsOk());
  EXPECT_THAT(AtomicFile::Create(folder.Join("link")).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  ASSERT_EQ(write(fd, " after", 6), 6);
  close(fd);
  EXPECT_EQ(ReadFile(folder.Join("a")).value(), "before in after");
  EXPECT_TRUE(S_ISLNK(ModeOf(folder.Join("link"))));
  EXPECT_THAT(WriteFile(folder.Join("link"), "x").message(), HasSubstr("link"));
  EXPECT_THAT(folder.List(), ElementsAre("a", "link"));
}

TEST(AtomicFileTest, APipeStaysOneBehindALink) {
  const TempFolder folder;
  ASSERT_EQ(mkfifo(folder.Join("pipe").c_str(), 0600), 0);
  ASSERT_EQ(symlink("pipe", folder.Join("link").c_str()), 0);
  const int fd = open(folder.Join("pipe").c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(fd, 0);
  ASSERT_THAT(WriteFile(folder.Join("link"), "abc"), IsOk());
  char got[8] = {};
  EXPECT_EQ(read(fd, got, sizeof(got)), 3);
  close(fd);
  EXPECT_STREQ(got, "abc");
  EXPECT_TRUE(S_ISFIFO(ModeOf(folder.Join("pipe"))));
  EXPECT_THAT(folder.List(), ElementsAre("link", "pipe"));
}

TEST(AtomicFileTest, KeepsPermissions) {
  const TempFolder folder;
  const std::string path = folder.Join("a");
  for (const mode_t mode : {0600, 0666, 0640, 0755}) {
    ASSERT_THAT(WriteFile(path, "old"), IsOk());
    ASSERT_EQ(chmod(path.c_str(), mode), 0);
    ASSERT_THAT(WriteFile(path, "new"), IsOk());
    EXPECT_EQ(ModeOf(path) & 07777, mode);
  }
  ASSERT_EQ(chmod(path.c_str(), 0444), 0);
  const WithoutCapabilities scope;
  EXPECT_THAT(WriteFile(path, "other"),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr(path)));
  EXPECT_THAT(CheckWritable(path),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr(path)));
  EXPECT_EQ(ReadFile(path).value(), "new");
  EXPECT_THAT(folder.List(), ElementsAre("a"));
}

TEST(AtomicFileTest, CheckWritableLeavesNothing) {
  const TempFolder folder;
  EXPECT_THAT(CheckWritable(folder.Join("a")), IsOk());
  EXPECT_THAT(CheckWritable("/dev/full"), IsOk());
  EXPECT_THAT(CheckWritable(folder.Join("none/a")),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("none/a")));
  EXPECT_TRUE(folder.List().empty());
}

TEST(FileTest, OnlyFilesAndPipesAreRead) {
  EXPECT_THAT(ReadFile("/dev/zero"),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("/dev/zero is a device")));
  const TempFolder folder;
  ASSERT_EQ(symlink("/dev/zero", folder.Join("zero").c_str()), 0);
  EXPECT_THAT(ReadFile(folder.Join("zero")),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(MappedFile::Open(folder.Join("zero")),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  ASSERT_EQ(write(ends[1], "abcd", 4), 4);
  close(ends[1]);
  EXPECT_THAT(MappedFile::Open("/proc/self/fd/" + std::to_string(ends[0])),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_EQ(ReadFile("/proc/self/fd/" + std::to_string(ends[0])).value(),
            "abcd");
  close(ends[0]);
}

TEST(FileTest, WhatIsTooLargeIsRefused) {
  const TempFolder folder;
  ASSERT_THAT(WriteFile(folder.Join("a"), "abcd"), IsOk());
  EXPECT_EQ(ReadFile(folder.Join("a"), 4).value(), "abcd");
  EXPECT_THAT(ReadFile(folder.Join("a"), 3),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       AllOf(HasSubstr(folder.Join("a")), HasSubstr("3"))));
  // What does not say how large it is.
  EXPECT_THAT(ReadFile("/proc/self/status", 100),
              StatusIs(absl::StatusCode::kResourceExhausted));
  ASSERT_EQ(truncate(folder.Join("a").c_str(), kMostBytesRead + 1), 0);
  EXPECT_THAT(ReadFile(folder.Join("a")),
              StatusIs(absl::StatusCode::kResourceExhausted));
}

}  // namespace
}  // namespace octet::io
