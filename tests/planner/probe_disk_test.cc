#include "planner/probe_disk.h"

#include <gtest/gtest.h>

#include "common/clock.h"
#include "common/faulting_io.h"
#include "common/io.h"
#include "tests/model/test_files.h"

namespace horizon {
namespace {

TEST(ProbeDisk, MeasuresARateAndLeavesNothing) {
  const std::unique_ptr<Io> io = MakePosixIo();
  const std::string folder = MakeTestFolder(*io);
  RealClock clock;
  const absl::StatusOr<DiskProfile> disk = ProbeDisk(*io, clock, folder);
  ASSERT_TRUE(disk.ok()) << disk.status();
  EXPECT_GT(disk->write_bytes_per_second.value, 0);
  EXPECT_EQ(disk->path, folder);
  EXPECT_TRUE(io->List(folder)->empty());
}

TEST(ProbeDisk, LeavesNothingWhenTheDiskFails) {
  const std::unique_ptr<Io> io = MakePosixIo();
  const std::string folder = MakeTestFolder(*io);
  RealClock clock;
  // Open, a write in the middle, the sync.
  for (const uint64_t call : {2, 9, 19}) {
    FaultingIo faulting(*io, {.at_call = call});
    const absl::StatusOr<DiskProfile> disk = ProbeDisk(faulting, clock, folder);
    EXPECT_EQ(IoErrno(disk.status()), EIO) << call;
    EXPECT_TRUE(io->List(folder)->empty());
  }
}

TEST(ProbeDisk, OneThatWasKilledDoesNotHinderTheNext) {
  const std::unique_ptr<Io> io = MakePosixIo();
  const std::string folder = MakeTestFolder(*io);
  RealClock clock;
  WriteBytes(*io, folder + "/.disk-probe", "half");
  EXPECT_TRUE(ProbeDisk(*io, clock, folder).ok());
  EXPECT_TRUE(io->List(folder)->empty());
}

}  // namespace
}  // namespace horizon
