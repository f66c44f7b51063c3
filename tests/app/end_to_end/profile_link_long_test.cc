// `horizon profile` of a CUDA device (the fake one) whose driver tells of a link below its best.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tests/app/support/run_program.h"

namespace horizon {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// The driver tells of a link on a quarter of its lanes; the device is open, so it is under load.
TEST(ProfileCommand, ALinkBelowItsBestIsPointedOutThereAndInPlans) {
  const std::string library =
      std::filesystem::absolute("tests/fake_nvml/libfake_nvml_narrow.so").string();
  const ProcessResult measured = RunShell(
      "rm -rf cache; \"$horizon_on_fake_cuda\" profile --quick --device cuda --output gpu.json "
      "--nvml-library '" +
      library + "'");
  ASSERT_EQ(measured.exit_code, 0) << measured.err;
  EXPECT_THAT(measured.out,
              AllOf(HasSubstr("PCIe gen 1 x4 under load"),
                    HasSubstr("\nlook: the link runs below its best: gen 1 x4 under load of gen 4 "
                              "x16")));
  const ProcessResult planned =
      RunShell("\"$horizon\" plan --model qwen2.5-0.5b --machine gpu.json --device-memory 8GiB");
  EXPECT_EQ(planned.exit_code, 0) << planned.err;
  EXPECT_THAT(planned.out, HasSubstr("\nnote: the link runs below its best: gen 1 x4 under load"));
}

}  // namespace
}  // namespace horizon
