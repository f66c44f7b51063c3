#include "common/files/io.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <limits>

namespace horizon {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string Message(const absl::Status& status) { return std::string(status.message()); }

class IoTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = JoinPath(testing::TempDir(), "io_test_XXXXXX");
    ASSERT_NE(::mkdtemp(folder_.data()), nullptr);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string Path(std::string_view name) const { return JoinPath(folder_, name); }

  void Put(const std::string& path, std::string_view text) {
    auto file = io_->Open(path, OpenMode::kTruncate);
    ASSERT_TRUE(file.ok()) << file.status();
    ASSERT_TRUE((*file)->WriteAt(0, std::as_bytes(std::span(text))).ok());
    ASSERT_TRUE((*file)->Close().ok());
  }

  std::string Get(const std::string& path) {
    auto file = io_->Open(path, OpenMode::kRead);
    if (!file.ok()) return file.status().ToString();
    std::array<std::byte, 4096> buffer;
    const auto count = (*file)->ReadAt(0, buffer);
    if (!count.ok()) return count.status().ToString();
    return std::string(reinterpret_cast<const char*>(buffer.data()), *count);
  }

  std::unique_ptr<Io> io_ = MakePosixIo();
  std::string folder_;
};

TEST_F(IoTest, AReadIsShortOnlyAtTheEndOfTheFile) {
  Put(Path("a"), "0123456789");
  const auto file = io_->Open(Path("a"), OpenMode::kRead);
  ASSERT_TRUE(file.ok());
  std::array<std::byte, 6> six;
  EXPECT_EQ(*(*file)->ReadAt(0, six), 6u);
  EXPECT_EQ(*(*file)->ReadAt(4, six), 6u);
  EXPECT_EQ(static_cast<char>(six[0]), '4');
  EXPECT_EQ(*(*file)->ReadAt(7, six), 3u);
  EXPECT_EQ(static_cast<char>(six[2]), '9');
  EXPECT_EQ(*(*file)->ReadAt(10, six), 0u);
  EXPECT_EQ(*(*file)->ReadAt(11, six), 0u);
  EXPECT_EQ(*(*file)->ReadAt(3, {}), 0u);
}

TEST_F(IoTest, OffsetsAtTheLimitsOfTheSystemArePastTheEnd) {
  Put(Path("a"), "text");
  const auto file = io_->Open(Path("a"), OpenMode::kRead);
  ASSERT_TRUE(file.ok());
  constexpr uint64_t kLargest = std::numeric_limits<int64_t>::max();
  std::array<std::byte, 8> into;
  for (const uint64_t offset :
       {kLargest - 8, kLargest - 1, kLargest, kLargest + 1, std::numeric_limits<uint64_t>::max()}) {
    const auto count = (*file)->ReadAt(offset, into);
    ASSERT_TRUE(count.ok()) << offset << " " << count.status();
    EXPECT_EQ(*count, 0u) << offset;
  }
}

TEST_F(IoTest, AWriteAtAnImpossibleOffsetIsRefusedWithoutTouchingTheFile) {
  const auto file = io_->Open(Path("a"), OpenMode::kCreateNew);
  ASSERT_TRUE(file.ok());
  const std::array<std::byte, 4> from{};
  for (const uint64_t offset : {uint64_t{std::numeric_limits<int64_t>::max()} - 2,
                                std::numeric_limits<uint64_t>::max() - 1}) {
    EXPECT_EQ(IoErrno((*file)->WriteAt(offset, from)), EFBIG) << offset;
  }
  EXPECT_EQ((*file)->Info()->size, 0_B);
}

TEST_F(IoTest, WritesLandAtTheirOffsetsAndLeaveAHole) {
  const auto file = io_->Open(Path("a"), OpenMode::kCreateNew);
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE((*file)->WriteAt(4, std::as_bytes(std::span("cd", 2))).ok());
  ASSERT_TRUE((*file)->WriteAt(0, std::as_bytes(std::span("ab", 2))).ok());
  ASSERT_TRUE((*file)->Sync().ok());
  EXPECT_EQ((*file)->Info()->size, 6_B);
  ASSERT_TRUE((*file)->Close().ok());
  EXPECT_EQ(Get(Path("a")), std::string("ab\0\0cd", 6));
}

