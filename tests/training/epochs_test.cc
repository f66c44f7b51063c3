// Trainings whose length is given in epochs: every sample once in each, the last step may be short.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "common/documents/json.h"
#include "common/text/str_cat.h"
#include "runtime/checkpoint/checkpoint_reader.h"
#include "schedule/stream_plan.h"
#include "tests/model/test_files.h"
#include "tests/training/small_run.h"
#include "training/count_steps.h"

namespace horizon {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// What a step wrote into metrics.jsonl.
struct Line {
  double loss = 0;
  double gradient_norm = 0;
  double epoch = 0;
  int64_t trained_tokens = 0;
  friend bool operator==(const Line&, const Line&) = default;
};

class EpochsTest : public testing::Test {
 protected:
  EpochsTest() {
    // Of lengths 5 to 31, so that packing has something to do.
    std::string lines;
    for (int sample = 0; sample < kSamples; ++sample) {
      lines += "{\"input_ids\": [";
      for (int i = 0; i < LengthOf(sample); ++i) {
        lines += StrCat(i == 0 ? "" : ",", (sample * 7 + i * 3) % 128);
      }
      lines += "]}\n";
    }
    WriteBytes(run_.io(), run_.Path("data.jsonl"), lines);
    TrainingJob& job = run_.settings.job;
    job.micro_batch = 2;
    job.accumulation = 2;
    job.epochs = 2;
    job.compute_type = NumberType::kFp32;
    job.gradient_type = NumberType::kFp32;
    run_.settings.save.every = 1;
    run_.settings.save.keep = 100;
  }

  static constexpr int kSamples = 22;
  static int LengthOf(int sample) { return 5 + sample * 11 % 27; }
  // Labelled tokens of an epoch: a sample's first token is not trained.
  static int Labels() {
    int labels = 0;
    for (int sample = 0; sample < kSamples; ++sample) labels += LengthOf(sample) - 1;
    return labels;
  }

  std::vector<Line> Lines(const std::string& folder) {
    std::vector<Line> lines;
    const std::string text = ReadBytes(run_.io(), folder + "/metrics.jsonl");
    for (size_t begin = 0; begin < text.size(); begin = text.find('\n', begin) + 1) {
      const std::string line = text.substr(begin, text.find('\n', begin) - begin);
      const absl::StatusOr<Document> json = ParseJson("metrics", line);
      EXPECT_TRUE(json.ok()) << json.status();
      lines.push_back({.loss = *json->root.Find("loss")->As<double>(),
                       .gradient_norm = *json->root.Find("gradient_norm")->As<double>(),
                       .epoch = Number(*json, "epoch"),
                       .trained_tokens = *json->root.Find("trained_tokens")->As<int64_t>()});
    }
    return lines;
  }
  // JSON has whole numbers without a point.
  static double Number(const Document& json, const char* key) {
    const Value& value = *json.root.Find(key);
    const auto* whole = value.As<int64_t>();
    return whole == nullptr ? *value.As<double>() : static_cast<double>(*whole);
  }
  std::string Step(const std::string& folder, int64_t step) {
    return StrCat(folder, "/checkpoints/step-", std::string(step < 10 ? "0000000" : "000000"),
                  step);
  }
  // Masters and moments.
  std::string State(const std::string& checkpoint) {
    return ReadBytes(run_.io(), checkpoint + "/model.safetensors") +
           ReadBytes(run_.io(), checkpoint + "/low.safetensors") +
           ReadBytes(run_.io(), checkpoint + "/moments.safetensors");
  }
  void ExpectRefused(const std::string& message) {
    const absl::Status status =
        PrepareTraining(run_.Context(), run_.settings, run_.model()).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(message));
  }

  SmallRun run_;
};

TEST_F(EpochsTest, AreAsManyStepsAsTheirRowsFill) {
  const PreparedTraining prepared = run_.Prepare();
  // An epoch at a time, row by row.
  int64_t rows = 0;
  std::vector<TokenRecord> row(32);
  const std::unique_ptr<PackedSource>& data = prepared.data.train;
  for (; !data->at_end(); ++rows) ASSERT_TRUE(data->Fill(row).ok());
  ASSERT_NE(rows % 4, 0) << "the last step is to be a short one";
  EXPECT_EQ(prepared.job.steps, rows / 4 + 1);
  EXPECT_EQ(prepared.planned->schedule.job.steps, prepared.job.steps);
  EXPECT_THAT(run_.LogText(),
              HasSubstr(StrCat("2 epochs of 22 samples: ", rows, " rows in ", rows / 4 + 1,
                               " steps, the last one of ", rows % 4, " row")));
  ASSERT_TRUE(data->Seek({}).ok());
  const absl::StatusOr<CountedSteps> three = CountSteps(*data, prepared.job, 3);
  ASSERT_TRUE(three.ok());
  EXPECT_GT(three->rows, rows);
  EXPECT_EQ(three->steps, (three->rows + 3) / 4);
}

TEST_F(EpochsTest, AWarmUpThatIsLongerThanTheEpochsIsRefused) {
  run_.settings.job.warmup_steps = 500;
  ExpectRefused("warmup_steps 500 is more than steps");
}

