#include "experiments/arithmetic_stories.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <map>
#include <memory>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "common/documents/json.h"
#include "common/files/faulting_io.h"
#include "common/text/str_cat.h"
#include "tests/model/test_files.h"

namespace horizon {
namespace {

constexpr uint64_t kProblems = 5000;

std::vector<int64_t> NumbersIn(const std::string& text) {
  static const std::regex number("[0-9]+");
  std::vector<int64_t> numbers;
  for (std::sregex_iterator it(text.begin(), text.end(), number), end; it != end; ++it) {
    numbers.push_back(std::stoll(it->str()));
  }
  return numbers;
}

TEST(ArithmeticStories, EveryAnswerIsRightAndUsesTheQuestionsNumbers) {
  static const std::regex sum("([0-9]+) ([-+*]) ([0-9]+) = ([0-9]+)(, |\\. The answer is )");
  for (uint64_t i = 0; i < kProblems; ++i) {
    const StoryProblem problem = MakeStoryProblem(1, i);
    std::vector<int64_t> used;
    int64_t last = -1;
    const std::string& answer = problem.answer;
    size_t matched = 0;
    for (std::sregex_iterator it(answer.begin(), answer.end(), sum), end; it != end; ++it) {
      const int64_t a = std::stoll((*it)[1]);
      const int64_t b = std::stoll((*it)[3]);
      const char sign = (*it)[2].str()[0];
      const int64_t result = sign == '+' ? a + b : sign == '-' ? a - b : a * b;
      ASSERT_EQ(std::stoll((*it)[4]), result) << answer;
      if (last < 0) {
        used.push_back(a);
      } else {
        ASSERT_EQ(a, last) << answer;
      }
      used.push_back(b);
      last = result;
      matched += static_cast<size_t>(it->length());
    }
    ASSERT_GE(last, 0) << answer;
    EXPECT_EQ(problem.result, last);
    EXPECT_EQ(answer.substr(matched), StrCat(last, ".")) << answer;
    EXPECT_EQ(NumbersIn(problem.question), used) << problem.question << " " << answer;
  }
}

TEST(ArithmeticStories, QuestionsAreGoodAsciiSentences) {
  static const std::regex good("([A-Z][A-Za-z0-9 ]*\\. )+[A-Z][A-Za-z ]*\\?");
  for (uint64_t i = 0; i < kProblems; ++i) {
    const StoryProblem problem = MakeStoryProblem(2, i);
    EXPECT_TRUE(std::regex_match(problem.question, good)) << problem.question;
    EXPECT_EQ(problem.question.find("  "), std::string::npos) << problem.question;
    EXPECT_FALSE(std::regex_search(problem.question, std::regex("\\b1 [a-z]*s\\b")))
        << problem.question;
  }
}

TEST(ArithmeticStories, KindsComeEquallyOftenAndProblemsSeldomTwice) {
  std::map<StoryKind, int> kinds;
  std::set<std::string> questions;
  std::set<int64_t> results;
  for (uint64_t i = 0; i < kProblems; ++i) {
    const StoryProblem problem = MakeStoryProblem(3, i);
    ++kinds[problem.kind];
    questions.insert(problem.question);
    results.insert(problem.result);
  }
  EXPECT_EQ(kinds.size(), 4u);
  // A quarter, with a deviation of sqrt(5000 x 3/16) = 31; six of them.
  for (const auto& [kind, count] : kinds) EXPECT_NEAR(count, kProblems / 4.0, 186);
  EXPECT_GT(questions.size(), kProblems * 99 / 100);
  EXPECT_GT(results.size(), 150u);
}

TEST(ArithmeticStories, AreAFunctionOfSeedAndNumber) {
  EXPECT_EQ(MakeStoryProblem(5, 7).question, MakeStoryProblem(5, 7).question);
  EXPECT_NE(MakeStoryProblem(5, 7).question, MakeStoryProblem(5, 8).question);
  EXPECT_NE(MakeStoryProblem(5, 7).question, MakeStoryProblem(6, 7).question);
}

TEST(ArithmeticStories, SmallSumsAreOneStepOfNumbersFromOneToNine) {
  static const std::regex right("([1-9]) ([-+]) ([1-9]) = ([0-9]+)\\. The answer is ([0-9]+)\\.");
  std::set<std::string> sums;
  for (uint64_t i = 0; i < kProblems; ++i) {
    const StoryProblem problem = MakeStoryProblem(4, i, StoryLevel::kSmallSums);
    std::smatch parts;
    ASSERT_TRUE(std::regex_match(problem.answer, parts, right)) << problem.answer;
    const int64_t a = std::stoll(parts[1]);
    const int64_t b = std::stoll(parts[3]);
    EXPECT_EQ(problem.kind, parts[2] == "+" ? StoryKind::kAdd : StoryKind::kSubtract);
    EXPECT_EQ(problem.result, parts[2] == "+" ? a + b : a - b) << problem.answer;
    EXPECT_GE(problem.result, 0);
    EXPECT_EQ(parts[4], parts[5]) << problem.answer;
    EXPECT_EQ(std::stoll(parts[4]), problem.result);
    EXPECT_EQ(NumbersIn(problem.question), (std::vector<int64_t>{a, b})) << problem.question;
    sums.insert(problem.answer);
  }
  // 81 sums; differences of 2 to 9, less 1 to all of it: 2 + ... + 9 = 44.
  EXPECT_EQ(sums.size(), 81u + 44u);
}

class StoryFileTest : public testing::Test {
 protected:
  std::vector<std::string> Lines() {
    std::vector<std::string> lines;
    std::string text = ReadBytes(*io_, path_);
    while (!text.empty()) {
      lines.push_back(text.substr(0, text.find('\n')));
      text.erase(0, lines.back().size() + 1);
    }
    return lines;
  }

