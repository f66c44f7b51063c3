// `horizon selftest` as a person runs it, on the host and on the fake CUDA.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "common/documents/json.h"
#include "tests/app/support/run_program.h"

namespace horizon {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(SelftestCommand, TheHostPassesAndTellsWhatItReaches) {
  const ProcessResult result =
      RunShell("\"$horizon\" selftest --device host --threads 2 --rate-seconds 1");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("device host: "), HasSubstr("  kernels       20 of 20"),
                    HasSubstr("  conformance   28 of 28"), HasSubstr("  golden model  1 of 1"),
                    HasSubstr("  rates         1 of 1, link "), HasSubstr("\nPASS: ")));
  EXPECT_THAT(result.out, Not(HasSubstr("WRONG")));
}

TEST(SelftestCommand, TheFakeCudaPassesAndAnswersInJson) {
  const ProcessResult result = RunShell(
      "\"$horizon_on_fake_cuda\" selftest --device cuda --threads 2 --rate-seconds 0 --json");
  EXPECT_EQ(result.exit_code, 0) << result.err << result.out;
  const absl::StatusOr<Document> answer = ParseJson("answer", result.out);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(*answer->root.Find("device")->As<std::string>(), "cuda:0");
  EXPECT_TRUE(*answer->root.Find("passed")->As<bool>());
  EXPECT_EQ(answer->root.Find("sections")->As<Value::Array>()->size(), 3u);
}

// A device that breaks in the middle: what ran before it counts, the rest says why not, and the
// program ends with the code of a device.
TEST(SelftestCommand, ADeviceThatBreaksFailsWithTheReason) {
  const ProcessResult result = RunShell(
      "HORIZON_FAKE_CUDA='fail-work=60' \"$horizon_on_fake_cuda\" selftest --device cuda "
      "--threads 2 --rate-seconds 0");
  EXPECT_EQ(result.exit_code, 5) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("WRONG: "), HasSubstr("ECC"), HasSubstr("\nFAIL: ")));
  EXPECT_THAT(result.err, HasSubstr("device cuda:0 failed its self-test"));
}

TEST(SelftestCommand, ADeviceThatIsNotThereIsNamed) {
  const ProcessResult result =
      RunShell("HORIZON_FAKE_CUDA='driver=none' \"$horizon_on_fake_cuda\" selftest --device cuda");
  EXPECT_EQ(result.exit_code, 5);
  EXPECT_THAT(result.err, HasSubstr("no NVIDIA driver is installed"));
  EXPECT_EQ(result.out, "");
}

}  // namespace
}  // namespace horizon