// With a learning rate of 0 nothing changes from step to step, so a step's loss and gradient can be
// put together from those of its rows alone: a token of a step has the weight 1 / its tokens.
TEST_F(EpochsTest, AStepIsTheMeanOverItsOwnTokens) {
  TrainingJob& job = run_.settings.job;
  job.learning_rate = 0;
  job.weight_decay = 0;
  job.clip_norm = 0;
  {
    // As many epochs as leave one row for the last step.
    const PreparedTraining prepared = run_.Prepare();
    while (*prepared.data.train->CountRows({}, job.epochs) % 4 != 1) ++job.epochs;
  }
  const FinishedTraining finished = run_.Train();
  ASSERT_TRUE(finished.status.ok()) << finished.status;
  const std::vector<Line> steps = Lines(run_.settings.folder);
  run_.settings.folder = run_.Path("by_row");
  const PreparedTraining prepared = run_.Prepare();
  PackedSource& source = *prepared.data.train;
  job.micro_batch = job.accumulation = 1;
  ASSERT_TRUE(run_.Train().status.ok());
  const std::vector<Line> rows = Lines(run_.settings.folder);
  ASSERT_EQ(steps.size(), (rows.size() + 3) / 4);
  std::vector<int64_t> counts;
  std::vector<TokenRecord> row(32);
  for (size_t i = 0; i < rows.size(); ++i) counts.push_back(*source.Fill(row));
  EXPECT_TRUE(source.at_end());
  int64_t all = 0;
  for (size_t step = 0; step < steps.size(); ++step) {
    double sum = 0;
    int64_t tokens = 0;
    for (size_t i = 4 * step; i < std::min(rows.size(), 4 * step + 4); ++i) {
      sum += rows[i].loss * static_cast<double>(counts[i]);
      tokens += counts[i];
    }
    EXPECT_NEAR(steps[step].loss, sum / static_cast<double>(tokens), 1e-6) << step;
    all += tokens;
    EXPECT_EQ(steps[step].trained_tokens, all);
    EXPECT_EQ(steps[step].epoch, rows[std::min(rows.size(), 4 * step + 4) - 1].epoch);
  }
  EXPECT_EQ(all, job.epochs * Labels());
  EXPECT_EQ(steps.back().epoch, job.epochs);
  EXPECT_THAT(finished.answer->text,
              AllOf(HasSubstr(StrCat(", ", job.epochs, " epochs")), HasSubstr("tokens trained")));
  EXPECT_THAT(finished.answer->json, AllOf(HasSubstr(StrCat("\"epoch\": ", job.epochs, ",")),
                                           HasSubstr(StrCat("\"trained_tokens\": ", all, ","))));
  // A last step of one row is that row's.
  ASSERT_EQ(rows.size() % 4, 1u);
  EXPECT_NEAR(steps.back().loss, rows.back().loss, 1e-7);
  EXPECT_NEAR(steps.back().gradient_norm, rows.back().gradient_norm,
              1e-6 * rows.back().gradient_norm);
  EXPECT_GT(std::abs(steps[0].gradient_norm - rows[0].gradient_norm), 1e-3);
}

TEST_F(EpochsTest, HaveTheSameBitsUnderEveryPlanAndFromEveryStep) {
  ASSERT_TRUE(run_.Train().status.ok());
  const std::string whole = run_.settings.folder;
  const std::vector<Line> lines = Lines(whole);
  const auto steps = static_cast<int64_t>(lines.size());
  const std::string state = State(Step(whole, steps));
  std::vector<StreamPlan> plans(3);
  plans[0].strategy = Strategy::kResident;
  plans[0].embedding_home = EmbeddingHome::kDevice;
  plans[0].recompute = false;
  plans[1].buffer_depth = 1;
  plans[1].gradient_slabs = 1;
  plans[2].buffer_depth = 5;
  plans[2].accumulation_order = AccumulationOrder::kChunkMajor;
  for (size_t i = 0; i < plans.size(); ++i) {
    SCOPED_TRACE(i);
    run_.settings.plan.file = run_.Path("plan.json");
    WriteBytes(run_.io(), *run_.settings.plan.file, WritePlan(plans[i]));
    run_.settings.folder = run_.Path(StrCat("planned", i));
    ASSERT_TRUE(run_.Train().status.ok());
    EXPECT_EQ(Lines(run_.settings.folder), lines);
    EXPECT_EQ(State(Step(run_.settings.folder, steps)), state);
  }
  run_.settings.plan.file = std::nullopt;
  for (int64_t from = 1; from < steps; ++from) {
    SCOPED_TRACE(from);
    run_.settings.folder = run_.Path(StrCat("from", from));
    run_.settings.resume = Step(whole, from);
    ASSERT_TRUE(run_.Train().status.ok());
    EXPECT_EQ(State(Step(run_.settings.folder, steps)), state);
    const std::vector<Line> rest = Lines(run_.settings.folder);
    EXPECT_EQ(rest, std::vector<Line>(lines.begin() + from, lines.end()));
  }
}

TEST_F(EpochsTest, MayBecomeMoreAndNotFewerThanAreBegun) {
  ASSERT_TRUE(run_.Train().status.ok());
  const std::vector<Line> two = Lines(run_.settings.folder);
  run_.settings.resume = "auto";
  EXPECT_TRUE(run_.Prepare().complete());
  run_.settings.job.epochs = 1;
  ExpectRefused("is in epoch 3 of the data already; give at least 3 epochs");
  run_.settings.job.epochs = 3;
  EXPECT_THAT(run_.LogText(), HasSubstr(StrCat("after step ", two.size(), ", 0 rows in 0 steps")));
  // The third epoch begins with a step of its own.
  const PreparedTraining third = run_.Prepare();
  const int64_t rows = *third.data.train->CountRows({.epoch = 2}, 3);
  EXPECT_EQ(third.job.steps, static_cast<int64_t>(two.size()) + (rows + 3) / 4);
  ASSERT_FALSE(third.complete());
}

}  // namespace
}  // namespace horizon
