// Jobs and plans from files: by their ending, and with every way a file can be bad.
#include "schedule/load_files.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "common/files/faulting_io.h"
#include "common/text/str_cat.h"
#include "tests/model/test_files.h"

namespace horizon {
namespace {

class LoadFilesTest : public testing::Test {
 protected:
  LoadFilesTest() : io_(MakePosixIo()) {}
  void SetUp() override { folder_ = MakeTestFolder(*io_); }
  std::string Put(const std::string& name, std::string_view text) {
    std::string path = JoinPath(folder_, name);
    WriteBytes(*io_, path, text);
    return path;
  }
  // Both loaders refuse the file with this code, and name it.
  void ExpectRefused(const std::string& path, absl::StatusCode code) {
    for (const absl::Status& status :
         {LoadJob(*io_, path).status(), LoadPlan(*io_, path).status()}) {
      EXPECT_EQ(status.code(), code) << status;
      EXPECT_NE(status.message().find(path), absl::string_view::npos) << status;
    }
  }
  std::unique_ptr<Io> io_;
  std::string folder_;
};

TEST_F(LoadFilesTest, TheEndingTellsYamlFromJson) {
  const std::string_view yaml = "sequence: 77\n";
  const std::string_view json = "{\"sequence\": 77}\n";
  for (const std::string& path : {Put("job.yaml", yaml), Put("job.yml", yaml),
                                  Put("job.json", json), Put("job", json), Put("yaml", json)}) {
    const absl::StatusOr<TrainingJob> job = LoadJob(*io_, path);
    ASSERT_TRUE(job.ok()) << job.status();
    EXPECT_EQ(job->sequence, 77);
  }
  EXPECT_EQ(LoadJob(*io_, Put("wrong.json", yaml)).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(LoadFilesTest, TheSameJobFromBothFormatsIsEqual) {
  TrainingJob job;
  job.model = "some model";
  job.learning_rate = 1.0 / 3.0;
  job.seed = 1234567890123456789;
  const absl::StatusOr<TrainingJob> json = LoadJob(*io_, Put("job.json", WriteJob(job)));
  const absl::StatusOr<TrainingJob> yaml = LoadJob(*io_, Put("job.yaml", WriteJob(job)));
  ASSERT_TRUE(json.ok()) << json.status();
  ASSERT_TRUE(yaml.ok()) << yaml.status();
  EXPECT_EQ(*json, job);
  EXPECT_EQ(*yaml, job);
}

TEST_F(LoadFilesTest, APlanIsRead) {
  StreamPlan plan;
  plan.buffer_depth = 5;
  const absl::StatusOr<StreamPlan> loaded = LoadPlan(*io_, Put("plan.json", WritePlan(plan)));
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(*loaded, plan);
}

TEST_F(LoadFilesTest, ErrorsNameFileLineAndField) {
  const std::string job = Put("job.yaml", "version: 1\nbeta1: 2\n");
  EXPECT_EQ(LoadJob(*io_, job).status().message(),
            StrCat(job, ":2: beta1: needs a value from 0 to 0.999999999, found 2"));
  const std::string plan = Put("plan.json", "{\n  \"buffer_dept\": 2\n}");
  EXPECT_EQ(LoadPlan(*io_, plan).status().message(),
            StrCat(plan, ":2: unknown key \"buffer_dept\"; did you mean 'buffer_depth'?"));
}

TEST_F(LoadFilesTest, BadFilesAreRefused) {
  ExpectRefused(JoinPath(folder_, "missing.json"), absl::StatusCode::kNotFound);
  ExpectRefused(JoinPath(folder_, "missing/job.json"), absl::StatusCode::kNotFound);
  ExpectRefused(folder_, absl::StatusCode::kInvalidArgument);  // a directory
  ExpectRefused(Put("empty.json", ""), absl::StatusCode::kInvalidArgument);
  ExpectRefused(Put("cut.json", "{\"version\": 1, \"seq"), absl::StatusCode::kInvalidArgument);
  ExpectRefused(Put("bytes.json", std::string("\x00\xff\x80", 3)),
                absl::StatusCode::kInvalidArgument);
  ExpectRefused(Put("deep.json", std::string(1 << 20, '[')), absl::StatusCode::kInvalidArgument);
  ExpectRefused(Put("other.json", "{\"version\": 2}"), absl::StatusCode::kInvalidArgument);
}

TEST_F(LoadFilesTest, BadYamlIsRefused) {
  const std::string aliases = "a: &a [1]\nb: *a\n";
  for (const std::string& path :
       {Put("empty.yaml", ""), Put("list.yaml", "- 1\n"), Put("alias.yaml", aliases),
        Put("two.yaml", "seed: 1\n---\nseed: 2\n"), Put("deep.yaml", std::string(1 << 16, '['))}) {
    const absl::Status status = LoadJob(*io_, path).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << path << ": " << status;
    EXPECT_NE(status.message().find(path), absl::string_view::npos) << status;
  }
}

// More than 16 MiB is refused by its size, before it is read.
TEST_F(LoadFilesTest, AHugeFileIsNotRead) {
  const std::string path = Put("huge.json", std::string((16 << 20) + 1, ' '));
  FaultingIo counting(*io_, {});
  const absl::Status status = LoadPlan(counting, path).status();
  EXPECT_FALSE(status.ok());
  EXPECT_NE(status.message().find(path), absl::string_view::npos) << status;
  for (const std::string& call : counting.history()) EXPECT_NE(call.rfind("ReadAt", 0), 0u) << call;
}

TEST_F(LoadFilesTest, EveryFileErrorIsPassedOn) {
  const std::string path = Put("job.yaml", "seed: 3\n");
  const uint64_t hits = ForEachFault(*io_, {}, [&](FaultingIo& io) {
    const absl::StatusOr<TrainingJob> job = LoadJob(io, path);
    if (job.ok()) {
      EXPECT_EQ(job->seed, 3);
    } else {
      EXPECT_TRUE(io.reached());
      EXPECT_EQ(IoErrno(job.status()), EIO) << job.status();
    }
  });
  EXPECT_GE(hits, 3u);
}

TEST_F(LoadFilesTest, AFileThatShrinksIsToldApart) {
  const std::string path = Put("job.json", WriteJob({}));
  ForEachFault(*io_, {.kind = FaultPlan::Kind::kShrink}, [&](FaultingIo& io) {
    const absl::StatusOr<TrainingJob> job = LoadJob(io, path);
    if (job.ok()) return;
    EXPECT_EQ(job.status().code(), absl::StatusCode::kDataLoss) << job.status();
  });
}

}  // namespace
}  // namespace horizon