TEST_F(IoTest, ModesCreateEmptyAndAppendAsTheySay) {
  Put(Path("a"), "old text");
  const auto again = io_->Open(Path("a"), OpenMode::kCreateNew);
  EXPECT_TRUE(absl::IsAlreadyExists(again.status())) << again.status();
  EXPECT_EQ(IoErrno(again.status()), EEXIST);
  EXPECT_EQ(Get(Path("a")), "old text");
  {
    const auto file = io_->Open(Path("a"), OpenMode::kAppend);
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE((*file)->WriteAt(0, std::as_bytes(std::span("+", 1))).ok());
    const uint64_t ignored = std::numeric_limits<uint64_t>::max();
    ASSERT_TRUE((*file)->WriteAt(ignored, std::as_bytes(std::span("-", 1))).ok());
  }
  EXPECT_EQ(Get(Path("a")), "old text+-");
  ASSERT_TRUE(io_->Open(Path("a"), OpenMode::kTruncate).ok());
  EXPECT_EQ(Get(Path("a")), "");
  ASSERT_TRUE(io_->Open(Path("b"), OpenMode::kAppend).ok());
  EXPECT_EQ(Get(Path("b")), "");
}

TEST_F(IoTest, DirectReadingGivesTheBytesOrSaysThatItCannot) {
  Put(Path("a"), std::string(kDirectAlignment, 'x') + std::string(100, 'y'));
  EXPECT_EQ(IoErrno(io_->Open(Path("none"), OpenMode::kReadDirect).status()), ENOENT);
  const auto file = io_->Open(Path("a"), OpenMode::kReadDirect);
  if (!file.ok()) {
    EXPECT_EQ(IoErrno(file.status()), EINVAL) << file.status();
    EXPECT_THAT(Message(file.status()), HasSubstr("open for direct reading"));
    return;
  }
  alignas(kDirectAlignment) static std::array<std::byte, 3 * kDirectAlignment> buffer;
  const auto count = (*file)->ReadAt(0, buffer);
  ASSERT_TRUE(count.ok()) << count.status();
  EXPECT_EQ(*count, kDirectAlignment + 100);
  EXPECT_EQ(buffer[kDirectAlignment - 1], std::byte{'x'});
  EXPECT_EQ(buffer[kDirectAlignment + 99], std::byte{'y'});
}

TEST_F(IoTest, AFileOpenedForWritingIsNotRead) {
  const auto file = io_->Open(Path("a"), OpenMode::kCreateNew);
  ASSERT_TRUE(file.ok());
  std::array<std::byte, 1> into;
  EXPECT_EQ(IoErrno((*file)->ReadAt(0, into).status()), EBADF);
}

TEST_F(IoTest, AMissingFileIsNotFoundAndNamed) {
  const auto file = io_->Open(Path("missing"), OpenMode::kRead);
  EXPECT_TRUE(absl::IsNotFound(file.status()));
  EXPECT_EQ(IoErrno(file.status()), ENOENT);
  EXPECT_THAT(Message(file.status()), HasSubstr(Path("missing")));
  EXPECT_THAT(Message(file.status()), HasSubstr("No such file"));
  EXPECT_EQ(IoErrno(io_->Info(Path("missing")).status()), ENOENT);
  EXPECT_EQ(IoErrno(io_->Unlink(Path("missing"))), ENOENT);
  EXPECT_EQ(IoErrno(io_->List(Path("missing")).status()), ENOENT);
  EXPECT_EQ(IoErrno(io_->RemoveDirectory(Path("missing"))), ENOENT);
  EXPECT_EQ(IoErrno(io_->SyncDirectory(Path("missing"))), ENOENT);
  EXPECT_EQ(IoErrno(io_->FreeSpace(Path("missing")).status()), ENOENT);
  EXPECT_EQ(IoErrno(io_->Rename(Path("missing"), Path("b"))), ENOENT);
  EXPECT_EQ(IoErrno(io_->Open(Path("no/file"), OpenMode::kCreateNew).status()), ENOENT);
  Put(Path("plain"), "");
  EXPECT_TRUE(absl::IsNotFound(io_->Open(Path("plain/x"), OpenMode::kRead).status()));
}

// Would hang for ever if the open waited for the pipe's other end.
TEST_F(IoTest, AFifoIsRefusedAtOnceInEveryMode) {
  ASSERT_EQ(::mkfifo(Path("fifo").c_str(), 0600), 0);
  for (const OpenMode mode : {OpenMode::kRead, OpenMode::kTruncate, OpenMode::kAppend}) {
    const auto file = io_->Open(Path("fifo"), mode);
    EXPECT_TRUE(absl::IsInvalidArgument(file.status())) << file.status();
    EXPECT_THAT(Message(file.status()), HasSubstr("FIFO"));
    EXPECT_EQ(IoErrno(file.status()), 0);
  }
}

