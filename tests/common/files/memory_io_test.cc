#include "tests/common/files/memory_io.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <array>
#include <cerrno>
#include <memory>
#include <string>

#include "common/files/io.h"
#include "tests/common/files/power_cut.h"

namespace horizon {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Names = PowerCut::Names;
using Writes = PowerCut::Writes;

std::span<const std::byte> AsBytes(std::string_view text) { return std::as_bytes(std::span(text)); }

absl::Status WriteNew(Io& io, const std::string& path, std::string_view text) {
  absl::StatusOr<std::unique_ptr<File>> file = io.Open(path, OpenMode::kCreateNew);
  if (!file.ok()) return file.status();
  return (*file)->WriteAt(0, AsBytes(text));
}

// The twin has to answer as the system does wherever a test relies on it.
TEST(MemoryIo, AnswersAsTheOperatingSystem) {
  std::string folder = JoinPath(testing::TempDir(), "memory_io_XXXXXX");
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  const std::unique_ptr<Io> posix = MakePosixIo();
  MemoryIo memory;
  for (const auto& [io, root] :
       {std::pair<Io*, std::string>{posix.get(), folder}, {&memory, std::string()}}) {
    const auto at = [&](const std::string& name) { return root + "/" + name; };
    EXPECT_TRUE(io->MakeDirectory(at("d")).ok());
    EXPECT_EQ(IoErrno(io->MakeDirectory(at("d"))), EEXIST);
    EXPECT_EQ(IoErrno(io->MakeDirectory(at("missing/d"))), ENOENT);
    EXPECT_TRUE(WriteNew(*io, at("d/a"), "hello").ok());
    EXPECT_EQ(IoErrno(WriteNew(*io, at("d/a"), "again")), EEXIST);
    EXPECT_EQ(*ReadTextFile(*io, at("d/a")), "hello");
    EXPECT_EQ(io->Info(at("d/a"))->size, 5_B);
    EXPECT_EQ(io->Info(at("d"))->kind, FileKind::kDirectory);
    EXPECT_EQ(IoErrno(io->Info(at("d/b")).status()), ENOENT);
    EXPECT_EQ(IoErrno(io->Info(at("d/a/b")).status()), ENOTDIR);
    EXPECT_EQ(IoErrno(io->Open(at("d/b"), OpenMode::kRead).status()), ENOENT);
    EXPECT_EQ(IoErrno(io->RemoveDirectory(at("d"))), ENOTEMPTY);
    EXPECT_EQ(IoErrno(io->Unlink(at("d"))), EISDIR);
    EXPECT_TRUE(io->MakeDirectory(at("e")).ok());
    EXPECT_EQ(IoErrno(io->RenameNoReplace(at("d"), at("e"))), EEXIST);
    EXPECT_TRUE(io->RenameNoReplace(at("d"), at("f")).ok());
    EXPECT_THAT(*io->List(at("")), ElementsAre("e", "f"));
    EXPECT_THAT(*io->List(at("f")), ElementsAre("a"));
    EXPECT_TRUE(io->Unlink(at("f/a")).ok());
    EXPECT_TRUE(io->RemoveDirectory(at("f")).ok());
    EXPECT_TRUE(io->RemoveDirectory(at("e")).ok());
    absl::StatusOr<std::unique_ptr<FileLock>> lock = io->Lock(at("lock"));
    ASSERT_TRUE(lock.ok());
    EXPECT_TRUE(absl::IsFailedPrecondition(io->Lock(at("lock")).status()));
    lock->reset();
    EXPECT_TRUE(io->Lock(at("lock")).ok());
  }
}

TEST(MemoryIo, AFullDiskTakesWhatFits) {
  MemoryIo io;
  io.capacity = 3;
  EXPECT_EQ(IoErrno(WriteNew(io, "/a", "hello")), ENOSPC);
  EXPECT_EQ(*ReadTextFile(io, "/a"), "hel");
  EXPECT_TRUE(io.Unlink("/a").ok());
  EXPECT_TRUE(WriteNew(io, "/b", "abc").ok());
}

TEST(PowerCut, KeepsOnlyWhatWasSynced) {
  MemoryIo io;
  absl::StatusOr<std::unique_ptr<File>> file = io.Open("/a", OpenMode::kCreateNew);
  ASSERT_TRUE((*file)->WriteAt(0, AsBytes("one")).ok());
  ASSERT_TRUE((*file)->Sync().ok());
  const size_t synced = io.changes().size();
  ASSERT_TRUE((*file)->WriteAt(3, AsBytes("two")).ok());
  const size_t all = io.changes().size();

  // The file's sync does not save its name.
  MemoryIo lost(AfterPowerCut(io, {.changes = synced, .names = Names::kLost}));
  EXPECT_THAT(*lost.List("/"), IsEmpty());
  MemoryIo kept(AfterPowerCut(io, {.changes = synced, .names = Names::kKept}));
  EXPECT_EQ(*ReadTextFile(kept, "/a"), "one");
  MemoryIo none(AfterPowerCut(io, {.changes = all, .writes = Writes::kNone}));
  EXPECT_EQ(*ReadTextFile(none, "/a"), "one");
  MemoryIo whole(AfterPowerCut(io, {.changes = all, .writes = Writes::kAll}));
  EXPECT_EQ(*ReadTextFile(whole, "/a"), "onetwo");
  MemoryIo zeros(AfterPowerCut(io, {.changes = all, .writes = Writes::kZeros}));
  EXPECT_EQ(*ReadTextFile(zeros, "/a"), std::string("one\0\0\0", 6));

  ASSERT_TRUE(io.SyncDirectory("/").ok());
  MemoryIo named(AfterPowerCut(io, {.changes = all + 1, .names = Names::kLost}));
  EXPECT_THAT(*named.List("/"), ElementsAre("a"));
}

TEST(PowerCut, ARenameIsKeptOrLostAsAWhole) {
  MemoryIo io;
  ASSERT_TRUE(io.MakeDirectory("/old").ok());
  ASSERT_TRUE(io.MakeDirectory("/old/inside").ok());
  io.Settle();
  ASSERT_TRUE(io.RenameNoReplace("/old", "/new").ok());
  MemoryIo lost(AfterPowerCut(io, {.changes = 1, .names = Names::kLost}));
  EXPECT_THAT(*lost.List("/"), ElementsAre("old"));
  EXPECT_THAT(*lost.List("/old"), ElementsAre("inside"));
  MemoryIo kept(AfterPowerCut(io, {.changes = 1, .names = Names::kKept}));
  EXPECT_THAT(*kept.List("/new"), ElementsAre("inside"));
}

TEST(PowerCut, ATornWriteLosesWholeBlocks) {
  MemoryIo io;
  const std::string text(10 * 4096 + 17, 'x');
  ASSERT_TRUE(WriteNew(io, "/a", text).ok());
  int different = 0;
  std::string last;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const PowerCut cut{.changes = io.changes().size(), .writes = Writes::kTorn, .seed = seed};
    MemoryIo after(AfterPowerCut(io, cut));
    const std::string found = *ReadTextFile(after, "/a");
    EXPECT_LE(found.size(), text.size());
    for (size_t at = 0; at < found.size(); at += 4096) {
      const std::string block = found.substr(at, 4096);
      EXPECT_TRUE(block.find_first_not_of('x') == block.npos ||
                  block.find_first_not_of('\0') == block.npos);
    }
    if (found != last) ++different;
    last = found;
  }
  EXPECT_GT(different, 10);
}

}  // namespace
}  // namespace horizon
