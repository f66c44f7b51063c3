#pragma once

#include <string_view>

namespace horizon {

// The text of golden_config.json, the model of golden_step.h, which is compiled into the program.
std::string_view GoldenConfig();

}  // namespace horizon
