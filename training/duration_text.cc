#include "training/duration_text.h"

#include <chrono>
#include <cstdint>

#include "common/progress.h"

namespace horizon {

std::string DurationText(double seconds) {
  if (seconds < 1) return "a second";
  return RoughDuration(std::chrono::nanoseconds(static_cast<int64_t>(seconds * 1e9)));
}

}  // namespace horizon