TEST_F(IoTest, DirectoriesDevicesAndSocketsAreRefusedByKind) {
  const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  // The folder's own path may be longer than an address may be.
  const std::string name = "/proc/self/cwd/socket";
  std::strncpy(address.sun_path, name.c_str(), sizeof(address.sun_path) - 1);
  const std::string here = std::filesystem::current_path();
  std::filesystem::current_path(folder_);
  ASSERT_EQ(::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  std::filesystem::current_path(here);
  for (const OpenMode mode : {OpenMode::kRead, OpenMode::kTruncate, OpenMode::kAppend}) {
    for (const auto& [path, kind] : {std::pair<std::string, std::string>{folder_, "directory"},
                                     {"/dev/null", "character device"},
                                     {Path("socket"), "socket"}}) {
      const auto file = io_->Open(path, mode);
      EXPECT_TRUE(absl::IsInvalidArgument(file.status())) << file.status();
      EXPECT_THAT(Message(file.status()), HasSubstr(kind));
      EXPECT_THAT(Message(file.status()), HasSubstr(path));
    }
  }
  ::close(socket);
}

TEST_F(IoTest, ASymbolicLinkIsFollowedAndReported) {
  Put(Path("target"), "text");
  ASSERT_EQ(::symlink("target", Path("link").c_str()), 0);
  ASSERT_EQ(::symlink("nowhere", Path("dangling").c_str()), 0);
  ASSERT_EQ(::symlink("loop", Path("loop").c_str()), 0);
  ASSERT_EQ(::symlink("/dev/null", Path("device").c_str()), 0);
  EXPECT_EQ(Get(Path("link")), "text");
  const auto info = io_->Info(Path("link"));
  ASSERT_TRUE(info.ok());
  EXPECT_TRUE(info->is_symlink);
  EXPECT_EQ(info->kind, FileKind::kRegular);
  EXPECT_EQ(info->size, 4_B);
  EXPECT_FALSE(io_->Info(Path("target"))->is_symlink);
  EXPECT_EQ(io_->Info(Path("device"))->kind, FileKind::kOther);
  EXPECT_TRUE(absl::IsInvalidArgument(io_->Open(Path("device"), OpenMode::kRead).status()));
  EXPECT_TRUE(absl::IsNotFound(io_->Info(Path("dangling")).status()));
  EXPECT_TRUE(absl::IsNotFound(io_->Open(Path("dangling"), OpenMode::kRead).status()));
  EXPECT_EQ(IoErrno(io_->Open(Path("loop"), OpenMode::kRead).status()), ELOOP);
}

TEST_F(IoTest, APathWithANulByteIsRefusedEverywhere) {
  Put(Path("a"), "text");
  const std::string bad = Path("a") + std::string("\0.json", 6);
  const auto refused = [](const absl::Status& status) { return absl::IsInvalidArgument(status); };
  EXPECT_TRUE(refused(io_->Open(bad, OpenMode::kRead).status()));
  EXPECT_TRUE(refused(io_->Rename(bad, Path("b"))));
  EXPECT_TRUE(refused(io_->Rename(Path("a"), bad)));
  EXPECT_TRUE(refused(io_->RenameNoReplace(bad, Path("b"))));
  EXPECT_TRUE(refused(io_->RenameNoReplace(Path("a"), bad)));
  EXPECT_TRUE(refused(io_->Unlink(bad)));
  EXPECT_TRUE(refused(io_->MakeDirectory(bad)));
  EXPECT_TRUE(refused(io_->RemoveDirectory(bad)));
  EXPECT_TRUE(refused(io_->List(bad).status()));
  EXPECT_TRUE(refused(io_->Info(bad).status()));
  EXPECT_TRUE(refused(io_->FreeSpace(bad).status()));
  EXPECT_TRUE(refused(io_->SyncDirectory(bad)));
  EXPECT_EQ(Get(Path("a")), "text");
}

TEST_F(IoTest, DirectoriesAreMadeListedInOrderAndRemoved) {
  ASSERT_TRUE(io_->MakeDirectory(Path("d")).ok());
  EXPECT_TRUE(absl::IsAlreadyExists(io_->MakeDirectory(Path("d"))));
  EXPECT_EQ(io_->Info(Path("d"))->kind, FileKind::kDirectory);
  EXPECT_THAT(*io_->List(Path("d")), IsEmpty());
  for (const char* name : {"d/b", "d/a", "d/.hidden", "d/c"}) Put(Path(name), "");
  EXPECT_THAT(*io_->List(Path("d")), ElementsAre(".hidden", "a", "b", "c"));
  EXPECT_TRUE(io_->SyncDirectory(Path("d")).ok());
  EXPECT_EQ(IoErrno(io_->RemoveDirectory(Path("d"))), ENOTEMPTY);
  EXPECT_FALSE(io_->Unlink(Path("d")).ok());
  for (const char* name : {"d/b", "d/a", "d/.hidden", "d/c"}) {
    EXPECT_TRUE(io_->Unlink(Path(name)).ok());
  }
  EXPECT_TRUE(io_->RemoveDirectory(Path("d")).ok());
  EXPECT_TRUE(absl::IsNotFound(io_->Info(Path("d")).status()));
}

TEST_F(IoTest, AFileIsNotADirectory) {
  Put(Path("a"), "");
  EXPECT_EQ(IoErrno(io_->List(Path("a")).status()), ENOTDIR);
  EXPECT_EQ(IoErrno(io_->SyncDirectory(Path("a"))), ENOTDIR);
  EXPECT_EQ(IoErrno(io_->RemoveDirectory(Path("a"))), ENOTDIR);
}

TEST_F(IoTest, RenameReplacesAndRenameNoReplaceDoesNot) {
  Put(Path("a"), "a");
  Put(Path("b"), "b");
  const absl::Status refused = io_->RenameNoReplace(Path("a"), Path("b"));
  EXPECT_TRUE(absl::IsAlreadyExists(refused)) << refused;
  EXPECT_THAT(Message(refused), HasSubstr(Path("b")));
  EXPECT_EQ(Get(Path("a")), "a");
  EXPECT_EQ(Get(Path("b")), "b");
  ASSERT_TRUE(io_->Rename(Path("a"), Path("b")).ok());
  EXPECT_EQ(Get(Path("b")), "a");
  ASSERT_TRUE(io_->RenameNoReplace(Path("b"), Path("c")).ok());
  EXPECT_THAT(*io_->List(folder_), ElementsAre("c"));
}

// A directory cannot go into itself: EINVAL, as from a file system without the flag, so that this
// also walks through the fall-back.
TEST_F(IoTest, RenamingADirectoryIntoItselfFailsAndKeepsIt) {
  ASSERT_TRUE(io_->MakeDirectory(Path("d")).ok());
  EXPECT_EQ(IoErrno(io_->RenameNoReplace(Path("d"), Path("d/e"))), EINVAL);
  EXPECT_THAT(*io_->List(folder_), ElementsAre("d"));
}

TEST_F(IoTest, FreeSpaceIsAPlausibleNumber) {
  const auto free = io_->FreeSpace(folder_);
  ASSERT_TRUE(free.ok());
  EXPECT_TRUE(free->ok());
  EXPECT_EQ(free->value(), std::filesystem::space(folder_).available);
}

TEST_F(IoTest, DescriptorsAreNotInheritedAndComeBack) {
  Put(Path("a"), "");
  const auto count = [this] { return io_->List("/proc/self/fd")->size(); };
  const size_t before = count();
  {
    const auto file = io_->Open(Path("a"), OpenMode::kRead);
    ASSERT_TRUE(file.ok());
    EXPECT_EQ(count(), before + 1);
    int inherited = 0;
    const auto names = io_->List("/proc/self/fd");
    for (const std::string& name : *names) {
      std::error_code error;
      const auto target = std::filesystem::read_symlink("/proc/self/fd/" + name, error);
      if (target != std::filesystem::canonical(Path("a"))) continue;
      inherited += (::fcntl(std::stoi(name), F_GETFD) & FD_CLOEXEC) == 0 ? 1 : 0;
    }
    EXPECT_EQ(inherited, 0);
    ASSERT_TRUE((*file)->Close().ok());
    EXPECT_EQ(count(), before);
  }
  EXPECT_FALSE(io_->Open(folder_, OpenMode::kRead).ok());
  EXPECT_FALSE(io_->Open("/dev/null", OpenMode::kRead).ok());
  EXPECT_TRUE(io_->SyncDirectory(folder_).ok());
  EXPECT_EQ(count(), before);
}

// Runs `body` in a child, whose limits may be lowered; 0 when it returned true.
template <typename Body>
int InChild(Body body) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(body() ? 0 : 1);
  int status = -1;
  ::waitpid(child, &status, 0);
  return status;
}

