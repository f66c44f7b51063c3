#pragma once

#include <string_view>

namespace horizon {

// What a well-known family of mixtures of experts has that we do not compute, for a message that
// says more than that the family is unknown: "shared experts". Empty for every other model_type.
std::string_view WhyUnsupported(std::string_view model_type);

}  // namespace horizon
