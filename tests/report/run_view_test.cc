#include "report/run_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "common/text/str_cat.h"
#include "tests/model/test_files.h"
#include "tests/report/made_run.h"

namespace horizon {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class RunViewTest : public ::testing::Test {
 protected:
  explicit RunViewTest(const std::string& model = kDenseModel) : folder_(MadeRun(*io_, 3, model)) {}
  std::string Read(const std::string& name) { return *ReadTextFile(*io_, JoinPath(folder_, name)); }
  void Write(const std::string& name, const std::string& text) {
    ASSERT_TRUE(WriteTextFile(*io_, JoinPath(folder_, name), text).ok());
  }
  // The run with one file changed is torn; the message says which and what to do.
  void ExpectTorn(const std::string& name, const std::string& text, const std::string& message) {
    const std::string whole = Read(name);
    Write(name, text);
    const absl::Status status = ReadRun(*io_, folder_).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
    EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr(name), HasSubstr(message)));
    Write(name, whole);
  }

  std::unique_ptr<Io> io_ = MakePosixIo();
  const std::string folder_;
};

class RunViewOfExpertsTest : public RunViewTest {
 protected:
  RunViewOfExpertsTest() : RunViewTest(kExpertsModel) {}
};

TEST_F(RunViewTest, ReadsWhatARunLeaves) {
  const absl::StatusOr<RunView> view = ReadRun(*io_, folder_);
  ASSERT_TRUE(view.ok()) << view.status();
  EXPECT_EQ(view->state, RunState::kComplete);
  EXPECT_EQ(view->steps_done, 3);
  EXPECT_EQ(view->steps_total, 3);
  EXPECT_EQ(view->spec.name, "qwen2.5-0.5b");
  ASSERT_EQ(view->metrics.lines().size(), 3u);
  EXPECT_EQ(view->metrics.lines()[1].loss, 2.0);
  EXPECT_EQ(view->metrics.lines()[1].host_bytes, 100_MiB);
  ASSERT_EQ(view->evaluations.lines().size(), 1u);
  EXPECT_EQ(view->evaluations.lines()[0].loss, 2.5);
  EXPECT_EQ(*view->timelines, *MadeView().timelines);
  EXPECT_EQ(view->outcome->step_seconds.measured, 0.25);
  EXPECT_FALSE(view->outcome->last_loss.has_value());
  EXPECT_EQ(view->outcome->lanes[0].operations, 7);
  EXPECT_FALSE(view->outcome->kinds[0].seconds.error.has_value());
  EXPECT_EQ(view->schedule.steady.operations.size(),
            static_cast<size_t>(view->timelines->operations()));
}

// Lines of older versions have neither; the run that goes on has both from then on.
TEST_F(RunViewTest, ReadsEpochAndTrainedTokensWhereLinesHaveThem) {
  std::string lines = Read("metrics.jsonl");
  lines.replace(lines.rfind("\"tokens\": 64,"), 13,
                "\"epoch\": 1.5, \"tokens\": 64, \"trained_tokens\": 170,");
  Write("metrics.jsonl", lines);
  const absl::StatusOr<RunView> view = ReadRun(*io_, folder_);
  ASSERT_TRUE(view.ok()) << view.status();
  EXPECT_FALSE(view->metrics.lines()[1].epoch.has_value());
  EXPECT_FALSE(view->metrics.lines()[1].trained_tokens.has_value());
  EXPECT_EQ(view->metrics.lines()[2].epoch, 1.5);
  EXPECT_EQ(view->metrics.lines()[2].trained_tokens, 170);
}

TEST_F(RunViewOfExpertsTest, KeepsTheLastLineOfTheirRoutingAndFollowsTheFile) {
  absl::StatusOr<RunView> view = ReadRun(*io_, folder_);
  ASSERT_TRUE(view.ok()) << view.status();
  EXPECT_EQ(view->routing, MadeRouting(3, 3));
  EXPECT_EQ(view->metrics.lines()[1].routing->aux_loss, 8.5);
  EXPECT_EQ(view->metrics.lines()[1].routing->busiest, 0.5);
  const std::string lines = Read("routing.jsonl");
  const std::string first = RoutingText(MadeRouting(1, 2)) + "\n";
  // A run that goes on after step 2 cuts the file; a line that is being written is left out.
  Write("routing.jsonl", first);
  ASSERT_TRUE(RefreshRun(*io_, *view).ok());
  EXPECT_EQ(view->routing, MadeRouting(1, 2));
  Write("routing.jsonl", lines.substr(0, lines.size() - 10));
  ASSERT_TRUE(RefreshRun(*io_, *view).ok());
  EXPECT_EQ(view->routing, MadeRouting(1, 2));
  Write("routing.jsonl", lines);
  ASSERT_TRUE(RefreshRun(*io_, *view).ok());
  EXPECT_EQ(view->routing, MadeRouting(3, 3));
  // Before the first line, and in runs of older versions, there is none.
  ASSERT_TRUE(io_->Unlink(folder_ + "/routing.jsonl").ok());
  EXPECT_FALSE(ReadRun(*io_, folder_)->routing.has_value());
}

