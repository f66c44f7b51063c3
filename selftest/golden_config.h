#pragma once

#include <string_view>

namespace horizon {

// The text of golden_config.json.
std::string_view GoldenConfig();

}  // namespace horizon
