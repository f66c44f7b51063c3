#pragma once

#include <string_view>

namespace horizon {

// The text of planner/profile/calibration.json.
std::string_view CalibrationData();

}  // namespace horizon
