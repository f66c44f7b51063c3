// `horizon report` as a person runs it: of a run, a plan and experiments; what it refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "common/documents/json.h"
#include "common/text/str_cat.h"
#include "tests/app/support/golden_run.h"
#include "tests/app/support/run_program.h"

namespace horizon {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string Train(const std::string& more) {
  return StrCat("\"$horizon\" train --machine cpu-desktop --threads 2 ", more);
}

// The data in a page.
std::string DataOf(const std::string& page) {
  constexpr std::string_view kBegin = "<script id=\"data\" type=\"application/json\">";
  const size_t begin = page.find(kBegin);
  EXPECT_NE(begin, std::string::npos);
  if (begin == std::string::npos) return "";
  const size_t end = page.find("</script>", begin);
  return page.substr(begin + kBegin.size(), end - begin - kBegin.size());
}

TEST(ReportCommand, ShowsARunAndRefusesATornOne) {
  PrepareGolden("llama");
  ASSERT_EQ(RunShell(Train(kGoldenRun)).exit_code, 0);
  const ProcessResult files = RunShell("ls run");
  EXPECT_EQ(files.out,
            "base\ncheckpoints\njob.json\nlock\nmachine.json\nmetrics.jsonl\nmodel\nplan.json\n"
            "prediction.json\nrun.json\ntimeline.json\ntimelines.json\ntrain.yaml\n");
  const ProcessResult result = RunShell("\"$horizon\" report run --json");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("\"report.html\""), HasSubstr("\"complete\""),
                                HasSubstr("\"basis\": {"), HasSubstr("\"text\": \"rests on ")));
  const absl::StatusOr<Document> data = ParseJson("page", DataOf(RunShell("cat report.html").out));
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ(NumberAt(*data->root.Find("timelines")->Find("measured"), "step"), 8);
  EXPECT_FALSE(data->root.Find("reasons")->As<Value::Array>()->empty());
  EXPECT_THAT(*data->root.Find("basis")->Find("text")->As<std::string>(), StartsWith("rests on "));

  // An older report is replaced, nothing else is.
  EXPECT_EQ(RunShell("\"$horizon\" report run").exit_code, 0);
  const ProcessResult other =
      RunShell("echo mine > notes && \"$horizon\" report run --output notes");
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.err, HasSubstr("is no report of horizon"));
  EXPECT_EQ(RunShell("cat notes").out, "mine\n");

  const ProcessResult torn = RunShell(
      "head -c 100 run/timelines.json > t && mv t run/timelines.json && \"$horizon\" report run");
  EXPECT_EQ(torn.exit_code, 4);
  EXPECT_THAT(torn.err, AllOf(HasSubstr("run/timelines.json"), HasSubstr("--resume auto")));
}

// Stopped by a signal it has a record too, and going on replaces it.
TEST(ReportCommand, ARunThatWasStoppedIsShownAsSuch) {
  PrepareGolden("llama");
  std::string many = kGoldenRun;
  many.replace(many.find("--steps 8"), 9, "--steps 100000");
  // Looked at a bounded number of times, should the training not begin.
  const ProcessResult stopped = RunShell(StrCat(
      Train(many), "& pid=$!; for look in $(seq 20000); do ",
      "[ \"$(cat run/metrics.jsonl | wc -l)\" -gt 3 ] && break; done; ",
      "\"$horizon\" report run --output live.html; kill -TERM $pid; wait $pid; ", "echo code $?"));
  EXPECT_THAT(stopped.out, AllOf(HasSubstr("wrote live.html (running)"), HasSubstr("code 75")))
      << stopped.err;
  const ProcessResult result = RunShell("\"$horizon\" report run");
  EXPECT_THAT(result.out, HasSubstr("(interrupted)")) << result.err;
  const absl::StatusOr<Document> run = ParseJson("run.json", RunShell("cat run/run.json").out);
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_TRUE(*run->root.Find("interrupted")->As<bool>());
  EXPECT_TRUE(run->root.Find("model")->is_null());
  const absl::StatusOr<Document> times =
      ParseJson("timelines.json", RunShell("cat run/timelines.json").out);
  ASSERT_TRUE(times.ok()) << times.status();
  EXPECT_EQ(NumberAt(times->root, "step"), NumberAt(run->root, "steps"));
}

