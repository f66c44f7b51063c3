#include "report/live/run_feed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>

#include "common/documents/json.h"
#include "common/files/io.h"
#include "common/text/str_cat.h"
#include "report/view_json.h"
#include "tests/report/made_run.h"

namespace horizon {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class RunFeedTest : public testing::Test {
 protected:
  // A run of 3 steps of which `steps` are done and which has not ended.
  void MakeRun(int64_t steps) {
    folder_ = MadeRun(*io_, steps);
    ASSERT_TRUE(io_->Unlink(Path("run.json")).ok());
    Lock();
  }
  void Lock() { lock_ = *io_->Lock(Path("lock")); }
  std::string Path(std::string_view name) const { return JoinPath(folder_, name); }
  std::string Text(std::string_view name) { return *ReadTextFile(*io_, Path(name)); }
  void Write(std::string_view name, std::string_view text) {
    ASSERT_TRUE(WriteTextFile(*io_, Path(name), text).ok());
  }
  // The line of `step`, as the run would have added it.
  void AddStep(int64_t step) {
    StepMetrics line{.step = step,
                     .loss = 1.25,
                     .gradient_norm = 1,
                     .learning_rate = 1e-3,
                     .tokens = 64,
                     .step_time = Seconds{0.25},
                     .host_bytes = 101_MiB,
                     .device_bytes = 20_MiB,
                     .predicted_step_time = Seconds{0.2}};
    Write("metrics.jsonl", Text("metrics.jsonl") + MetricsLine(line) + "\n");
  }

