// `horizon devices` as a process, with the machine's own driver, if any, and with those tests play.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "common/documents/json.h"
#include "tests/app/support/run_program.h"

namespace horizon {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string Devices(const std::string& played, const std::string& more = "") {
  const std::string library =
      std::filesystem::absolute("tests/fake_nvml/libfake_nvml_" + played + ".so").string();
  return "\"$horizon\" devices --nvml-library '" + library + "' " + more;
}

TEST(Devices, TheHostIsAlwaysThere) {
  const ProcessResult result = RunShell("\"$horizon\" devices");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.err, "");
  EXPECT_THAT(result.out, StartsWith("device "));
  EXPECT_THAT(result.out, HasSubstr("\nhost "));
}

TEST(Devices, ThoseOfTheDriverAreListed) {
  const ProcessResult result = RunShell(Devices("rtx3090"));
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out, HasSubstr("driver 560.35.03"));
  // On a machine with CUDA devices of its own those are listed instead.
  if (result.out.find("cuda:0") == std::string::npos) {
    EXPECT_THAT(result.out, HasSubstr("NVIDIA GeForce RTX 3090"));
    EXPECT_THAT(result.out, HasSubstr("8 of 16 lanes"));
    EXPECT_THAT(result.out, HasSubstr("gpu 0: not used: "));
  }
}

TEST(Devices, AreToldInJson) {
  const ProcessResult result = RunShell(Devices("h100", "--json"));
  EXPECT_EQ(result.exit_code, 0);
  const absl::StatusOr<Document> answer = ParseJson("answer", result.out);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(*answer->root.Find("driver_version")->As<std::string>(), "580.65.06");
  EXPECT_GT(*answer->root.Find("host")->Find("memory_bytes")->As<int64_t>(), 0);
  EXPECT_EQ(answer->root.Find("devices")->As<Value::Array>()->size(), 1U);
}

TEST(Devices, ABrokenDriverIsAFactAndNoError) {
  const ProcessResult result = RunShell(Devices("broken"));
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out, HasSubstr("Driver Not Loaded (NVML error 9)"));
  EXPECT_EQ(RunShell("\"$horizon\" devices --nvml-library /no/such.so").exit_code, 0);
}

TEST(Devices, AnAnswerThatDoesNotArriveIsAnError) {
  EXPECT_EQ(RunShell("\"$horizon\" devices >/dev/full").exit_code, 6);
}

}  // namespace
}  // namespace horizon
