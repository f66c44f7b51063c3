#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "runtime/loop/routing_line.h"

namespace horizon {

// Reads a line of routing.jsonl; `place` ("FILE:LINE") is for messages. InvalidArgument for an
// invalid line: a key that is missing or unknown, a count that is negative or larger than the
// number of tokens, a wrong number of counts, or counts of a layer that do not add up to tokens x
// experts_per_token.
absl::StatusOr<RoutingLine> ReadRoutingLine(const std::string& place, std::string_view line);

}  // namespace horizon
