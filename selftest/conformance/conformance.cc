#include "selftest/conformance/conformance.h"

#include <vector>

#include "selftest/conformance/conformance_parts.h"

namespace horizon {

std::span<const ConformanceCheck> ConformanceChecks() {
  static const std::vector<ConformanceCheck> all = [] {
    std::vector<ConformanceCheck> checks;
    for (const auto& part : {MemoryChecks(), OrderChecks(), ErrorChecks()}) {
      checks.insert(checks.end(), part.begin(), part.end());
    }
    return checks;
  }();
  return all;
}

}  // namespace horizon
