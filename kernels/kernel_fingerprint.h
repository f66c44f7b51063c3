#pragma once

#include <string_view>

namespace horizon {

// A short text that differs from that of any other version of the kernels' sources.
std::string_view KernelFingerprint();

}  // namespace horizon
