#include "planner/plan_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <memory>
#include <string>

#include "common/files/faulting_io.h"
#include "common/files/io.h"

namespace horizon {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class PlanFilesTest : public testing::Test {
 protected:
  static std::string Path(const std::string& name) { return JoinPath(testing::TempDir(), name); }

  const StreamPlan plan_{.model = "qwen2.5-7b",
                         .buffer_depth = 5,
                         .anchor_home = AnchorHome::kHost,
                         .optimizer_threads = 17};
  const TrainingJob job_{.model = "qwen2.5-7b", .sequence = 77, .micro_batch = 3, .clip_norm = 0.3};
  std::unique_ptr<Io> io_ = MakePosixIo();
};

TEST_F(PlanFilesTest, TheJobLiesBesideThePlan) {
  EXPECT_EQ(JobFileBeside("plan.json"), "plan.job.json");
  EXPECT_EQ(JobFileBeside("runs/a.b/plan.json"), "runs/a.b/plan.job.json");
  EXPECT_EQ(JobFileBeside("plan"), "plan.job.json");
  EXPECT_EQ(JobFileBeside("plan.JSON"), "plan.JSON.job.json");
  EXPECT_EQ(JobFileBeside("plan.json.txt"), "plan.json.txt.job.json");
}

TEST_F(PlanFilesTest, BothAreReadBackAsWritten) {
  const std::string path = Path("round_trip.json");
  ASSERT_TRUE(WritePlanFiles(*io_, path, plan_, job_).ok());
  const absl::StatusOr<PlanFiles> files = LoadPlanFiles(*io_, path, "");
  ASSERT_TRUE(files.ok()) << files.status();
  EXPECT_EQ(files->plan, plan_);
  EXPECT_EQ(files->job, job_);
}

TEST_F(PlanFilesTest, AnotherJobFileMayBeNamed) {
  const std::string path = Path("named.json");
  ASSERT_TRUE(WritePlanFiles(*io_, path, plan_, job_).ok());
  TrainingJob other = job_;
  other.sequence = 99;
  ASSERT_TRUE(WriteTextFile(*io_, Path("other.json"), WriteJob(other)).ok());
  const absl::StatusOr<PlanFiles> files = LoadPlanFiles(*io_, path, Path("other.json"));
  ASSERT_TRUE(files.ok()) << files.status();
  EXPECT_EQ(files->job, other);
}

TEST_F(PlanFilesTest, AMissingJobSaysHowToMakeOne) {
  const std::string path = Path("alone.json");
  ASSERT_TRUE(WriteTextFile(*io_, path, WritePlan(plan_)).ok());
  const absl::Status status = LoadPlanFiles(*io_, path, "").status();
  EXPECT_EQ(IoErrno(status), 0) << "the message is ours, not the system's";
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("alone.job.json"),
                    HasSubstr("'horizon plan --output' writes the job"), HasSubstr("--job")));
}

TEST_F(PlanFilesTest, AMissingPlanOrABadJobIsNamed) {
  EXPECT_THAT(std::string(LoadPlanFiles(*io_, Path("no.json"), "").status().message()),
              HasSubstr("no.json"));
  const std::string path = Path("bad.json");
  ASSERT_TRUE(WriteTextFile(*io_, path, WritePlan(plan_)).ok());
  ASSERT_TRUE(WriteTextFile(*io_, JobFileBeside(path), "{\n\"sequence\": 0}").ok());
  const absl::Status status = LoadPlanFiles(*io_, path, "").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("bad.job.json:2: sequence"), testing::Not(HasSubstr("--job"))));
}

// Whatever call fails, no new plan stands beside an old job.
TEST_F(PlanFilesTest, AFailedWriteLeavesNoPlanWithoutItsJob) {
  const std::string path = Path("failing.json");
  TrainingJob newer = job_;
  newer.sequence = 78;
  StreamPlan newer_plan = plan_;
  newer_plan.buffer_depth = 6;
  int failures = 0;
  for (uint64_t call = 1;; ++call) {
    ASSERT_TRUE(WritePlanFiles(*io_, path, plan_, job_).ok());
    FaultingIo faulting(*io_, {.at_call = call, .error_number = ENOSPC});
    const absl::Status status = WritePlanFiles(faulting, path, newer_plan, newer);
    if (!faulting.reached()) break;
    const absl::StatusOr<PlanFiles> files = LoadPlanFiles(*io_, path, "");
    ASSERT_TRUE(files.ok()) << files.status();
    if (!status.ok()) ++failures;
    EXPECT_TRUE(files->plan == plan_ || files->job == newer) << "call " << call;
    EXPECT_TRUE(files->plan == plan_ || files->plan == newer_plan);
    EXPECT_TRUE(files->job == job_ || files->job == newer);
  }
  EXPECT_GT(failures, 4);
}

}  // namespace
}  // namespace horizon