TEST_F(RunViewOfExpertsTest, ATornOrMixedRoutingSaysWhichLineAndWhatToDo) {
  const auto text = [](const RoutingLine& line) { return RoutingText(line) + "\n"; };
  const std::string first = text(MadeRouting(1, 2));
  ExpectTorn("routing.jsonl", first + "garbage\n", "line 2");
  ExpectTorn("routing.jsonl", first + first, "line 2: step 1 follows step 2");
  ExpectTorn("routing.jsonl", first + text(MadeRouting(2, 3)), "line 2: step 2 follows step 2");
  RoutingLine bad = MadeRouting(3, 3);
  bad.counts[0] = -1;
  ExpectTorn("routing.jsonl", first + text(bad), "line 2:1: counts: needs whole numbers");
  ExpectTorn("routing.jsonl", first + text(bad), "move the file away to see the rest");
  ExpectTorn("routing.jsonl", text(MadeRouting(3, 4)), "has step 4, job.json has 3 steps");
  RoutingLine other = MadeRouting(3, 3);
  other.layers.back() = 50;
  ExpectTorn("routing.jsonl", text(other), "of another model");
  other = MadeRouting(3, 3);
  other.layers.pop_back();
  other.counts.resize(other.counts.size() - 128);
  ExpectTorn("routing.jsonl", text(other), "of another model");
}

TEST_F(RunViewTest, ADenseModelHasNoRouting) {
  EXPECT_FALSE(ReadRun(*io_, folder_)->routing.has_value());
  Write("routing.jsonl", RoutingText(MadeRouting(1, 3)) + "\n");
  const absl::Status status = ReadRun(*io_, folder_).status();
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("routing.jsonl"), HasSubstr("of another model")));
}

TEST_F(RunViewTest, ReadsHowTheMachinesSpeedChangedMeanwhile) {
  EXPECT_FALSE(ReadRun(*io_, folder_)->outcome->speed_change.has_value());
  std::string text = MadeOutcome(3);
  text.insert(1,
              R"("speed_change": {"products": 0.5, "memory": 2}, )"
              R"("step_seconds_at_speed": {"predicted": 0.2, "measured": 0.25, "error": 0.25}, )");
  Write("run.json", text);
  const absl::StatusOr<RunView> view = ReadRun(*io_, folder_);
  ASSERT_TRUE(view.ok()) << view.status();
  EXPECT_EQ(view->outcome->speed_change->gemm, 0.5);
  EXPECT_EQ(view->outcome->speed_change->memory, 2);
  EXPECT_EQ(view->outcome->step_seconds_at_speed->error, 0.25);
  for (const std::string wrong : {R"({"products": 0, "memory": 2})", R"({"products": 1})", "7",
                                  R"({"products": 1, "memory": -2})"}) {
    std::string torn = MadeOutcome(3);
    torn.insert(1, R"("speed_change": )" + wrong + ", ");
    ExpectTorn("run.json", torn, "speed_change");
  }
}

TEST_F(RunViewTest, TellsWhereARunStands) {
  Write("run.json", MadeOutcome(3, true));
  EXPECT_EQ(ReadRun(*io_, folder_)->state, RunState::kInterrupted);
  ASSERT_TRUE(io_->Unlink(folder_ + "/run.json").ok());
  EXPECT_EQ(ReadRun(*io_, folder_)->state, RunState::kFailed);
  const auto lock = io_->Lock(folder_ + "/lock");
  ASSERT_TRUE(lock.ok());
  EXPECT_EQ(ReadRun(*io_, folder_)->state, RunState::kRunning);
  // Looking has not taken the lock away.
  EXPECT_FALSE(io_->Lock(folder_ + "/lock").ok());
}

TEST_F(RunViewTest, ALineThatIsBeingWrittenIsNoError) {
  const auto lock = io_->Lock(folder_ + "/lock");
  const std::string lines = Read("metrics.jsonl");
  const size_t second = lines.find('\n', lines.find('\n') + 1) + 1;
  Write("metrics.jsonl", lines.substr(0, second + 20));
  const absl::StatusOr<RunView> view = ReadRun(*io_, folder_);
  ASSERT_TRUE(view.ok()) << view.status();
  EXPECT_EQ(view->steps_done, 2);
}

