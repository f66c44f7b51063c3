// The accuracy experiment, in its quick form: all of it happens, and what it says is so.
#include "experiments/accuracy/accuracy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/documents/json.h"
#include "common/files/faulting_io.h"
#include "common/files/io.h"
#include "experiments/accuracy/accuracy_report.h"
#include "experiments/accuracy/question_set.h"
#include "experiments/accuracy/score.h"
#include "presentation/csv.h"
#include "tests/model/test_files.h"

namespace horizon {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

TEST(StatedResult, IsTheNumberOfTheLastSentence) {
  EXPECT_EQ(StatedResult("3 + 4 = 7. The answer is 7."), 7);
  EXPECT_EQ(StatedResult("The answer is 0."), 0);
  EXPECT_EQ(StatedResult("3 + 4 = 8. The answer is 7."), 7);
  EXPECT_EQ(StatedResult("The answer is 8. No: The answer is 17."), 17);
  EXPECT_EQ(StatedResult("The answer is 999999999999999999."), 999'999'999'999'999'999);
}

TEST(StatedResult, PassesOverWhiteSpaceAroundTheText) {
  EXPECT_EQ(StatedResult(" \n The answer is 12. \t\r\n"), 12);
}

TEST(StatedResult, IsNoneForAnyOtherEnd) {
  for (const std::string text : {"",
                                 " ",
                                 ".",
                                 "7.",
                                 "7",
                                 "The answer is 7",
                                 "The answer is .",
                                 "The answer is 7..",
                                 "The answer is 7. 8",
                                 "The answer is 7. So it is.",
                                 "The answer is -7.",
                                 "The answer is 7.5.",
                                 "The answer is 07.",
                                 "The answer is 1,000.",
                                 "the answer is 7.",
                                 "The answer is7.",
                                 "The answer is  7 .",
                                 "The answer is seven.",
                                 "3 + 4 = 7.",
                                 "The answer is 7 .",
                                 "The answer is 9999999999999999999."}) {
    EXPECT_EQ(StatedResult(text), std::nullopt) << text;
  }
}

class QuestionSetTest : public testing::Test {
 protected:
  // The questions of a file, or its responses.
  std::vector<std::string> Column(const std::string& name, const std::string& key) {
    std::vector<std::string> values;
    std::string text = ReadBytes(*io_, JoinPath(folder_, name));
    while (!text.empty()) {
      const std::string line = text.substr(0, text.find('\n'));
      text.erase(0, line.size() + 1);
      const absl::StatusOr<Document> record = ParseJson(name, line);
      EXPECT_TRUE(record.ok()) << record.status();
      values.push_back(*record->root.Find(key)->As<std::string>());
    }
    return values;
  }

  std::unique_ptr<Io> io_ = MakePosixIo();
  std::string folder_ = MakeTestFolder(*io_);
};

TEST_F(QuestionSetTest, AsksOnlyWhatIsNotTrainedOn) {
  // So many that some questions come twice by chance.
  const auto set = QuestionSet::Write(*io_, folder_, {.problems = 20'000, .held_out = 2'000});
  ASSERT_TRUE(set.ok()) << set.status();
  const std::vector<std::string> trained = Column("problems.jsonl", "query");
  const std::vector<std::string> asked = Column("held_out.jsonl", "query");
  const std::vector<std::string> answers = Column("held_out.jsonl", "response");
  ASSERT_THAT(trained, SizeIs(20'000));
  ASSERT_THAT(asked, SizeIs(2'000));
  ASSERT_THAT(set->held_out(), SizeIs(2'000));
  const std::set<std::string> known(trained.begin(), trained.end());
  for (size_t i = 0; i < asked.size(); ++i) {
    EXPECT_EQ(known.count(asked[i]), 0) << asked[i];
    const QuestionSet::HeldOut& held_out = set->held_out()[i];
    // Bytes as tokens, and a newline before the answer.
    EXPECT_EQ(std::string(held_out.prompt.begin(), held_out.prompt.end()), asked[i] + "\n");
    EXPECT_EQ(StatedResult(answers[i]), held_out.result) << answers[i];
    EXPECT_LE(static_cast<int64_t>(held_out.prompt.size()), set->longest_prompt());
    EXPECT_LT(static_cast<int64_t>(answers[i].size()), set->longest_answer());
  }
  EXPECT_EQ(std::set<std::string>(asked.begin(), asked.end()).size(), asked.size());
}

TEST_F(QuestionSetTest, AnswersAloneAreLearnt) {
  const auto set = QuestionSet::Write(*io_, folder_, {.problems = 1, .held_out = 1});
  ASSERT_TRUE(set.ok()) << set.status();
  const std::string query = Column("problems.jsonl", "query")[0];
  const std::string response = Column("problems.jsonl", "response")[0];
  const absl::StatusOr<TrainingData> data = set->Open(*io_, 256, 0);
  ASSERT_TRUE(data.ok()) << data.status();
  std::vector<TokenRecord> row(256);
  const absl::StatusOr<int64_t> counted = data->train->Fill(row);
  ASSERT_TRUE(counted.ok()) << counted.status();
  std::string ids;
  std::string trained;
  for (size_t i = 0; i < query.size() + 1 + response.size(); ++i) {
    ids += static_cast<char>(row[i].id);
    if (row[i].label >= 0 && row[i].label < 256) trained += static_cast<char>(row[i].label);
  }
  EXPECT_EQ(ids, query + "\n" + response);
  EXPECT_EQ(trained, response);
  EXPECT_EQ(*counted, static_cast<int64_t>(response.size()) + 1);
  EXPECT_EQ(row[query.size() + response.size()].label, set->end_id());
}

// The quick experiment, run once for all tests of it.
struct QuickRun {
  QuickRun() {
    AccuracyOptions options = QuickAccuracy();
    options.folder = MakeTestFolder(*io);
    options.threads = 2;
    options.on_progress = [this](std::string_view line) { news.emplace_back(line); };
    RealClock clock;
    result = RunAccuracy(options, *io, clock);
  }

  std::unique_ptr<Io> io = MakePosixIo();
  std::vector<std::string> news;
  absl::StatusOr<AccuracyResult> result;
};

class AccuracyTest : public testing::Test {
 protected:
  static const QuickRun& Run() {
    static const QuickRun run;
    return run;
  }
  void SetUp() override { ASSERT_TRUE(Run().result.ok()) << Run().result.status(); }

  static const AccuracyResult& result() { return *Run().result; }
  static std::vector<PublishedAccuracy> Published() {
    absl::StatusOr<std::vector<PublishedAccuracy>> published = LoadPublishedAccuracy();
    EXPECT_TRUE(published.ok()) << published.status();
    return *published;
  }
};

TEST_F(AccuracyTest, EveryArithmeticIsTrainedResidentAndStreamed) {
  ASSERT_THAT(result().rows, SizeIs(7));
  EXPECT_FALSE(result().rows[0].strategy.has_value());
  std::set<std::string> arithmetics;
  for (size_t i = 1; i < 7; i += 2) {
    const AccuracyRow& resident = result().rows[i];
    const AccuracyRow& streamed = result().rows[i + 1];
    EXPECT_EQ(resident.strategy, Strategy::kResident);
    EXPECT_EQ(streamed.strategy, Strategy::kHorizon);
    EXPECT_EQ(resident.compute, streamed.compute);
    EXPECT_EQ(resident.state, streamed.state);
    EXPECT_LT(streamed.device_bytes, resident.device_bytes);
    arithmetics.insert(
        std::string(ToString(resident.compute)).append(" ").append(ToString(resident.state)));
  }
  EXPECT_THAT(arithmetics, testing::ElementsAre("bf16 8bit-moments", "bf16 fp32", "fp32 fp32"));
  EXPECT_THAT(Run().news, SizeIs(7));
}

TEST_F(AccuracyTest, StreamedEqualsResidentBitForBit) {
  std::set<uint64_t> digests;
  for (size_t i = 1; i < 7; i += 2) {
    const AccuracyRun& resident = result().rows[i].runs.at(0);
    const AccuracyRun& streamed = result().rows[i + 1].runs.at(0);
    EXPECT_EQ(resident.digest, streamed.digest);
    EXPECT_EQ(resident.answers, streamed.answers);
    EXPECT_EQ(resident.last_loss, streamed.last_loss);
    digests.insert(resident.digest);
  }
  // Another arithmetic is another model: the digest sees what changes.
  EXPECT_THAT(digests, SizeIs(3));
}

TEST_F(AccuracyTest, AnswersAreCountedAsTheScorerSays) {
  const auto set = QuestionSet::Write(
      *Run().io, MakeTestFolder(*Run().io),
      {.problems = result().options.problems, .held_out = result().options.held_out});
  ASSERT_TRUE(set.ok()) << set.status();
  for (const AccuracyRow& row : result().rows) {
    const AccuracyRun& run = row.runs.at(0);
    ASSERT_THAT(run.answers, SizeIs(set->held_out().size()));
    int64_t right = 0;
    for (size_t i = 0; i < run.answers.size(); ++i) {
      right += StatedResult(run.answers[i]) == set->held_out()[i].result ? 1 : 0;
    }
    EXPECT_EQ(run.right, right);
  }
}

TEST_F(AccuracyTest, TrainingHelps) {
  EXPECT_THAT(AccuracyViolations(result()), IsEmpty());
  EXPECT_EQ(result().rows[0].runs[0].right, 0);
  for (size_t i = 1; i < 7; ++i) {
    EXPECT_GT(result().rows[i].runs[0].right, 0);
    // Untrained it is ln 259 = 5.6.
    EXPECT_LT(result().rows[i].runs[0].last_loss, 1);
  }
}

TEST_F(AccuracyTest, ADifferenceOrALossOfAccuracyIsAViolation) {
  AccuracyResult changed = result();
  changed.rows[4].runs[0].digest ^= 1;
  EXPECT_THAT(AccuracyViolations(changed), testing::ElementsAre(HasSubstr("horizon, fp32")));
  changed = result();
  changed.rows[2].runs[0].answers[5] += "x";
  EXPECT_THAT(AccuracyViolations(changed), testing::ElementsAre(HasSubstr("not those of")));
  changed = result();
  for (AccuracyRow& row : changed.rows) row.runs[0].right = 7;  // no more than before
  EXPECT_THAT(AccuracyViolations(changed), SizeIs(6));
  EXPECT_THAT(AccuracyText(changed, {}, "x"), Not(HasSubstr("NO")));
  changed.rows[6].runs[0].digest ^= 1;
  EXPECT_THAT(AccuracyText(changed, {}, "x"), HasSubstr("NO"));
}

TEST_F(AccuracyTest, TheSpreadIsThatOfTheSeeds) {
  AccuracyRow row;
  for (const int64_t right : {50, 20, 80}) row.runs.push_back({.right = right});
  const AccuracySpread spread = SpreadOf(row, 100);
  EXPECT_NEAR(spread.mean, 0.5, 1e-15);
  EXPECT_EQ(spread.least, 0.2);
  EXPECT_EQ(spread.most, 0.8);
}

TEST_F(AccuracyTest, TablesHaveAllRowsAndKeepPublishedOnesApart) {
  const std::vector<ReportFile> files = AccuracyFiles(result(), Published());
  ASSERT_THAT(files, SizeIs(3));
  const absl::StatusOr<CsvTable> ours = ParseCsv(files[0].name, files[0].text);
  ASSERT_TRUE(ours.ok()) << ours.status();
  EXPECT_THAT(ours->rows, SizeIs(7));
  EXPECT_THAT(files[0].text, Not(HasSubstr("qwen")));
  const absl::StatusOr<CsvTable> theirs = ParseCsv(files[1].name, files[1].text);
  ASSERT_TRUE(theirs.ok()) << theirs.status();
  EXPECT_THAT(theirs->rows, SizeIs(10));
  EXPECT_THAT(files[2].text, HasSubstr("every bit"));
  EXPECT_THAT(files[2].text, HasSubstr("88.99 %"));
  EXPECT_THAT(files[2].text, HasSubstr("not to be compared"));
  std::istringstream lines(AccuracyText(result(), Published(), "x"));
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 110U) << line;
  const absl::StatusOr<Document> json = ParseJson("answer", AccuracyJson(result(), "x"));
  ASSERT_TRUE(json.ok()) << json.status();
  EXPECT_THAT(*json->root.Find("rows")->As<Value::Array>(), SizeIs(7));
  EXPECT_THAT(*json->root.Find("violations")->As<Value::Array>(), IsEmpty());
}

TEST(Accuracy, AFullDiskIsAnError) {
  const std::unique_ptr<Io> io = MakePosixIo();
  AccuracyOptions options = QuickAccuracy();
  options.folder = MakeTestFolder(*io);
  FaultingIo full(*io, {.at_call = 2, .error_number = ENOSPC});
  RealClock clock;
  const absl::StatusOr<AccuracyResult> result = RunAccuracy(options, full, clock);
  EXPECT_EQ(IoErrno(result.status()), ENOSPC) << result.status();
}

}  // namespace
}  // namespace horizon
