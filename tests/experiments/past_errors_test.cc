#include "experiments/past_errors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "common/files/io.h"

namespace horizon {
namespace {

using testing::HasSubstr;

class PastErrorsTest : public testing::Test {
 protected:
  std::string File(std::string_view text) {
    std::string path = JoinPath(testing::TempDir(), "validate.json");
    EXPECT_TRUE(WriteTextFile(*io_, path, text).ok());
    return path;
  }
  const std::unique_ptr<Io> io_ = MakePosixIo();
};

// Nobody typed the errors in. If this fails: run //experiments:prediction_errors as its head says.
TEST_F(PastErrorsTest, GiveTheFileThatIsPartOfTheProgram) {
  const absl::StatusOr<PredictionErrors> found =
      FindPredictionErrors(*io_, "docs/results/validate.json");
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(WritePredictionErrors(*found), WritePredictionErrors(BuiltInPredictionErrors()));
}

TEST_F(PastErrorsTest, MedianAndWorstAreOfTheSizesOfErrors) {
  const absl::StatusOr<PredictionErrors> found = FindPredictionErrors(
      *io_, File(R"({"runs": [{"error": -0.5}, {"error": 0.1}, {"error": 0.2}]})"));
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->measured.runs, 3);
  EXPECT_EQ(found->measured.median, 0.2);
  EXPECT_EQ(found->measured.worst, 0.5);
  EXPECT_EQ(found->measured.runs_of, "runs on device host");
}

TEST_F(PastErrorsTest, FilesThatAreNoValidationAreRefused) {
  for (const char* text : {"{}", "{\"runs\": []}", "{\"runs\": [{\"name\": \"a\"}]}", "[]"}) {
    EXPECT_EQ(FindPredictionErrors(*io_, File(text)).status().code(),
              absl::StatusCode::kInvalidArgument)
        << text;
  }
  EXPECT_EQ(FindPredictionErrors(*io_, "/nowhere.json").status().code(),
            absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace horizon
