// `horizon validate` as a process: what it answers and refuses. Its figures are for people.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "common/documents/json.h"
#include "tests/app/support/run_program.h"

namespace horizon {
namespace {

using ::testing::HasSubstr;

TEST(Validate, RunsWhoseNameIsGivenAreMade) {
  const ProcessResult result = RunShell(
      "\"$horizon\" validate --quick --only deep --steps 2 --machine cpu-desktop --json "
      "2>/dev/null");
  EXPECT_EQ(result.exit_code, 0) << result.out;
  const absl::StatusOr<Document> answer = ParseJson("answer", result.out);
  ASSERT_TRUE(answer.ok()) << answer.status();
  const Value::Array& runs = *answer->root.Find("runs")->As<Value::Array>();
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(*runs[0].Find("name")->As<std::string>(), "deep");
}

TEST(Validate, AnotherProfileStandsBeside) {
  const ProcessResult result = RunShell(
      "\"$horizon\" machines cpu-desktop --json > other.json && "
      "\"$horizon\" validate --quick --only deep --steps 2 --machine cpu-desktop "
      "--beside other.json 2>/dev/null");
  EXPECT_EQ(result.exit_code, 0) << result.out;
  EXPECT_THAT(result.out, HasSubstr("the other's error"));
  EXPECT_THAT(result.out, HasSubstr("\nother.json: off by "));
}

TEST(Validate, RanksArePredictedAndMeasured) {
  const ProcessResult result = RunShell(
      "\"$horizon\" validate --ranks --quick --only 'fast link' --steps 2 --machine cpu-desktop "
      "2>/dev/null");
  EXPECT_EQ(result.exit_code, 0) << result.out;
  EXPECT_THAT(result.out, HasSubstr("measured rank"));
  EXPECT_THAT(result.out, HasSubstr("\ndeep, tight arena, fast link"));
  EXPECT_THAT(result.out, HasSubstr("Kendall's tau-b over all cases: "));
}

TEST(Validate, MisuseIsNamed) {
  const auto refusal = [](const std::string& options) {
    const ProcessResult result = RunShell("\"$horizon\" validate " + options);
    EXPECT_EQ(result.exit_code, 2) << options;
    return result.err;
  };
  EXPECT_THAT(refusal("--only nothing --machine cpu-desktop"), HasSubstr("--only nothing"));
  EXPECT_THAT(refusal("--ranks --only nothing --machine cpu-desktop"), HasSubstr("no run"));
  EXPECT_THAT(refusal("--ranks --machine gh200"), HasSubstr("has a GPU"));
  EXPECT_THAT(refusal("--steps 1"), HasSubstr("--steps"));
  EXPECT_THAT(refusal("--machine cpu-desktop --beside gh200"),
              HasSubstr("--beside gh200 has a GPU"));
}

}  // namespace
}  // namespace horizon