TEST_F(IoTest, AFileSizeLimitIsResourceExhaustedAfterTheBytesThatFitted) {
  EXPECT_EQ(InChild([&] {
              std::signal(SIGXFSZ, SIG_IGN);
              const rlimit limit{1000, 1000};
              if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return false;
              auto file = io_->Open(Path("a"), OpenMode::kCreateNew);
              const std::string text(1500, 'x');
              const absl::Status status =
                  (*file)->WriteAt(0, std::as_bytes(std::span(std::string_view(text))));
              return absl::IsResourceExhausted(status) && IoErrno(status) == EFBIG &&
                     Message(status).find("1500 bytes at offset 0") != std::string::npos;
            }),
            0);
  // The system wrote what fitted; the loop went on and then met the error.
  EXPECT_EQ(io_->Info(Path("a"))->size, 1000_B);
}

TEST_F(IoTest, TooManyOpenFilesIsResourceExhausted) {
  Put(Path("a"), "");
  EXPECT_EQ(InChild([&] {
              const rlimit limit{0, 0};
              if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) return false;
              const absl::Status status = io_->Open(Path("a"), OpenMode::kRead).status();
              return absl::IsResourceExhausted(status) && IoErrno(status) == EMFILE;
            }),
            0);
}

// Root passes every permission check, so the child gives root up first.
TEST_F(IoTest, AForbiddenFileIsPermissionDenied) {
  Put(Path("a"), "secret");
  ASSERT_EQ(::chmod(Path("a").c_str(), 0), 0);
  EXPECT_EQ(InChild([&] {
              // Opened relative to a folder already entered: parents may be closed to others.
              if (::chdir(folder_.c_str()) != 0 || ::chmod(".", 0755) != 0) return false;
              if (::geteuid() == 0 && ::setuid(65534) != 0) return false;
              const absl::Status status = io_->Open("a", OpenMode::kRead).status();
              return absl::IsPermissionDenied(status) && IoErrno(status) == EACCES;
            }),
            0);
}

