#pragma once

#include <string_view>

namespace horizon {

// planner/prediction_errors.json as text. The build generates the body.
std::string_view PredictionErrorsData();

}  // namespace horizon
