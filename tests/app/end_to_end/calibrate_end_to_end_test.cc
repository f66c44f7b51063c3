// `horizon calibrate` as a person runs it: a profile that is far off comes near what a run took.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "common/documents/json.h"
#include "common/text/str_cat.h"
#include "tests/app/support/golden_run.h"
#include "tests/app/support/run_program.h"

namespace horizon {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(CalibrateCommand, BringsAProfileNearWhatRunsTook) {
  PrepareGolden("llama");
  ASSERT_EQ(RunShell("\"$horizon\" machines cpu-desktop --json > desk.json").exit_code, 0);
  ASSERT_EQ(
      RunShell(StrCat("\"$horizon\" train --machine desk.json --threads 2 ", kGoldenRun)).exit_code,
      0);
  const ProcessResult result =
      RunShell("\"$horizon\" calibrate run --machine desk.json --output mine.json --json");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const absl::StatusOr<Document> answer = ParseJson("answer", result.out);
  ASSERT_TRUE(answer.ok()) << answer.status();
  const Value::Array* runs = answer->root.Find("runs")->As<Value::Array>();
  ASSERT_EQ(runs->size(), 1u);
  const double measured = NumberAt((*runs)[0], "step_seconds");
  const double before = NumberAt((*runs)[0], "predicted_before");
  const double after = NumberAt((*runs)[0], "predicted_after");
  EXPECT_GT(measured, 0);
  // The catalog's desktop is another machine altogether: whatever this one does, the corrected
  // profile is no further from the run.
  EXPECT_LE(std::abs(std::log(measured / after)), std::abs(std::log(measured / before)) + 0.01);
  EXPECT_THAT(RunShell("cat mine.json").out, AllOf(HasSubstr("\"fitted\""), HasSubstr("of 1 run")));
  // The profile is one like any other.
  EXPECT_EQ(RunShell("\"$horizon\" plan --model qwen2.5-0.5b --machine mine.json").exit_code, 0);
  const ProcessResult text =
      RunShell("\"$horizon\" calibrate run --machine desk.json --output mine.json");
  EXPECT_THAT(text.out, AllOf(HasSubstr("measured / predicted"), HasSubstr("compute"),
                              HasSubstr("corrected profile: mine.json")));
}

TEST(CalibrateCommand, SaysWhatItNeeds) {
  const ProcessResult none = RunShell("\"$horizon\" calibrate");
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_THAT(none.err, HasSubstr("name at least one run folder"));
  const ProcessResult nowhere =
      RunShell("\"$horizon\" calibrate nowhere --machine cpu-desktop --output x.json");
  EXPECT_EQ(nowhere.exit_code, 2);
  EXPECT_THAT(nowhere.err, HasSubstr("nowhere"));
  const ProcessResult kept = RunShell("\"$horizon\" calibrate run --machine cpu-desktop");
  EXPECT_EQ(kept.exit_code, 2);
  EXPECT_THAT(kept.err, HasSubstr("--output FILE says where to"));
  EXPECT_EQ(RunShell("ls x.json").exit_code, 2);
}

}  // namespace
}  // namespace horizon
