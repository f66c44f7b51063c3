#include "common/files/faulting_io.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <functional>

#include "common/clock.h"
#include "common/files/io.h"

namespace horizon {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Kind = FaultPlan::Kind;
using Extent = FaultPlan::Extent;

class FaultingIoTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = JoinPath(testing::TempDir(), "faulting_io_test_XXXXXX");
    ASSERT_NE(::mkdtemp(folder_.data()), nullptr);
    path_ = JoinPath(folder_, "a");
    ASSERT_TRUE(WriteTextFile(*posix_, path_, "0123456789").ok());
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::unique_ptr<Io> posix_ = MakePosixIo();
  std::string folder_;
  std::string path_;
};

TEST_F(FaultingIoTest, WithoutAPlanItOnlyCounts) {
  FaultingIo io(*posix_, {});
  EXPECT_EQ(*ReadTextFile(io, path_), "0123456789");
  EXPECT_EQ(io.calls(), 4u);
  EXPECT_FALSE(io.reached());
  EXPECT_THAT(io.history(), ElementsAre("Open " + path_, "File::Info " + path_, "ReadAt " + path_,
                                        "Close " + path_));
}

TEST_F(FaultingIoTest, EveryCallOfIoAndFileIsCountedFailsAndIsNotMadeWhenItFails) {
  const std::string other = JoinPath(folder_, "b");
  const std::string made = JoinPath(folder_, "made");
  const std::vector<std::function<absl::Status(Io&)>> calls = {
      [&](Io& io) { return io.Open(other, OpenMode::kCreateNew).status(); },
      [&](Io& io) { return io.Rename(path_, other); },
      [&](Io& io) { return io.RenameNoReplace(path_, other); },
      [&](Io& io) { return io.Unlink(path_); },
      [&](Io& io) { return io.MakeDirectory(made); },
      [&](Io& io) { return io.RemoveDirectory(folder_); },
      [&](Io& io) { return io.List(folder_).status(); },
      [&](Io& io) { return io.Info(path_).status(); },
      [&](Io& io) { return io.FreeSpace(folder_).status(); },
      [&](Io& io) { return io.SyncDirectory(folder_); },
      [&](Io& io) { return io.Lock(other).status(); },
      [&](Io& io) { return io.IsLocked(other).status(); },
  };
  for (size_t i = 0; i < calls.size(); ++i) {
    for (const Kind kind : {Kind::kFail, Kind::kShort}) {
      FaultingIo io(*posix_, {.kind = kind, .at_call = 1, .error_number = EDQUOT});
      EXPECT_EQ(IoErrno(calls[i](io)), EDQUOT) << i;
      EXPECT_EQ(io.calls(), 1u) << i;
      EXPECT_TRUE(io.reached());
      EXPECT_THAT(*posix_->List(folder_), ElementsAre("a")) << i;
    }
  }
}

TEST_F(FaultingIoTest, EveryCallGoesThroughWhenItIsNotItsTurn) {
  const std::string b = JoinPath(folder_, "b");
  const std::string c = JoinPath(folder_, "c");
  const std::string made = JoinPath(folder_, "made");
  FaultingIo io(*posix_, {.at_call = 1000});
  EXPECT_TRUE(io.Rename(path_, b).ok());
  EXPECT_TRUE(io.RenameNoReplace(b, c).ok());
  EXPECT_TRUE(io.MakeDirectory(made).ok());
  EXPECT_THAT(*io.List(folder_), ElementsAre("c", "made"));
  EXPECT_EQ(io.Info(c)->size, 10_B);
  EXPECT_TRUE(io.FreeSpace(folder_).ok());
  EXPECT_TRUE(io.SyncDirectory(folder_).ok());
  EXPECT_TRUE(io.RemoveDirectory(made).ok());
  EXPECT_TRUE(io.Unlink(c).ok());
  EXPECT_THAT(*posix_->List(folder_), IsEmpty());
  EXPECT_EQ(io.calls(), 9u);
  EXPECT_FALSE(io.reached());
}

TEST_F(FaultingIoTest, OnceIsOnceAndFromThereOnGoesOn) {
  FaultingIo once(*posix_, {.extent = Extent::kOnce, .at_call = 2});
  FaultingIo always(*posix_, {.extent = Extent::kFromThereOn, .at_call = 2});
  for (const bool good : {true, false, true, true}) {
    EXPECT_EQ(once.Info(path_).ok(), good);
  }
  for (const bool good : {true, false, false, false}) {
    EXPECT_EQ(always.Info(path_).ok(), good);
  }
}

TEST_F(FaultingIoTest, AShortWriteLeavesHalfOfTheBytes) {
  const std::string torn = JoinPath(folder_, "torn");
  FaultingIo io(*posix_, {.kind = Kind::kShort, .at_call = 2, .error_number = ENOSPC});
  const auto file = io.Open(torn, OpenMode::kCreateNew);
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(IoErrno((*file)->WriteAt(0, std::as_bytes(std::span("abcdefg", 7)))), ENOSPC);
  EXPECT_EQ(*ReadTextFile(*posix_, torn), "abc");
  EXPECT_TRUE((*file)->WriteAt(3, std::as_bytes(std::span("de", 2))).ok());
  EXPECT_EQ(*ReadTextFile(*posix_, torn), "abcde");
}