TEST_F(IoTest, ALockIsHeldByOneAndNamesItsProcess) {
  const std::string path = Path("lock");
  auto lock = io_->Lock(path);
  ASSERT_TRUE(lock.ok()) << lock.status();
  EXPECT_EQ(Get(path), std::to_string(::getpid()) + "\n");
  const absl::Status second = io_->Lock(path).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(second));
  EXPECT_EQ(IoErrno(second), 0);
  EXPECT_THAT(Message(second), HasSubstr("process " + std::to_string(::getpid()) + " holds it"));
  lock->reset();
  EXPECT_TRUE(io_->Lock(path).ok());
  EXPECT_THAT(*io_->List(folder_), ElementsAre("lock"));
}

TEST_F(IoTest, ALockCanBeLookedAtWithoutTakingIt) {
  const std::string path = Path("looked-at");
  EXPECT_FALSE(*io_->IsLocked(path));
  EXPECT_FALSE(io_->Info(path).ok());  // looking makes nothing
  {
    const auto lock = io_->Lock(path);
    ASSERT_TRUE(lock.ok()) << lock.status();
    EXPECT_TRUE(*io_->IsLocked(path));
    EXPECT_TRUE(*io_->IsLocked(path));
    EXPECT_FALSE(io_->Lock(path).ok());
  }
  EXPECT_FALSE(*io_->IsLocked(path));
  EXPECT_TRUE(io_->Lock(path).ok());
}

TEST_F(IoTest, ALockKeepsOtherProcessesOutAndEndsWithItsOwn) {
  const std::string path = Path("lock");
  {
    const auto lock = io_->Lock(path);
    ASSERT_TRUE(lock.ok()) << lock.status();
    EXPECT_EQ(InChild([&] { return absl::IsFailedPrecondition(io_->Lock(path).status()); }), 0);
  }
  // Leaves without giving it back, and with a longer number than ours may have.
  EXPECT_EQ(InChild([&] {
              auto lock = io_->Lock(path);
              return lock.ok() && lock->release() != nullptr;
            }),
            0);
  Put(path, "12345678901234567890123456789");
  const auto lock = io_->Lock(path);
  EXPECT_TRUE(lock.ok()) << lock.status();
  EXPECT_EQ(Get(path), std::to_string(::getpid()) + "\n");
}

