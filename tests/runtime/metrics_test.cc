#include "runtime/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/faulting_io.h"
#include "common/json.h"
#include "tests/model/test_files.h"

namespace horizon {
namespace {

using testing::ElementsAre;

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

std::vector<std::string> LinesOf(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

TEST(Metrics, ALineHoldsExactlyTheFieldsInTheirOrder) {
  EXPECT_EQ(MetricsLine(Example(1)), kExampleLine);
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

class MetricsWriterTest : public testing::Test {
 protected:
  std::unique_ptr<Io> io_ = MakePosixIo();
  std::string path_ = JoinPath(MakeTestFolder(*io_), "metrics.jsonl");
};

TEST_F(MetricsWriterTest, AddsALineAStepAndGoesOnInALaterRun) {
  for (const int64_t first : {1, 3}) {
    absl::StatusOr<MetricsWriter> writer = MetricsWriter::Open(*io_, path_);
    ASSERT_TRUE(writer.ok()) << writer.status();
    EXPECT_TRUE(writer->Append(Example(first)).ok());
    EXPECT_TRUE(writer->Append(Example(first + 1)).ok());
    EXPECT_TRUE(writer->Close().ok());
  }
  EXPECT_THAT(LinesOf(ReadBytes(*io_, path_)),
              ElementsAre(MetricsLine(Example(1)), MetricsLine(Example(2)), MetricsLine(Example(3)),
                          MetricsLine(Example(4))));
}

TEST_F(MetricsWriterTest, ALineIsOneWrite) {
  FaultingIo io(*io_, {});
  absl::StatusOr<MetricsWriter> writer = MetricsWriter::Open(io, path_);
  ASSERT_TRUE(writer.ok());
  ASSERT_TRUE(writer->Append(Example(1)).ok());
  const uint64_t before = io.calls();
  ASSERT_TRUE(writer->Append(Example(2)).ok());
  EXPECT_EQ(io.calls(), before + 1);
  EXPECT_EQ(io.history().back(), "WriteAt " + path_);
}

TEST_F(MetricsWriterTest, AfterALineAKilledRunLeftInPartANewOneBegins) {
  for (const std::string_view left : {"{", "{\"st"}) {
    for (const std::string_view before : {"", "{\"step\": 1}\n"}) {
      WriteBytes(*io_, path_, std::string(before) + std::string(left));
      absl::StatusOr<MetricsWriter> writer = MetricsWriter::Open(*io_, path_);
      ASSERT_TRUE(writer.ok()) << writer.status();
      EXPECT_TRUE(writer->Append(Example(2)).ok());
      std::vector<std::string> lines = LinesOf(before);
      lines.insert(lines.end(), {std::string(left), MetricsLine(Example(2))});
      EXPECT_EQ(LinesOf(ReadBytes(*io_, path_)), lines);
    }
  }
}

TEST_F(MetricsWriterTest, EveryFailingCallIsReportedAndHurtsNoOtherLine) {
  for (const FaultPlan::Kind kind : {FaultPlan::Kind::kFail, FaultPlan::Kind::kShort}) {
    const uint64_t hit =
        ForEachFault(*io_, {.kind = kind, .error_number = ENOSPC}, [&](FaultingIo& io) {
          WriteBytes(*io_, path_, "");
          absl::StatusOr<MetricsWriter> writer = MetricsWriter::Open(io, path_);
          absl::Status first = writer.status();
          std::vector<std::string> written;
          if (writer.ok()) {
            for (int64_t step = 1; step <= 4; ++step) {
              const absl::Status added = writer->Append(Example(step));
              if (added.ok()) written.push_back(MetricsLine(Example(step)));
              if (first.ok()) first = added;
            }
            const absl::Status closed = writer->Close();
            if (first.ok()) first = closed;
          }
          EXPECT_EQ(IoErrno(first), io.reached() ? ENOSPC : 0) << first;
          std::vector<std::string> whole;
          for (const std::string& line : LinesOf(ReadBytes(*io_, path_))) {
            EXPECT_FALSE(line.empty());
            if (ParseJson("metrics", line).ok()) whole.push_back(line);
          }
          EXPECT_EQ(whole, written);
        });
    EXPECT_GT(hit, 10u);
  }
}

TEST_F(MetricsWriterTest, AFolderThatIsMissingIsAnErrorWithItsName) {
  const std::string path = JoinPath(path_, "no/metrics.jsonl");
  const absl::Status status = MetricsWriter::Open(*io_, path).status();
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr(path));
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
