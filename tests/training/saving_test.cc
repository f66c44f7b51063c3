#include "training/saving.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "common/log.h"
#include "tests/model/recording_io.h"
#include "tests/model/test_files.h"
#include "tests/training/small_run.h"

namespace horizon {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(SavingCost, CountsSavesAndFailuresAndNoneThatWereDropped) {
  SavingCost cost;
  cost.Add({.step = 1, .path = "a", .bytes = 10_B, .seconds = 2, .waited = 0.5});
  cost.Add({.step = 2, .path = "b", .bytes = 10_B, .seconds = 1, .waited = 0});
  cost.Add({.step = 3, .status = absl::ResourceExhaustedError("full")});
  cost.Add({.step = 4, .status = absl::CancelledError("dropped")});
  EXPECT_EQ(cost.saves, 2);
  EXPECT_EQ(cost.failed, 1);
  EXPECT_EQ(cost.bytes, 20_B);
  EXPECT_EQ(cost.seconds, 3);
  EXPECT_EQ(cost.waited, 0.5);
}

TEST(Saving, TheLineSaysHowOftenAndARunWithoutCheckpointsHasNone) {
  SmallRun run;
  const BegunTraining begun = run.Begin();
  const auto line = [&] {
    RealClock clock;
    return DescribeSaving(run.io(), clock, run.settings, begun.layout, begun.plan);
  };
  EXPECT_THAT(line(), HasSubstr("every 500 steps"));
  run.settings.save.every = 0;
  EXPECT_THAT(line(), HasSubstr("at the end"));
  run.settings.save.mode = std::nullopt;
  EXPECT_EQ(line(), "");
}

TEST(Saving, ADiskThatCannotBeMeasuredIsNoReasonNotToBegin) {
  SmallRun run;
  const BegunTraining begun = run.Begin();
  RealClock clock;
  run.settings.folder = run.Path("nowhere");
  const std::string line = DescribeSaving(run.io(), clock, run.settings, begun.layout, begun.plan);
  EXPECT_THAT(line, AllOf(HasSubstr("every 500 steps"), HasSubstr("is not known: cannot")));
}

// What /proc/self/limits says of a process with `ulimit -f`.
class LimitedIo : public RecordingIo {
 public:
  LimitedIo(Io& inner, std::string fake) : RecordingIo(inner), fake_(std::move(fake)) {}
  absl::StatusOr<std::unique_ptr<File>> Open(const std::string& path, OpenMode mode) override {
    return RecordingIo::Open(path == "/proc/self/limits" ? fake_ : path, mode);
  }

 private:
  const std::string fake_;
};

TEST(Saving, ALimitOnFileSizesThatNoCheckpointFitsIsRefusedBeforeAnythingIsMade) {
  SmallRun run;
  const BegunTraining begun = run.Begin();
  const std::string fake = run.Path("limits");
  LimitedIo io(run.io(), fake);
  Bytes largest;
  for (const CheckpointFile& file : begun.layout.files) largest = std::max(largest, file.bytes);
  const auto check = [&](const std::string& limit) {
    WriteBytes(run.io(), fake,
               "Limit    Soft Limit  Hard Limit  Units\nMax cpu time   1  2  seconds\n"
               "Max file size    " +
                   limit + "   unlimited   bytes\nMax data size  3  4  bytes\n");
    return CheckDisk(io, run.Path("new"), run.settings.save, begun.layout);
  };
  EXPECT_TRUE(check("unlimited").ok());
  EXPECT_TRUE(check(std::to_string(largest.value())).ok());
  const absl::Status refused = check(std::to_string(largest.value() - 1));
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("ulimit -f"));
  run.settings.save.mode = std::nullopt;
  EXPECT_TRUE(check("0").ok());
}

TEST(Saving, AFailedSaveSaysWhenTheNextOneIsUnlessTheRunEndsWithIt) {
  const auto log_of = [](const SaveReport& report, const SaveSettings& save) {
    std::FILE* file = std::tmpfile();
    Log log(file, LogLevel::kInfo, LogStyle::kPlain);
    LogSave(log, report, save, 25);
    std::string text(static_cast<size_t>(std::ftell(file)), '\0');
    std::rewind(file);
    EXPECT_EQ(std::fread(text.data(), 1, text.size(), file), text.size());
    std::fclose(file);
    return text;
  };
  const SaveReport failed{.step = 10, .status = absl::ResourceExhaustedError("full")};
  EXPECT_EQ(log_of(failed, {.every = 10}),
            "warning: step 10 was not saved: full. Training goes on, and the next save is at step "
            "20\n");
  EXPECT_THAT(log_of(failed, {.every = 20}), HasSubstr("at step 25\n"));
  EXPECT_EQ(log_of(failed, {.every = 10, .must_succeed = true}), "");
  SaveReport last = failed;
  last.at_end = true;
  EXPECT_EQ(log_of(last, {.every = 10}), "");
}

TEST(Saving, WeightsAloneTakeLess) {
  SmallRun run;
  const BegunTraining begun = run.Begin();
  const absl::StatusOr<CheckpointLayout> weights =
      LayOutSaves(begun.trainer().schedule(), {.mode = SaveMode::kWeights});
  ASSERT_TRUE(weights.ok()) << weights.status();
  EXPECT_LT(weights->total_bytes, begun.layout.total_bytes);
}

}  // namespace
}  // namespace horizon
