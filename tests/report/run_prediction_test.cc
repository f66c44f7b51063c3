#include "report/run_prediction.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/report/made_run.h"

namespace horizon {
namespace {

using ::testing::HasSubstr;

TEST(RunPrediction, ReadsWhatItWrites) {
  const RunPrediction made = MadeView().prediction;
  ASSERT_FALSE(made.prediction.stalls.empty());
  ASSERT_LE(made.prediction.stalls.size(), kKeptStalls);
  const std::string text = WriteRunPrediction(made);
  const absl::StatusOr<RunPrediction> read = ReadRunPrediction("p.json", text);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(WriteRunPrediction(*read), text);
  EXPECT_EQ(read->prediction.step_seconds, made.prediction.step_seconds);
  EXPECT_EQ(read->prediction.memory.host_bytes(), made.prediction.memory.host_bytes());
  EXPECT_EQ(read->prediction.busy_share, made.prediction.busy_share);
  EXPECT_EQ(read->software, made.software);
  EXPECT_EQ(read->limits, made.limits);
}

// machine.json, job.json, plan.json and the software in prediction.json are all it depends on.
TEST(RunPrediction, TheSimulationCanBeRepeatedFromWhatIsKept) {
  const RunView view = MadeView();
  const absl::StatusOr<RunPrediction> kept =
      ReadRunPrediction("p.json", WriteRunPrediction(view.prediction));
  ASSERT_TRUE(kept.ok());
  const Prediction again =
      PredictRun(view.spec, view.schedule, {.profile = view.machine, .software = kept->software})
          .prediction;
  EXPECT_EQ(again.step_seconds, kept->prediction.step_seconds);
  EXPECT_EQ(again.memory.host_bytes(), kept->prediction.memory.host_bytes());
}

// Runs that were made before a strategy's software had these speeds.
TEST(RunPrediction, OlderRunsHaveNoSpeedsOfGemmsAndPacking) {
  RunPrediction made = MadeView().prediction;
  made.software.gemm_speed = 0.5;
  made.software.pack_speed = 0.25;
  std::string text = WriteRunPrediction(made);
  EXPECT_EQ(ReadRunPrediction("p.json", text)->software, made.software);
  for (const std::string field : {"\"gemm_speed\": 0.5,", "\"pack_speed\": 0.25,"}) {
    const size_t at = text.find(field);
    ASSERT_NE(at, text.npos) << field;
    text.erase(at, field.size());
  }
  const absl::StatusOr<RunPrediction> older = ReadRunPrediction("p.json", text);
  ASSERT_TRUE(older.ok()) << older.status();
  EXPECT_EQ(older->software.gemm_speed, 1);
  EXPECT_EQ(older->software.pack_speed, 1);
}

TEST(RunPrediction, RefusesWhatIsMissingNegativeOrBeyondAnyMachine) {
  const std::string text = WriteRunPrediction(MadeView().prediction);
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string changed = text;
    const size_t at = changed.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return changed.replace(at, from.size(), to);
  };
  const std::pair<std::string, std::string> cases[] = {
      {with("\"step_seconds\": ", "\"step_seconds\": -"), "step_seconds"},
      {with("\"step_seconds\"", "\"step\""), "step_seconds"},
      {with("\"link_share\": 1", "\"link_share\": \"1\""), "link_share"},
      {with("\"gemm_speed\": 1", "\"gemm_speed\": 0"), "gemm_speed"},
      {with("\"pack_speed\": 1", "\"pack_speed\": -1"), "pack_speed"},
      {with("\"bytes\": ", "\"bytes\": 9000000000000000000, \"x\": "), "memory[0]"},
      {with("\"lane\": \"", "\"lane\": \"no"), "needs one of"},
      {with("\"lanes\": {", "\"lanes\": 3, \"x\": {"), "lanes"},
      {text.substr(0, text.size() / 2), "p.json"}};
  for (const auto& [changed, message] : cases) {
    const absl::Status status = ReadRunPrediction("p.json", changed).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << message;
    EXPECT_THAT(std::string(status.message()), HasSubstr(message));
  }
}

}  // namespace
}  // namespace horizon
