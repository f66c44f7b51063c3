#pragma once

#include <string>

namespace horizon {

// A duration for messages: "a second" if it is less than one second, else the text of RoughDuration
// ("3 min 07 s").
std::string DurationText(double seconds);

}  // namespace horizon