  const std::unique_ptr<Io> io_ = MakePosixIo();
  std::unique_ptr<FileLock> lock_;
  std::string folder_;
};

TEST_F(RunFeedTest, TheDocumentIsTheViewAndThatThereIsNoProblem) {
  MakeRun(2);
  const RunFeed feed(*io_, folder_, 7);
  ASSERT_TRUE(feed.status().ok()) << feed.status();
  EXPECT_EQ(*feed.document(),
            StrCat("{\"problem\": null, ", ViewJson(*ReadRun(*io_, folder_)).substr(1)));
  const absl::StatusOr<Document> document = ParseJson("document", *feed.document());
  ASSERT_TRUE(document.ok()) << document.status();
  EXPECT_EQ(*document->root.Find("steps_done")->As<int64_t>(), 2);
}

TEST_F(RunFeedTest, WithoutAChangeThereIsNoEvent) {
  MakeRun(2);
  RunFeed feed(*io_, folder_, 7);
  EXPECT_EQ(feed.Poll(), nullptr);
  EXPECT_EQ(feed.Poll(), nullptr);
}

TEST_F(RunFeedTest, AStepThatWasAddedIsSentAlone) {
  MakeRun(2);
  RunFeed feed(*io_, folder_, 7);
  const size_t whole = feed.document()->size();
  AddStep(3);
  const std::shared_ptr<const std::string> event = feed.Poll();
  ASSERT_NE(event, nullptr);
  EXPECT_THAT(*event,
              AllOf(StartsWith("event: change\nid: 7-1\ndata: ["),
                    HasSubstr("[\"append\", [\"metrics\", \"loss\"], [1.25]]"),
                    HasSubstr("[\"append\", [\"metrics\", \"step\"], [3]]"),
                    HasSubstr("[\"set\", [\"steps_done\"], 3]"), Not(HasSubstr("start_ns"))));
  EXPECT_TRUE(event->ends_with("]\n\n"));
  EXPECT_LT(event->size(), whole / 4);
  EXPECT_THAT(*feed.document(), HasSubstr("\"steps_done\": 3"));
  EXPECT_EQ(feed.Poll(), nullptr);
}

TEST_F(RunFeedTest, ALineOfRoutingIsSentAlone) {
  folder_ = MadeRun(*io_, 3, kExpertsModel);
  ASSERT_TRUE(io_->Unlink(Path("run.json")).ok());
  Lock();
  const std::string lines = Text("routing.jsonl");
  Write("routing.jsonl", "");
  RunFeed feed(*io_, folder_, 7);
  EXPECT_THAT(*feed.document(), HasSubstr("\"routing\": null"));
  Write("routing.jsonl", lines);
  const std::shared_ptr<const std::string> event = feed.Poll();
  ASSERT_NE(event, nullptr);
  EXPECT_THAT(*event, AllOf(StartsWith("event: change\nid: 7-1\ndata: [[\"set\", [\"experts\", "
                                       "\"routing\"], {\"first_step\": 3, \"step\": 3, "),
                            Not(HasSubstr("start_ns"))));
}

TEST_F(RunFeedTest, PartOfALineIsNotShownBeforeItIsWhole) {
  MakeRun(2);
  RunFeed feed(*io_, folder_, 7);
  const std::string before = Text("metrics.jsonl");
  AddStep(3);
  const std::string whole = Text("metrics.jsonl");
  Write("metrics.jsonl", whole.substr(0, before.size() + 30));
  EXPECT_EQ(feed.Poll(), nullptr);
  EXPECT_TRUE(feed.status().ok()) << feed.status();
  Write("metrics.jsonl", whole);
  EXPECT_NE(feed.Poll(), nullptr);
}

TEST_F(RunFeedTest, TheEndOfARunIsAChangeOfState) {
  MakeRun(3);
  RunFeed feed(*io_, folder_, 7);
  EXPECT_EQ(feed.view()->state, RunState::kRunning);
  Write("run.json", MadeOutcome(3));
  lock_.reset();
  const std::shared_ptr<const std::string> event = feed.Poll();
  ASSERT_NE(event, nullptr);
  EXPECT_THAT(*event, HasSubstr("[\"set\", [\"state\"], \"complete\"]"));
  // What the plan's other values would have given is told once nobody needs the cores.
  EXPECT_THAT(*event, HasSubstr("[\"append\", [\"reasons\"], [{\"field\": "));
}

TEST_F(RunFeedTest, ATornFolderIsAProblemUntilItIsMended) {
  MakeRun(2);
  RunFeed feed(*io_, folder_, 7);
  const std::string good = *feed.document();
  const std::string timelines = Text("timelines.json");
  Write("timelines.json", timelines.substr(0, timelines.size() / 2));
  std::shared_ptr<const std::string> event = feed.Poll();
  ASSERT_NE(event, nullptr);
  EXPECT_TRUE(absl::IsDataLoss(feed.status())) << feed.status();
  EXPECT_THAT(*event, AllOf(HasSubstr("[\"set\", [\"problem\"], \""), HasSubstr("timelines.json"),
                            Not(HasSubstr("\"steps_done\""))));
  // The same problem is told once.
  EXPECT_EQ(feed.Poll(), nullptr);
  Write("timelines.json", timelines);
  event = feed.Poll();
  ASSERT_NE(event, nullptr);
  EXPECT_THAT(*event, HasSubstr("[[\"set\", [\"problem\"], null]]"));
  EXPECT_EQ(*feed.document(), good);
}

TEST_F(RunFeedTest, AFolderThatGoesAndComesBackIsShownAgain) {
  MakeRun(2);
  RunFeed feed(*io_, folder_, 7);
  ASSERT_TRUE(io_->Rename(folder_, folder_ + ".away").ok());
  std::shared_ptr<const std::string> event = feed.Poll();
  ASSERT_NE(event, nullptr);
  EXPECT_FALSE(feed.status().ok());
  EXPECT_THAT(*feed.document(), AllOf(HasSubstr(folder_), HasSubstr("\"steps_done\": 2")));
  ASSERT_TRUE(io_->Rename(folder_ + ".away", folder_).ok());
  event = feed.Poll();
  ASSERT_NE(event, nullptr);
  EXPECT_TRUE(feed.status().ok()) << feed.status();
}

TEST_F(RunFeedTest, WhatIsNoRunYetIsAProblemWithoutAView) {
  RunFeed feed(*io_, "/nowhere/at/all", 7);
  EXPECT_TRUE(absl::IsNotFound(feed.status()));
  EXPECT_FALSE(feed.view().has_value());
  const absl::StatusOr<Document> document = ParseJson("document", *feed.document());
  ASSERT_TRUE(document.ok());
  EXPECT_EQ(document->root.As<Value::Object>()->size(), 1u);
  EXPECT_THAT(*document->root.Find("problem")->As<std::string>(), HasSubstr("/nowhere/at/all"));
}

TEST_F(RunFeedTest, AClientThatComesBackGetsWhatItMissed) {
  MakeRun(1);
  RunFeed feed(*io_, folder_, 7);
  AddStep(2);
  const std::string second = *feed.Poll();
  AddStep(3);
  const std::string third = *feed.Poll();
  const std::string retry = "retry: 2000\n\n";
  EXPECT_EQ(feed.Opening("7-0"), retry + second + third);
  EXPECT_EQ(feed.Opening("7-1"), retry + third);
  EXPECT_EQ(feed.Opening("7-2"), retry);
  const std::string whole = StrCat(retry, "event: view\nid: 7-2\ndata: ", *feed.document(), "\n\n");
  for (const char* id :
       {"", "7-3", "6-1", "7-", "7--1", "7-1x", "-1", "7-99999999999999999999", "17-1", "7-1\n"}) {
    EXPECT_EQ(feed.Opening(id), whole) << id;
  }
}

TEST_F(RunFeedTest, AClientThatWasGoneTooLongGetsAll) {
  MakeRun(2);
  RunFeed feed(*io_, folder_, 7);
  const std::string evaluations = Text("eval.jsonl");
  for (int i = 1; i <= 300; ++i) {
    // As if the run were resumed from before the evaluation, again and again.
    Write("eval.jsonl", i % 2 == 1 ? "" : evaluations);
    ASSERT_NE(feed.Poll(), nullptr);
  }
  EXPECT_THAT(feed.Opening("7-1"), HasSubstr("event: view\nid: 7-300\n"));
  EXPECT_THAT(feed.Opening("7-50"), Not(HasSubstr("event: view\n")));
}

}  // namespace
}  // namespace horizon
