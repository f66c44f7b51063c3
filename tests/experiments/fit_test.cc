#include "experiments/fit.h"

#include <gtest/gtest.h>

#include "common/files/io.h"
#include "planner/profile/calibration.h"

namespace horizon {
namespace {

// planner/profile/calibration.json is what the fit prints, so nobody tuned it by hand.
TEST(FitCalibration, GivesTheFileThatIsPartOfTheProgram) {
  const std::unique_ptr<Io> io = MakePosixIo();
  const absl::StatusOr<Calibration> fitted = FitCalibration(*io);
  ASSERT_TRUE(fitted.ok()) << fitted.status();
  EXPECT_EQ(WriteCalibration(*fitted), WriteCalibration(BuiltInCalibration()));
}

}  // namespace
}  // namespace horizon
