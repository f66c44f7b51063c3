#pragma once

#include <span>

#include "selftest/conformance/conformance.h"

namespace horizon {

// The suite by subject, a file each.
std::span<const ConformanceCheck> MemoryChecks();  // memory, host ranges and copies
std::span<const ConformanceCheck> OrderChecks();   // streams, events and time
std::span<const ConformanceCheck> ErrorChecks();   // work that fails, Cancel, the end of a device

}  // namespace horizon
