#include "runtime/loop/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/documents/json.h"
#include "tests/model/test_files.h"

namespace horizon {
namespace {

StepMetrics Example(int64_t step) {
  return {.step = step,
          .loss = 2.5,
          .gradient_norm = 0.1,
          .learning_rate = 1e-4,
          .tokens = 1024,
          .step_time = Seconds{0.5},
          .host_bytes = 3_GiB,
          .device_bytes = 512_MiB,
          .predicted_step_time = Seconds{0.48}};
}

constexpr std::string_view kExampleLine =
    R"({"step": 1, "loss": 2.5, "gradient_norm": 0.1, "learning_rate": 1e-04, "tokens": 1024, )"
    R"("step_seconds": 0.5, "tokens_per_second": 2048, "host_bytes": 3221225472, )"
    R"("device_bytes": 536870912, "predicted_step_seconds": 0.48})";

TEST(Metrics, ALineHoldsExactlyTheFieldsInTheirOrder) {
  EXPECT_EQ(MetricsLine(Example(1)), kExampleLine);
}

TEST(Metrics, EpochAndTrainedTokensAreWrittenWhereTheyAreKnown) {
  StepMetrics metrics = Example(1);
  metrics.epoch = 1.0 / 3.0;
  metrics.trained_tokens = 700;
  std::string expected(kExampleLine);
  expected.replace(expected.find("\"tokens\": 1024,"), 15,
                   "\"epoch\": 0.3333333333333333, \"tokens\": 1024, \"trained_tokens\": 700,");
  EXPECT_EQ(MetricsLine(metrics), expected);
}

TEST(Metrics, HowExpertsWereChosenIsWrittenWhereThereAreSome) {
  StepMetrics metrics = Example(1);
  metrics.routing = {
      .aux_loss = 2.25, .busiest = 0.75, .idlest = std::numeric_limits<double>::quiet_NaN()};
  std::string expected(kExampleLine);
  expected.replace(expected.find("\"tokens\": 1024,"), 15,
                   "\"tokens\": 1024, \"router_aux_loss\": 2.25, \"busiest_expert\": 0.75, "
                   "\"idlest_expert\": null,");
  EXPECT_EQ(MetricsLine(metrics), expected);
}

TEST(Metrics, TheLastStepOfAFileIsThatOfItsLastWholeLine) {
  const std::unique_ptr<Io> io = MakePosixIo();
  const std::string path = JoinPath(MakeTestFolder(*io), "eval.jsonl");
  EXPECT_EQ(*LastStep(*io, path), 0);
  WriteBytes(*io, path, "");
  EXPECT_EQ(*LastStep(*io, path), 0);
  WriteBytes(*io, path, "{\"step\": 5}\n{\"step\": 10, \"loss\": 2}\n{\"step\": 15");
  EXPECT_EQ(*LastStep(*io, path), 10);
  WriteBytes(*io, path, "{\"step\": 5}\nno step\n");
  EXPECT_TRUE(absl::IsDataLoss(LastStep(*io, path).status()));
}

TEST(Metrics, GradientNormsAreAnObjectAtTheEnd) {
  StepMetrics metrics = Example(1);
  metrics.gradient_norms = {{"model.norm.weight", 0.25}, {"a \"b\"", 1}};
  std::string expected(kExampleLine);
  expected.pop_back();
  expected += R"(, "gradient_norms": {"model.norm.weight": 0.25, "a \"b\"": 1}})";
  EXPECT_EQ(MetricsLine(metrics), expected);
}

TEST(Metrics, WhatIsNotFiniteIsNullAndAStepWithoutTimeHasNoRate) {
  StepMetrics metrics = Example(1);
  metrics.loss = std::numeric_limits<double>::quiet_NaN();
  metrics.gradient_norm = std::numeric_limits<double>::infinity();
  metrics.step_time = Seconds{0};
  const absl::StatusOr<Document> line = ParseJson("metrics", MetricsLine(metrics));
  ASSERT_TRUE(line.ok()) << line.status();
  EXPECT_TRUE(line->root.Find("loss")->is_null());
  EXPECT_TRUE(line->root.Find("gradient_norm")->is_null());
  EXPECT_EQ(*line->root.Find("tokens_per_second")->As<int64_t>(), 0);
}