TEST_F(RunViewTest, ARefreshAddsWhatHasHappenedSince) {
  const std::string lines = Read("metrics.jsonl");
  const size_t first = lines.find('\n') + 1;
  ASSERT_TRUE(io_->Unlink(folder_ + "/run.json").ok());
  Write("metrics.jsonl", lines.substr(0, first));
  absl::StatusOr<RunView> view = ReadRun(*io_, folder_);
  ASSERT_TRUE(view.ok()) << view.status();
  view->reasons.push_back({.field = "buffer_depth", .text = "x"});
  EXPECT_EQ(view->steps_done, 1);
  Write("metrics.jsonl", lines);
  Write("run.json", MadeOutcome(3));
  ASSERT_TRUE(RefreshRun(*io_, *view).ok());
  EXPECT_EQ(view->steps_done, 3);
  EXPECT_EQ(view->state, RunState::kComplete);
  EXPECT_EQ(view->reasons.size(), 1u);
  // A run that goes on from an earlier step cuts the file.
  ASSERT_TRUE(io_->Unlink(folder_ + "/run.json").ok());
  Write("metrics.jsonl", lines.substr(0, first));
  ASSERT_TRUE(RefreshRun(*io_, *view).ok());
  EXPECT_EQ(view->steps_done, 1);
  EXPECT_EQ(view->metrics.lines().size(), 1u);
}

TEST_F(RunViewTest, WhileARunHasNoOutcomeTheFiguresAreThoseSoFar) {
  absl::StatusOr<RunView> view = ReadRun(*io_, folder_);
  ASSERT_TRUE(view.ok());
  view->outcome.reset();
  const std::optional<RunOutcome> outcome = OutcomeSoFar(*view);
  ASSERT_TRUE(outcome.has_value());
  EXPECT_EQ(outcome->step_seconds.measured, 0.25);
  EXPECT_EQ(outcome->step_seconds.predicted, view->prediction.prediction.step_seconds);
  EXPECT_EQ(outcome->tokens_per_second.measured, 256);
  EXPECT_EQ(outcome->first_loss, 4.0);
  ASSERT_FALSE(outcome->lanes.empty());
  for (const ComparedWork& lane : outcome->lanes) EXPECT_NEAR(*lane.seconds.error, 1, 1e-9);
  view->metrics.Clear();
  EXPECT_FALSE(OutcomeSoFar(*view).has_value());
}

TEST_F(RunViewTest, ATornOrMixedFolderSaysWhichFileAndWhatToDo) {
  for (const std::string name : {"job.json", "plan.json", "machine.json", "prediction.json",
                                 "timelines.json", "run.json", "base/config.json"}) {
    const std::string text = Read(name);
    ExpectTorn(name, text.substr(0, text.size() / 2), "--resume auto");
  }
  const std::string metrics = Read("metrics.jsonl");
  const std::string first = metrics.substr(0, metrics.find('\n') + 1);
  ExpectTorn("metrics.jsonl", metrics + first, "step 1 follows step 3");
  ExpectTorn("metrics.jsonl", first + first, "line 2: step 1 follows step 1");
  ExpectTorn("metrics.jsonl", "garbage\n" + metrics, "line 1");
  std::string more = metrics;
  more += StrCat("{\"step\": 4", first.substr(first.find(", ")));
  ExpectTorn("metrics.jsonl", more, "step 4");
  ExpectTorn("run.json", MadeOutcome(2), "tells of 2 steps");
  StepTimelines other = *MadeView().timelines;
  for (std::vector<int64_t>* times :
       {&other.predicted.start_ns, &other.predicted.end_ns, &other.measured.start_ns,
        &other.measured.end_ns, &other.mean_ns}) {
    times->pop_back();
  }
  other.awaited.assign(other.predicted.start_ns.size(), {});
  ExpectTorn("timelines.json", WriteTimelines(other), "files of two runs");
  StreamPlan plan = MadeView().plan;
  plan.model_fingerprint = "0123456789abcdef";
  ExpectTorn("plan.json", WritePlan(plan), "for another model");
  RunPrediction prediction = MadeView().prediction;
  ++prediction.prediction.operations;
  ExpectTorn("prediction.json", WriteRunPrediction(prediction), "files of two runs");
}

TEST_F(RunViewTest, AMissingFileIsToldByWhetherTheRunIsOnlyBeginning) {
  ASSERT_TRUE(io_->Unlink(folder_ + "/prediction.json").ok());
  const absl::Status missing = ReadRun(*io_, folder_).status();
  EXPECT_EQ(missing.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(missing.message()), HasSubstr("has no prediction.json"));
  const auto lock = io_->Lock(folder_ + "/lock");
  const absl::Status beginning = ReadRun(*io_, folder_).status();
  EXPECT_EQ(beginning.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(beginning.message()), HasSubstr("try again"));
}

TEST_F(RunViewTest, AFolderWithoutARunSaysWhatWasLookedFor) {
  const absl::Status status = ReadRun(*io_, folder_ + "/base").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("looked for job.json"));
  EXPECT_FALSE(ReadRun(*io_, folder_ + "/none").ok());
  EXPECT_FALSE(ReadRun(*io_, folder_ + "/job.json").ok());
}

}  // namespace
}  // namespace horizon