  std::unique_ptr<Io> io_ = MakePosixIo();
  std::string folder_ = MakeTestFolder(*io_);
  std::string path_ = JoinPath(folder_, "stories.jsonl");
};

TEST_F(StoryFileTest, ALineIsAQuestionWithItsAnswer) {
  ASSERT_TRUE(WriteStoryFile(*io_, path_, {.problems = 50, .seed = 9}).ok());
  const std::vector<std::string> lines = Lines();
  ASSERT_EQ(lines.size(), 50u);
  for (size_t i = 0; i < lines.size(); ++i) {
    const absl::StatusOr<Document> line = ParseJson("line", lines[i]);
    ASSERT_TRUE(line.ok()) << line.status();
    const StoryProblem problem = MakeStoryProblem(9, i);
    EXPECT_EQ(*line->root.Find("question")->As<std::string>(), problem.question);
    EXPECT_EQ(*line->root.Find("answer")->As<std::string>(), problem.answer);
  }
}

TEST_F(StoryFileTest, TheSameSeedGivesTheSameFile) {
  ASSERT_TRUE(WriteStoryFile(*io_, path_, {.problems = 3, .seed = 1}).ok());
  const std::string first = ReadBytes(*io_, path_);
  ASSERT_TRUE(WriteStoryFile(*io_, path_, {.problems = 3, .seed = 1}).ok());
  EXPECT_EQ(ReadBytes(*io_, path_), first);
  ASSERT_TRUE(WriteStoryFile(*io_, path_, {.problems = 3, .seed = 2}).ok());
  EXPECT_NE(ReadBytes(*io_, path_), first);
}

TEST_F(StoryFileTest, EveryFailingCallLeavesTheOldFileOrTheNewOne) {
  ASSERT_TRUE(WriteStoryFile(*io_, path_, {.problems = 3}).ok());
  const std::string whole = ReadBytes(*io_, path_);
  const uint64_t hit = ForEachFault(
      *io_, {.kind = FaultPlan::Kind::kShort, .error_number = ENOSPC}, [&](FaultingIo& io) {
        // What a failing disk let nobody remove would be in the next run's way.
        const std::vector<std::string> left_behind = *io_->List(folder_);
        for (const std::string& name : left_behind) {
          ASSERT_TRUE(io_->Unlink(JoinPath(folder_, name)).ok());
        }
        WriteBytes(*io_, path_, "old");
        const absl::Status status = WriteStoryFile(io, path_, {.problems = 3});
        const std::string left = ReadBytes(*io_, path_);
        EXPECT_EQ(left, status.ok() || left != "old" ? whole : "old");
        EXPECT_TRUE(status.ok() || io.reached()) << status;
      });
  EXPECT_GT(hit, 5u);
}

}  // namespace
}  // namespace horizon
