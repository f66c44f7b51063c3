// What a run of a model with experts writes about their choice, and what is left of it when the run
// goes on from a checkpoint.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "common/text/str_cat.h"
#include "report/step_lines.h"
#include "runtime/loop/routing_line.h"
#include "tests/model/recording_io.h"
#include "tests/model/test_files.h"
#include "tests/training/small_run.h"

namespace horizon {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

// The second of three layers is dense.
constexpr char kConfig[] = R"({"model_type": "qwen3_moe", "hidden_size": 64,
  "intermediate_size": 96, "num_hidden_layers": 3, "num_attention_heads": 2,
  "num_key_value_heads": 1, "head_dim": 32, "vocab_size": 128, "max_position_embeddings": 64,
  "num_local_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 48,
  "mlp_only_layers": [1], "norm_topk_prob": true})";

class RoutingTest : public testing::Test {
 protected:
  RoutingTest() {
    run_.settings.job.steps = 7;
    run_.settings.save.every = 3;
    run_.settings.save.keep = 100;
  }
  FinishedTraining Train(const std::string& folder) {
    run_.settings.folder = run_.Path(folder);
    return run_.Train();
  }
  // The lines of a run, which the report reads too.
  std::vector<RoutingLine> Lines(const std::string& folder) {
    std::vector<RoutingLine> lines;
    const absl::StatusOr<uint64_t> end =
        VisitRouting(run_.io(), run_.Path(folder) + "/routing.jsonl", 0, -1,
                     [&](RoutingLine line) { lines.push_back(std::move(line)); });
    EXPECT_TRUE(end.ok()) << end.status();
    return lines;
  }
  static std::vector<std::pair<int64_t, int64_t>> StepsOf(const std::vector<RoutingLine>& lines) {
    std::vector<std::pair<int64_t, int64_t>> steps;
    steps.reserve(lines.size());
    for (const RoutingLine& line : lines) steps.emplace_back(line.first_step, line.step);
    return steps;
  }
  static RoutingLine SumOf(const std::vector<RoutingLine>& lines) {
    RoutingLine sum;
    for (const RoutingLine& line : lines) AddSteps(line, sum);
    return sum;
  }

  SmallRun run_{kConfig};
};

TEST_F(RoutingTest, ALineEndsAtEverySavedStepAndAtTheLast) {
  const FinishedTraining finished = Train("run");
  ASSERT_TRUE(finished.status.ok()) << finished.status;
  const std::vector<RoutingLine> lines = Lines("run");
  ASSERT_THAT(StepsOf(lines), ElementsAre(Pair(1, 3), Pair(4, 6), Pair(7, 7)));
  for (const RoutingLine& line : lines) {
    EXPECT_EQ(line.experts, 4);
    EXPECT_EQ(line.experts_per_token, 2);
    EXPECT_THAT(line.layers, ElementsAre(0, 2));
    // A row of 32 tokens a step, none of which is padding.
    EXPECT_EQ(line.tokens, 32 * (line.step - line.first_step + 1));
  }
  // Not every token of the run chose the same experts.
  EXPECT_LT(ExtremesOf(SumOf(lines))->busiest.share, 1.0);
}

TEST_F(RoutingTest, WithoutSavesThereIsALineEveryFiftySteps) {
  run_.settings.save.mode = std::nullopt;
  run_.settings.job.steps = kStepsPerRoutingLine + 2;
  ASSERT_TRUE(Train("run").status.ok());
  EXPECT_THAT(StepsOf(Lines("run")),
              ElementsAre(Pair(1, kStepsPerRoutingLine),
                          Pair(kStepsPerRoutingLine + 1, kStepsPerRoutingLine + 2)));
}

TEST_F(RoutingTest, ARunThatGoesOnFromACheckpointWritesTheSameLines) {
  ASSERT_TRUE(Train("run").status.ok());
  const std::string whole = ReadBytes(run_.io(), run_.Path("run/routing.jsonl"));
  for (const int64_t step : {3, 6}) {
    // As if the run had been killed after step 7, with a part of a line behind.
    WriteBytes(run_.io(), run_.Path("run/routing.jsonl"), whole + "{\"step\": 8, ");
    run_.settings.resume = StrCat(run_.Path("run/checkpoints/step-0000000"), step);
    ASSERT_TRUE(Train("run").status.ok());
    EXPECT_EQ(ReadBytes(run_.io(), run_.Path("run/routing.jsonl")), whole) << step;
  }
}

TEST_F(RoutingTest, AStopChangesNoSum) {
  ASSERT_TRUE(Train("whole").status.ok());
  run_.settings.folder = run_.Path("run");
  const FinishedTraining stopped = run_.Train([] { return true; });
  ASSERT_EQ(stopped.status.code(), absl::StatusCode::kCancelled) << stopped.status;
  const std::vector<RoutingLine> before = Lines("run");
  ASSERT_EQ(before.size(), 1u);
  EXPECT_EQ(before[0].first_step, 1);
  ASSERT_LT(before[0].step, 3);
  run_.settings.resume = "auto";
  ASSERT_TRUE(Train("run").status.ok());
  const std::vector<RoutingLine> after = Lines("run");
  EXPECT_EQ(after[0], before[0]);
  EXPECT_EQ(after[1].first_step, before[0].step + 1);
  EXPECT_EQ(SumOf(after), SumOf(Lines("whole")));
}

TEST_F(RoutingTest, WithoutACheckpointNothingOfAnEarlierStartIsLeft) {
  run_.settings.save.mode = std::nullopt;
  run_.settings.job.steps = 4;
  ASSERT_TRUE(Train("run").status.ok());
  const std::string whole = ReadBytes(run_.io(), run_.Path("run/routing.jsonl"));
  ASSERT_TRUE(run_.io().Unlink(run_.Path("run/run.json")).ok());
  run_.settings.resume = "auto";
  ASSERT_TRUE(Train("run").status.ok());
  EXPECT_EQ(ReadBytes(run_.io(), run_.Path("run/routing.jsonl")), whole);
}

// Cannot open what is named so for writing.
class FullDisk : public RecordingIo {
 public:
  FullDisk(Io& inner, std::string name) : RecordingIo(inner), name_(std::move(name)) {}
  absl::StatusOr<std::unique_ptr<File>> Open(const std::string& path, OpenMode mode) override {
    if (path.find(name_) != std::string::npos && mode != OpenMode::kRead) {
      return IoError(ENOSPC, "create '" + path + "'");
    }
    return RecordingIo::Open(path, mode);
  }

 private:
  const std::string name_;
};

TEST_F(RoutingTest, AFullDiskDoesNotEndTheRun) {
  FullDisk disk(run_.io(), "routing.jsonl");
  run_.settings.folder = run_.Path("run");
  const FinishedTraining finished = run_.Train(disk);
  EXPECT_TRUE(finished.status.ok()) << finished.status;
  EXPECT_THAT(run_.LogText(), HasSubstr("routing.jsonl"));
  EXPECT_FALSE(FileExists(run_.io(), run_.Path("run/routing.jsonl")));
}

}  // namespace
}  // namespace horizon