TEST_F(IoTest, ALockIsNoLinkNoFolderAndNotInNowhere) {
  Put(Path("precious"), "x");
  ASSERT_EQ(::symlink("precious", Path("link").c_str()), 0);
  EXPECT_TRUE(absl::IsInvalidArgument(io_->Lock(Path("link")).status()));
  EXPECT_EQ(Get(Path("precious")), "x");
  EXPECT_EQ(IoErrno(io_->Lock(folder_).status()), EISDIR);
  EXPECT_EQ(IoErrno(io_->Lock(Path("missing/lock")).status()), ENOENT);
  EXPECT_TRUE(absl::IsInvalidArgument(io_->Lock(std::string("a\0b", 3)).status()));
}

TEST_F(IoTest, DroppingTheCacheChangesNothingOfTheFile) {
  auto file = io_->Open(Path("a"), OpenMode::kCreateNew);
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE((*file)->WriteAt(0, std::as_bytes(std::span("abc", 3))).ok());
  EXPECT_TRUE((*file)->DropCache().ok());
  ASSERT_TRUE((*file)->WriteAt(3, std::as_bytes(std::span("def", 3))).ok());
  EXPECT_TRUE((*file)->DropCache().ok());
  EXPECT_TRUE((*file)->Sync().ok());
  EXPECT_EQ(Get(Path("a")), "abcdef");
  ASSERT_TRUE((*file)->Close().ok());
  EXPECT_EQ(IoErrno((*file)->DropCache()), EBADF);
}

TEST(IoError, OtherWordsKeepCodeAndErrno) {
  const absl::Status status = WithMessage(IoError(ENOSPC, "write"), "while saving");
  EXPECT_EQ(IoErrno(status), ENOSPC);
  EXPECT_TRUE(absl::IsResourceExhausted(status));
  EXPECT_EQ(Message(status), "while saving");
  EXPECT_TRUE(WithMessage(absl::OkStatus(), "while saving").ok());
}

TEST(IoError, EveryErrnoHasItsCodeAndIsCarried) {
  for (const auto& [error_number, code] : {std::pair{ENOENT, absl::StatusCode::kNotFound},
                                           {ENOTDIR, absl::StatusCode::kNotFound},
                                           {ENOSPC, absl::StatusCode::kResourceExhausted},
                                           {EDQUOT, absl::StatusCode::kResourceExhausted},
                                           {EFBIG, absl::StatusCode::kResourceExhausted},
                                           {EMFILE, absl::StatusCode::kResourceExhausted},
                                           {ENFILE, absl::StatusCode::kResourceExhausted},
                                           {EACCES, absl::StatusCode::kPermissionDenied},
                                           {EPERM, absl::StatusCode::kPermissionDenied},
                                           {EROFS, absl::StatusCode::kPermissionDenied},
                                           {EEXIST, absl::StatusCode::kAlreadyExists},
                                           {EIO, absl::StatusCode::kUnavailable},
                                           {12345, absl::StatusCode::kUnavailable}}) {
    const absl::Status status = IoError(error_number, "do it to 'x'");
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_EQ(IoErrno(status), error_number);
    EXPECT_THAT(Message(status), HasSubstr("cannot do it to 'x': "));
  }
  EXPECT_THAT(Message(IoError(ENOSPC, "write")), HasSubstr("free some space"));
  EXPECT_THAT(Message(IoError(12345, "write")), HasSubstr("error number 12345"));
}

TEST(IoError, OtherErrorsCarryNoErrno) {
  EXPECT_EQ(IoErrno(absl::OkStatus()), 0);
  EXPECT_EQ(IoErrno(absl::NotFoundError("no such model")), 0);
}

TEST(JoinPath, PutsOneSlashBetween) {
  EXPECT_EQ(JoinPath("a", "b"), "a/b");
  EXPECT_EQ(JoinPath("a/", "b"), "a/b");
  EXPECT_EQ(JoinPath("/", "b"), "/b");
  EXPECT_EQ(JoinPath("", "b"), "b");
}

}  // namespace
}  // namespace horizon