TEST(Metrics, NumbersReadBackToTheSameBits) {
  StepMetrics metrics = Example(1);
  metrics.loss = 0.1 + 0.2;
  metrics.gradient_norm = 5e-324;
  const absl::StatusOr<Document> line = ParseJson("metrics", MetricsLine(metrics));
  ASSERT_TRUE(line.ok()) << line.status();
  EXPECT_EQ(*line->root.Find("loss")->As<double>(), 0.1 + 0.2);
  EXPECT_EQ(*line->root.Find("gradient_norm")->As<double>(), 5e-324);
}

TEST(EvaluationText, IsOneLineThatReadsBack) {
  const std::string text =
      EvaluationText({.step = 20, .loss = 0.1 + 0.2, .perplexity = 1.5, .counted = 7});
  EXPECT_EQ(text.find('\n'), std::string::npos);
  const absl::StatusOr<Document> line = ParseJson("evaluation", text);
  ASSERT_TRUE(line.ok()) << line.status();
  EXPECT_EQ(*line->root.Find("step")->As<int64_t>(), 20);
  EXPECT_EQ(*line->root.Find("loss")->As<double>(), 0.1 + 0.2);
}

class CutAfterStepTest : public testing::Test {
 protected:
  // The file afterwards, or what was wrong.
  std::string Cut(std::string_view text, int64_t last) {
    WriteBytes(*io_, path_, text);
    const absl::Status status = CutAfterStep(*io_, path_, last);
    if (!status.ok()) {
      EXPECT_TRUE(absl::IsDataLoss(status)) << status;
      EXPECT_EQ(*ReadTextFile(*io_, path_), text);
      return std::string(status.message().substr(path_.size()));
    }
    return *ReadTextFile(*io_, path_);
  }

  std::unique_ptr<Io> io_ = MakePosixIo();
  std::string path_ = JoinPath(MakeTestFolder(*io_), "metrics.jsonl");
};

TEST_F(CutAfterStepTest, KeepsTheStepsUpToTheLast) {
  const std::string lines = "{\"step\": 1, \"loss\": 2}\n{\"step\": 2}\n{\"step\": 30}\n";
  EXPECT_EQ(Cut(lines, 30), lines);
  EXPECT_EQ(Cut(lines, 29), "{\"step\": 1, \"loss\": 2}\n{\"step\": 2}\n");
  EXPECT_EQ(Cut(lines, 0), "");
  EXPECT_EQ(Cut("", 5), "");
}

TEST_F(CutAfterStepTest, APartOfALineAtTheEndGoes) {
  EXPECT_EQ(Cut("{\"step\": 1}\n{\"step\": 2", 5), "{\"step\": 1}\n");
}

TEST_F(CutAfterStepTest, ALineWithoutAStepIsRefusedWithItsPlace) {
  const std::string where = " has a line without a step at byte 12; move the file away to go on";
  for (const std::string bad :
       {"", "step 2", "{\"loss\": 2}", "{\"step\": }", "{\"step\": -1}", "{\"step\": -0}",
        "{\"step\": +1}", "{\"step\": 99999999999999999999}"}) {
    EXPECT_EQ(Cut("{\"step\": 1}\n" + bad + "\n", 5), where) << bad;
  }
}

TEST_F(CutAfterStepTest, AMissingFileIsNone) {
  EXPECT_TRUE(CutAfterStep(*io_, path_, 3).ok());
  EXPECT_FALSE(io_->Info(path_).ok());
}

}  // namespace
}  // namespace horizon