// A run that broke has no run.json, but all its steps.
TEST(ReportCommand, ARunThatFailedIsShownUpToItsLastStep) {
  PrepareGolden("llama");
  std::string wild = kGoldenRun;
  wild.replace(wild.find("--learning-rate 0.01"), 20, "--learning-rate 1000");
  wild.replace(wild.find("--steps 8"), 9, "--steps 500");
  const ProcessResult failed = RunShell(Train(wild));
  ASSERT_EQ(failed.exit_code, 7) << failed.err;
  EXPECT_THAT(RunShell("\"$horizon\" report run").out, HasSubstr("(failed)"));
  const absl::StatusOr<Document> times =
      ParseJson("timelines.json", RunShell("cat run/timelines.json").out);
  ASSERT_TRUE(times.ok()) << times.status();
  const size_t steps = Lines(RunShell("cat run/metrics.jsonl").out).size();
  ASSERT_GT(steps, 1u);
  EXPECT_EQ(NumberAt(times->root, "step"), static_cast<double>(steps));
}

TEST(ReportCommand, APlanIsShownOnTheMachineThatIsNamed) {
  ASSERT_EQ(RunShell("\"$horizon\" plan --model qwen2.5-0.5b --machine rtx4090 --output p.json")
                .exit_code,
            0);
  const ProcessResult result =
      RunShell("\"$horizon\" report p.json --machine rtx4090 --output p.html");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("wrote p.html (planned)"));
  const absl::StatusOr<Document> data = ParseJson("page", DataOf(RunShell("cat p.html").out));
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_TRUE(data->root.Find("timelines")->Find("measured")->is_null());
  const ProcessResult predicted =
      RunShell("\"$horizon\" simulate --plan p.json --machine rtx4090 --json");
  const absl::StatusOr<Document> simulated = ParseJson("simulate", predicted.out);
  ASSERT_TRUE(simulated.ok()) << predicted.err;
  EXPECT_EQ(NumberAt(*data->root.Find("figures")->Find("step_seconds"), "predicted"),
            NumberAt(*simulated->root.Find("prediction"), "step_seconds"));
}

TEST(ReportCommand, ExperimentsAreShownFromTheirFolder) {
  ASSERT_EQ(RunShell("\"$horizon\" experiments host_memory --output ex").exit_code, 0);
  for (int time = 0; time < 2; ++time) {
    const ProcessResult result = RunShell("\"$horizon\" report ex --output ex.html");
    ASSERT_EQ(result.exit_code, 0) << result.err;
  }
  EXPECT_THAT(RunShell("cat ex.html").out,
              AllOf(HasSubstr("data:image/svg+xml;base64,"), HasSubstr("<td>megatrain</td>")));
  const ProcessResult torn = RunShell("echo '{}' > ex/results.json; \"$horizon\" report ex");
  EXPECT_EQ(torn.exit_code, 2);
  EXPECT_THAT(torn.err, HasSubstr("ex/results.json:1"));
}

TEST(ReportCommand, WhatIsNoneOfTheThreeSaysWhatWasLookedFor) {
  const ProcessResult empty = RunShell("mkdir -p nothing && \"$horizon\" report nothing");
  EXPECT_EQ(empty.exit_code, 2);
  EXPECT_THAT(empty.err, AllOf(HasSubstr("job.json"), HasSubstr("results.json")));
  EXPECT_EQ(RunShell("\"$horizon\" report not-there").exit_code, 2);
  const ProcessResult text = RunShell("echo hello > hello.json && \"$horizon\" report hello.json");
  EXPECT_EQ(text.exit_code, 2);
  EXPECT_THAT(text.err, HasSubstr("hello.json:1"));
}

}  // namespace
}  // namespace horizon
