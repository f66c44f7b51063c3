#include "planner/profile/probe_disk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "common/clock.h"
#include "common/files/faulting_io.h"
#include "common/files/io.h"
#include "common/text/str_cat.h"
#include "tests/common/files/memory_io.h"
#include "tests/model/test_files.h"

namespace horizon {
namespace {

using testing::HasSubstr;

TEST(ProbeDisk, MeasuresBothRatesAndLeavesNothing) {
  const std::unique_ptr<Io> io = MakePosixIo();
  const std::string folder = MakeTestFolder(*io);
  RealClock clock;
  const absl::StatusOr<DiskProfile> disk = ProbeDisk(*io, clock, folder);
  ASSERT_TRUE(disk.ok()) << disk.status();
  EXPECT_EQ(disk->path, folder);
  for (const Figure& figure : {disk->write_bytes_per_second, disk->read_bytes_per_second}) {
    EXPECT_GT(figure.value, 0);
    EXPECT_EQ(figure.origin.kind, OriginKind::kMeasured);
    EXPECT_GE(figure.origin.repeats, 1);
    EXPECT_LE(figure.origin.repeats, kMostDiskRepeats);
    EXPECT_GE(figure.origin.spread, 0);
  }
  EXPECT_THAT(disk->write_bytes_per_second.origin.source, HasSubstr("written and synced"));
  EXPECT_THAT(disk->read_bytes_per_second.origin.source, HasSubstr("the system's cache"));
  ASSERT_TRUE(disk->free_bytes.has_value());
  EXPECT_GT(disk->free_bytes->value, 0);
  EXPECT_TRUE(io->List(folder)->empty());
}

// A file system without direct reading: the cache is dropped before each run instead.
TEST(ProbeDisk, ReadsWithTheCacheDroppedWhereItCannotBePassed) {
  MemoryIo memory;
  ASSERT_TRUE(memory.MakeDirectory("/run").ok());
  VirtualClock clock(VirtualClock::Mode::kSleepAdvances);
  FaultingIo io(memory, {});
  const absl::StatusOr<DiskProfile> disk = ProbeDisk(io, clock, "/run");
  ASSERT_TRUE(disk.ok()) << disk.status();
  EXPECT_EQ(disk->read_bytes_per_second.origin.source,
            "64 MiB read after the system's cache was dropped");
  const std::vector<std::string> calls = io.history();
  const auto drops = std::count(calls.begin(), calls.end(), "DropCache /run/.disk-probe");
  EXPECT_EQ(drops, kMostDiskRepeats);
  EXPECT_EQ(disk->read_bytes_per_second.origin.repeats, kMostDiskRepeats);
  EXPECT_TRUE(memory.List("/run")->empty());
}

// Each call takes a fifth of a second: the file stays small and the time is kept.
TEST(ProbeDisk, ASlowDiskGetsASmallFileAndNoMoreThanThreeSeconds) {
  MemoryIo memory;
  ASSERT_TRUE(memory.MakeDirectory("/run").ok());
  VirtualClock clock(VirtualClock::Mode::kSleepAdvances);
  FaultingIo io(memory,
                {.kind = FaultPlan::Kind::kDelay,
                 .extent = FaultPlan::Extent::kFromThereOn,
                 .at_call = 1,
                 .delay = std::chrono::milliseconds(200)},
                &clock);
  const absl::StatusOr<DiskProfile> disk = ProbeDisk(io, clock, "/run");
  ASSERT_TRUE(disk.ok()) << disk.status();
  EXPECT_LT(clock.Now(), std::chrono::milliseconds(3400));
  EXPECT_EQ(disk->write_bytes_per_second.origin.source, "256 KiB written and synced");
  // Removing, creating, writing, syncing and closing take a second.
  EXPECT_DOUBLE_EQ(disk->write_bytes_per_second.value, 262144 / 1.0);
  EXPECT_DOUBLE_EQ(disk->read_bytes_per_second.value, 262144 / 0.2);
  EXPECT_EQ(disk->read_bytes_per_second.origin.spread, 0);
}

TEST(ProbeDisk, AnAlmostFullDiskGetsASmallFile) {
  MemoryIo memory;
  memory.free_space = 5_MiB;
  ASSERT_TRUE(memory.MakeDirectory("/run").ok());
  VirtualClock clock;
  const absl::StatusOr<DiskProfile> disk = ProbeDisk(memory, clock, "/run");
  ASSERT_TRUE(disk.ok()) << disk.status();
  EXPECT_EQ(disk->write_bytes_per_second.origin.source, "1 MiB written and synced");
  memory.free_space = 0_B;  // as some say who do not know
  EXPECT_FALSE(ProbeDisk(memory, clock, "/run")->free_bytes.has_value());
  memory.capacity = 1000;
  EXPECT_EQ(IoErrno(ProbeDisk(memory, clock, "/run").status()), ENOSPC);
  EXPECT_TRUE(memory.List("/run")->empty());
}

TEST(ProbeDisk, LeavesNothingWhicheverCallFails) {
  MemoryIo memory;
  memory.free_space = 2_MiB;
  ASSERT_TRUE(memory.MakeDirectory("/run").ok());
  VirtualClock clock;
  const uint64_t hit = ForEachFault(memory, {}, [&](FaultingIo& io) {
    const absl::StatusOr<DiskProfile> disk = ProbeDisk(io, clock, "/run");
    if (!disk.ok()) {
      EXPECT_EQ(IoErrno(disk.status()), EIO) << disk.status();
    }
    memory.Unlink("/run/.disk-probe").IgnoreError();  // whose removing was what failed
  });
  EXPECT_GT(hit, 20u);
  for (const uint64_t call : {4, 9, 19}) {
    FaultingIo io(memory, {.at_call = call});
    EXPECT_FALSE(ProbeDisk(io, clock, "/run").ok()) << io.history().back();
    EXPECT_TRUE(memory.List("/run")->empty());
  }
}

TEST(ProbeDisk, OneThatWasKilledDoesNotHinderTheNext) {
  const std::unique_ptr<Io> io = MakePosixIo();
  const std::string folder = MakeTestFolder(*io);
  RealClock clock;
  WriteBytes(*io, folder + "/.disk-probe", "half");
  EXPECT_TRUE(ProbeDisk(*io, clock, folder, Seconds{0.1}).ok());
  EXPECT_TRUE(io->List(folder)->empty());
}

TEST(FindDisk, TheLongestPathAboveTheFolderWins) {
  const Figure measured{.value = 1, .origin = {.kind = OriginKind::kMeasured, .source = "x"}};
  const Figure printed{.value = 1, .origin = {.kind = OriginKind::kVendor, .source = "x"}};
  HardwareProfile profile;
  for (const std::string path : {"/", "/data", "/data/runs/", "run"}) {
    profile.disks.push_back(
        {.path = path, .read_bytes_per_second = measured, .write_bytes_per_second = measured});
  }
  profile.disks.push_back({.path = "/data/runs/a",
                           .read_bytes_per_second = printed,
                           .write_bytes_per_second = printed});
  const auto path_for = [&](const std::string& folder) {
    const DiskProfile* disk = FindDisk(profile, folder);
    return disk == nullptr ? "" : disk->path;
  };
  EXPECT_EQ(path_for("/data/runs/a"), "/data/runs/");
  EXPECT_EQ(path_for("/data"), "/data");
  EXPECT_EQ(path_for("/database"), "/");
  EXPECT_EQ(path_for("run"), "");
  profile.disks.clear();
  EXPECT_EQ(path_for("/data"), "");
}

}  // namespace
}  // namespace horizon