TEST_F(FaultingIoTest, AShortReadFillsHalfOfTheBuffer) {
  FaultingIo io(*posix_, {.kind = Kind::kShort, .at_call = 2});
  const auto file = io.Open(path_, OpenMode::kRead);
  ASSERT_TRUE(file.ok());
  std::array<std::byte, 8> into;
  into.fill(std::byte{'-'});
  EXPECT_EQ(IoErrno((*file)->ReadAt(1, into).status()), EIO);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(into.data()), 8), "1234----");
  EXPECT_EQ(*(*file)->ReadAt(1, into), 8u);
}

TEST_F(FaultingIoTest, AFailedReadOrWriteMovesNothing) {
  FaultingIo io(*posix_, {.extent = Extent::kFromThereOn, .at_call = 3});
  const auto reader = io.Open(path_, OpenMode::kRead);
  const auto writer = io.Open(path_, OpenMode::kAppend);
  std::array<std::byte, 4> into;
  into.fill(std::byte{'-'});
  EXPECT_FALSE((*reader)->ReadAt(0, into).ok());
  EXPECT_EQ(into[0], std::byte{'-'});
  EXPECT_FALSE((*writer)->WriteAt(0, into).ok());
  EXPECT_FALSE((*writer)->Sync().ok());
  EXPECT_FALSE((*writer)->DropCache().ok());
  EXPECT_FALSE((*writer)->Info().ok());
  EXPECT_EQ(*ReadTextFile(*posix_, path_), "0123456789");
}

TEST_F(FaultingIoTest, AShrunkFileStaysShrunkForItsReader) {
  FaultingIo io(*posix_, {.kind = Kind::kShrink, .at_call = 3});
  const auto file = io.Open(path_, OpenMode::kRead);
  ASSERT_TRUE(file.ok());
  EXPECT_EQ((*file)->Info()->size, 10_B);
  std::array<std::byte, 6> into;
  EXPECT_EQ(*(*file)->ReadAt(2, into), 3u);
  EXPECT_EQ((*file)->Info()->size, 5_B);
  EXPECT_EQ(*(*file)->ReadAt(2, into), 3u);
  EXPECT_EQ(*(*file)->ReadAt(5, into), 0u);
  EXPECT_EQ(*(*file)->ReadAt(7, into), 0u);
  EXPECT_EQ(*(*file)->ReadAt(100, into), 0u);
}

TEST_F(FaultingIoTest, AFailedCloseGivesTheDescriptorBack) {
  const size_t before = posix_->List("/proc/self/fd")->size();
  FaultingIo io(*posix_, {.at_call = 2});
  const auto file = io.Open(path_, OpenMode::kRead);
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(IoErrno((*file)->Close()), EIO);
  EXPECT_EQ(posix_->List("/proc/self/fd")->size(), before);
}

TEST_F(FaultingIoTest, ADelayIsSleptOnTheClockAndTheCallIsMade) {
  VirtualClock clock(VirtualClock::Mode::kSleepAdvances);
  FaultingIo io(*posix_, {.kind = Kind::kDelay, .at_call = 2, .delay = std::chrono::hours(3)},
                &clock);
  EXPECT_TRUE(io.Info(path_).ok());
  EXPECT_EQ(clock.Now(), Nanoseconds(0));
  EXPECT_EQ(io.Info(path_)->size, 10_B);
  EXPECT_EQ(clock.Now(), std::chrono::hours(3));
  EXPECT_TRUE(io.Info(path_).ok());
  EXPECT_EQ(clock.Now(), std::chrono::hours(3));
}

TEST_F(FaultingIoTest, TheLoopHitsEveryCallOnceAndThenFromThereOn) {
  std::vector<std::string> results;
  const uint64_t hits = ForEachFault(*posix_, {}, [&](FaultingIo& io) {
    std::string result;
    for (int i = 0; i < 3; ++i) result += io.Info(path_).ok() ? '.' : 'x';
    results.push_back(result);
  });
  EXPECT_EQ(hits, 6u);
  EXPECT_THAT(results, ElementsAre("x..", ".x.", "..x", "...", "xxx", ".xx", "..x", "..."));
}

// After a fault the code under test may make more calls than an unhit run, or fewer.
TEST_F(FaultingIoTest, TheLoopAlsoReachesCallsMadeOnlyAfterAFault) {
  int hits_of_last = 0;
  ForEachFault(*posix_, {}, [&](FaultingIo& io) {
    if (io.Info(path_).ok()) return;
    hits_of_last += io.List(folder_).ok() ? 0 : 1;
  });
  EXPECT_EQ(hits_of_last, 1);
}

}  // namespace
}  // namespace horizon
