#include "selftest/golden_step.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/fake_cuda/fake_cuda_control.h"

namespace horizon {
namespace {

class GoldenStep : public testing::Test {
 protected:
  std::vector<std::string> Check(const DeviceName& device, std::string* summary = nullptr) {
    Findings findings;
    const std::string text = CheckGoldenStep(device, 2, clock_, log_, findings);
    if (summary != nullptr) *summary = text;
    return findings.lines();
  }

  RealClock clock_;
  Log log_{stderr, LogLevel::kWarning, LogStyle::kPlain};
};

TEST_F(GoldenStep, TheHostTrainsAsPyTorchDoes) {
  std::string summary;
  EXPECT_EQ(Check({}, &summary), std::vector<std::string>{});
  EXPECT_EQ(summary, "losses 6.42249, 6.29306, 6.50226 (PyTorch 6.42249, 6.29306, 6.50226)");
}

TEST_F(GoldenStep, SoDoesTheFakeCudaWithinBf16) {
  fake_cuda::Reset({.seed = 5});
  EXPECT_EQ(Check({.kind = DeviceKind::kCuda}), std::vector<std::string>{});
  EXPECT_EQ(fake_cuda::Leaks(), std::vector<std::string>{});
}

TEST_F(GoldenStep, ADeviceThatFailsIsAFinding) {
  fake_cuda::Reset({.seed = 5});
  fake_cuda::FailWork(100, cudaErrorIllegalAddress);
  std::string summary = "none";
  const std::vector<std::string> lines = Check({.kind = DeviceKind::kCuda}, &summary);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_NE(lines[0].find("strategy horizon: "), std::string::npos) << lines[0];
  EXPECT_EQ(summary, "");
}

}  // namespace
}  // namespace horizon
