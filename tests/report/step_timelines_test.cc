#include "report/step_timelines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simulator/cost_model.h"
#include "tests/report/made_run.h"

namespace horizon {
namespace {

using ::testing::HasSubstr;

const char kTwo[] =
    R"({"operations": 2, "step": 5, "predicted": {"start_ns": [0, 3], "end_ns": [3, 9]},
        "awaited": [-3, 0], "measured": {"start_ns": [0, 4], "end_ns": [4, 4]},
        "mean_ns": [4, 1]})";

std::string With(const std::string& from, const std::string& to) {
  std::string text = kTwo;
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(StepTimelines, ReadsWhatItWrites) {
  const StepTimelines made = *MadeView().timelines;
  const absl::StatusOr<StepTimelines> read = ReadTimelines("t.json", WriteTimelines(made));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, made);
  EXPECT_EQ(read->operations(), static_cast<int64_t>(made.predicted.start_ns.size()));
}

TEST(StepTimelines, AnAwaitedOperationOfTheStepBeforeIsToldApart) {
  const absl::StatusOr<StepTimelines> read = ReadTimelines("t.json", kTwo);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->awaited[0], (AwaitedOperation{.operation = 1, .previous_step = true}));
  EXPECT_EQ(read->awaited[1], (AwaitedOperation{.operation = 0}));
  EXPECT_EQ(read->step, 5);
}

TEST(StepTimelines, BeforeTheFirstMeasuredStepThereIsThePredictionAlone) {
  StepTimelines made = *MadeView().timelines;
  made.step = 0;
  made.measured = {};
  made.mean_ns.clear();
  const absl::StatusOr<StepTimelines> read = ReadTimelines("t.json", WriteTimelines(made));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, made);
}

TEST(StepTimelines, RefusesWhatDoesNotGoTogether) {
  const std::pair<std::string, std::string> cases[] = {
      {With("\"operations\": 2", "\"operations\": 3"), "needs 3 numbers"},
      {With("[0, 3]", "[0, -3]"), "needs numbers from 0"},
      {With("[3, 9]", "[3, 2]"), "operation 1 ends before it starts"},
      {With("[-3, 0]", "[-4, 0]"), "awaited"},
      {With("[-3, 0]", "[2, 0]"), "awaited"},
      {With("\"step\": 5", "\"step\": 0"), "measured.start_ns: needs 0 numbers"},
      {With("\"step\": 5", "\"step\": -1"), "step of zero or more"},
      {With("\"operations\": 2", "\"operations\": 1000000000"), "needs a count"},
      {With("[4, 1]", "[4]"), "mean_ns: needs 2 numbers"},
      {With("\"step\"", "\"stepp\""), "stepp"},
      {"[]", "needs an object"},
      {"{\"operations\": 2", "t.json"}};
  for (const auto& [text, message] : cases) {
    const absl::Status status = ReadTimelines("t.json", text).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(status.message()), HasSubstr(message)) << text;
  }
}

// The steady step of the simulation, from its first start on; a wait names what ended as it began.
TEST(StepTimelines, ThePredictedStepStartsAtZeroAndNamesWhatItsOperationsAwait) {
  const RunView view = MadeView();
  const StepTimelines& timelines = *view.timelines;
  const auto& start = timelines.predicted.start_ns;
  EXPECT_EQ(*std::min_element(start.begin(), start.end()), 0);
  ASSERT_EQ(start.size(), view.schedule.steady.operations.size());
  size_t within = 0;
  for (size_t i = 0; i < start.size(); ++i) {
    const AwaitedOperation& awaited = timelines.awaited[i];
    if (awaited.operation < 0 || awaited.previous_step) continue;
    ++within;
    EXPECT_EQ(timelines.predicted.end_ns[static_cast<size_t>(awaited.operation)], start[i]) << i;
  }
  EXPECT_GT(within, 10u);
}

}  // namespace
}  // namespace horizon
