#pragma once

#include <span>

#include "selftest/conformance/conformance.h"

namespace horizon {

// The parts of the conformance suite, one file for each subject.
std::span<const ConformanceCheck> MemoryChecks();  // memory, host ranges and copies
std::span<const ConformanceCheck> OrderChecks();   // streams, events and time
std::span<const ConformanceCheck> ErrorChecks();   // failing work, Cancel, destroying a device

}  // namespace horizon
