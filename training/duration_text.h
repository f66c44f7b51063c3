#pragma once

#include <string>

namespace horizon {

// "a second" for less than one, else as RoughDuration has it.
std::string DurationText(double seconds);

}  // namespace horizon
