#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace horizon {

// A moment, in seconds since the begin of 1970 (UTC), as Python's strftime writes it in the C
// locale: "%d %b %Y" gives "26 Jul 2024". Knows %a %A %b %B %c %d %D %e %F %h %H %I %j %m %M %n %p
// %S %t %T %u %w %x %X %y %Y %Z %% and the flags "-" (no padding), "_" and "0"; anything else stays
// as it is. The time zone is always UTC. Of years 1 to 9999.
std::string DateText(std::string_view format, int64_t unix_seconds);

// The first second of a day "2024-07-26", of years 1970 to 9999. InvalidArgument for another text.
absl::StatusOr<int64_t> ParseDay(std::string_view text);

}  // namespace horizon
