#pragma once

#include <string_view>

namespace horizon {

// The text of planner/profile/calibration.json, which the build compiles into the program.
std::string_view CalibrationData();

}  // namespace horizon
