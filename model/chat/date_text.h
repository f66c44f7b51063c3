#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace horizon {

// Formats a time, in seconds since the beginning of 1970 (UTC), like Python's strftime in the C
// locale: "%d %b %Y" gives "26 Jul 2024". Supports %a %A %b %B %c %d %D %e %F %h %H %I %j %m %M %n
// %p %S %t %T %u %w %x %X %y %Y %Z %% and the flags "-" (no padding), "_" and "0"; anything else is
// copied. The time zone is always UTC. For years 1 to 9999.
std::string DateText(std::string_view format, int64_t unix_seconds);

// The first second of a day such as "2024-07-26", for years 1970 to 9999. Returns InvalidArgument
// for any other text.
absl::StatusOr<int64_t> ParseDay(std::string_view text);

}  // namespace horizon
