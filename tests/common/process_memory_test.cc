#include "common/process_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/files/faulting_io.h"
#include "common/text/str_cat.h"
#include "tests/model/test_files.h"

namespace horizon {
namespace {

using testing::HasSubstr;

constexpr std::string_view kStatus =
    "Name:\thorizon\nVmPeak:\t  900000 kB\nVmHWM:\t  300000 kB\nVmRSS:\t  280000 kB\n"
    "RssAnon:\t  200000 kB\nRssFile:\t   50000 kB\nRssShmem:\t   30000 kB\nThreads:\t3\n";

class ProcessMemoryTest : public testing::Test {
 protected:
  absl::StatusOr<ProcessMemory> Read(std::string_view text) {
    WriteBytes(*io_, path_, text);
    return ReadProcessMemory(*io_, path_);
  }
  std::string With(std::string_view old_text, std::string_view new_text) {
    std::string text(kStatus);
    text.replace(text.find(old_text), old_text.size(), new_text);
    return text;
  }

  std::unique_ptr<Io> io_ = MakePosixIo();
  std::string path_ = JoinPath(MakeTestFolder(*io_), "status");
};

TEST_F(ProcessMemoryTest, TakesTheLinesItNeedsInBytes) {
  const absl::StatusOr<ProcessMemory> memory = Read(kStatus);
  ASSERT_TRUE(memory.ok()) << memory.status();
  EXPECT_EQ(memory->anonymous, 200000_KiB);
  EXPECT_EQ(memory->file, 50000_KiB);
  EXPECT_EQ(memory->shared, 30000_KiB);
  EXPECT_EQ(memory->peak_resident, 300000_KiB);
  EXPECT_EQ(memory->held(), 230000_KiB);
  EXPECT_EQ(memory->resident(), 280000_KiB);
}

TEST_F(ProcessMemoryTest, NamesALineThatIsMissingOrStrange) {
  for (const std::string_view name : {"VmHWM", "RssAnon", "RssFile", "RssShmem"}) {
    const std::string missing = With(StrCat(name, ":"), "Other:");
    EXPECT_THAT(std::string(Read(missing).status().message()), HasSubstr(name));
    const std::string without_colon = With(StrCat(name, ":"), StrCat(name, " "));
    EXPECT_THAT(std::string(Read(without_colon).status().message()), HasSubstr(name));
    const std::string longer = With(StrCat(name, ":"), StrCat(name, "2:"));
    EXPECT_THAT(std::string(Read(longer).status().message()), HasSubstr(name));
  }
  for (const std::string_view value :
       {"", "\t 300000", "\t-1 kB", "\t300000 MB", "\t99999999999999999999 kB",
        "\t18446744073709552 kB", "\tkB", "\t3 0 kB"}) {
    EXPECT_FALSE(Read(With("\t  300000 kB", value)).ok()) << value;
  }
  EXPECT_FALSE(Read("").ok());
}

TEST_F(ProcessMemoryTest, EveryFailingCallIsReported) {
  WriteBytes(*io_, path_, kStatus);
  const uint64_t hit = ForEachFault(*io_, {}, [&](FaultingIo& io) {
    const bool good = ReadProcessMemory(io, path_).ok();
    EXPECT_EQ(good, !io.reached());
  });
  EXPECT_GT(hit, 0u);
  const uint64_t reset_hit = ForEachFault(*io_, {}, [&](FaultingIo& io) {
    const bool good = ResetPeakMemory(io, path_).ok();
    EXPECT_EQ(good, !io.reached());
  });
  EXPECT_GT(reset_hit, 0u);
  EXPECT_EQ(ReadBytes(*io_, path_), "5");
}

TEST_F(ProcessMemoryTest, DoesNotMakeAFileToReset) {
  EXPECT_TRUE(absl::IsNotFound(ResetPeakMemory(*io_, path_)));
  EXPECT_FALSE(FileExists(*io_, path_));
}

TEST_F(ProcessMemoryTest, SeesWhatThisProcessTakesAndForgetsThePeak) {
  constexpr size_t kBytes = size_t{64} << 20;
  const absl::StatusOr<ProcessMemory> before = ReadProcessMemory(*io_);
  ASSERT_TRUE(before.ok()) << before.status();
  EXPECT_GT(before->held(), 0_B);
  ProcessMemory during;
  {
    std::vector<char> block(kBytes, 1);
    during = *ReadProcessMemory(*io_);
    EXPECT_EQ(block[kBytes - 1], 1);
  }
  // The kernel counts a thread's pages in batches of 64 pages of 4 KiB: well within a mebibyte.
  EXPECT_GE(during.held() + 1_MiB, before->held() + 64_MiB);
  EXPECT_GE(during.peak_resident + 1_MiB, during.resident());
  const absl::Status reset = ResetPeakMemory(*io_);
  if (!reset.ok()) GTEST_SKIP() << "this kernel does not allow it: " << reset;
  const absl::StatusOr<ProcessMemory> after = ReadProcessMemory(*io_);
  ASSERT_TRUE(after.ok());
  EXPECT_LT(after->peak_resident + 32_MiB, during.peak_resident);
}

}  // namespace
}  // namespace horizon
