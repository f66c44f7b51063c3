#include "training/run_folder.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/model/test_files.h"

namespace horizon {
namespace {

class RunFolderTest : public testing::Test {
 protected:
  void Make(const std::vector<std::string>& names) {
    folder_ = JoinPath(MakeTestFolder(*io_), "run");
    ASSERT_TRUE(io_->MakeDirectory(folder_).ok());
    for (const std::string& name : names) {
      if (name == "base" || name == "checkpoints" || name == "model") {
        ASSERT_TRUE(io_->MakeDirectory(JoinPath(folder_, name)).ok());
      } else {
        WriteBytes(*io_, JoinPath(folder_, name), name == "metrics.jsonl" ? "" : "x");
      }
    }
  }
  bool NoStep() { return *HasNoStep(*io_, folder_); }

  std::unique_ptr<Io> io_ = MakePosixIo();
  std::string folder_;
};

TEST_F(RunFolderTest, AStartThatWasStoppedAnywhereMayBeMadeAgain) {
  // In the order a start makes them.
  const std::vector<std::string> made = {
      "lock",         "base",           "job.json",        "train.yaml",   "plan.json",
      "machine.json", "timelines.json", "prediction.json", "metrics.jsonl"};
  for (size_t count = 0; count <= made.size(); ++count) {
    Make({made.begin(), made.begin() + static_cast<int64_t>(count)});
    EXPECT_TRUE(NoStep()) << count;
    if (count == 0) continue;
    WriteBytes(*io_, folder_ + "/job.json.tmp-4711-0", "{");
    EXPECT_TRUE(NoStep()) << count;
  }
  folder_ += "-missing";
  EXPECT_TRUE(NoStep());
}

TEST_F(RunFolderTest, WhatSomebodyElseOrARunHasWrittenIsNotAStart) {
  for (const std::vector<std::string>& names : std::vector<std::vector<std::string>>{
           {"notes.txt"},
           {"lock", "train.yaml"},  // the user's own, named with --config
           {"lock", "job.json"},
           {"base"},
           {"lock", "base", "train.yaml"},
           {"lock", "base", "job.json", "checkpoints"},
           {"lock", "base", "job.json", "model"},
           {"lock", "base", "job.json", "eval.jsonl"},
           {"lock", "base", "job.json", "run.json"}}) {
    Make(names);
    EXPECT_FALSE(NoStep()) << names.back();
  }
  Make({"lock", "base", "job.json"});
  WriteBytes(*io_, folder_ + "/metrics.jsonl", "{\"step\": 1}\n");
  EXPECT_FALSE(NoStep());
}

TEST_F(RunFolderTest, ClearingAStartTakesTheOtherModelsFilesAndUnfinishedOnes) {
  Make({"lock", "base", "job.json"});
  WriteBytes(*io_, folder_ + "/base/config.json", "{}");
  WriteBytes(*io_, folder_ + "/plan.json.tmp-4711-0", "{");
  ASSERT_TRUE(ClearStart(*io_, folder_).ok());
  EXPECT_EQ(*io_->List(folder_), (std::vector<std::string>{"job.json", "lock"}));
}

}  // namespace
}  // namespace horizon
