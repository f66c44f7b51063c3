#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "schedule/stream_plan.h"

namespace horizon {

// Sets one field of a plan from the text of an option `--set field=value`: `buffer_depth=3`,
// `chunk_bytes=256MiB`, `anchor_home=host`. K, depth and slabs are short for anchor_interval,
// buffer_depth and gradient_slabs. Adds the field's full name to `fields`. Returns InvalidArgument
// for an unknown field, a value out of range, or a field that is set twice; the message says what
// would be valid.
absl::Status SetPlanField(std::string_view assignment, StreamPlan& plan,
                          std::vector<std::string>& fields);

}  // namespace horizon
