#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "planner/make_plan.h"

namespace horizon {

// Plans a job for several values of one of its fields, to see from which value on more brings no
// gain or no longer fits: `horizon plan --sweep batch` or `--sweep sequence=1024,4096,16384`.

// The fields of a job that can be swept.
enum class SweepField { kBatch, kSequence };
std::string_view ToString(SweepField field);

// What to sweep, and over which values.
struct Sweep {
  SweepField field = SweepField::kBatch;
  // The values to try, in this order. Empty: powers of two times 1 sequence, or 256 tokens, until
  // the job does not fit.
  std::vector<int64_t> values;
};
// Reads "batch", "sequence" or "NAME=a,b,c". InvalidArgument that says what is valid.
absl::StatusOr<Sweep> ParseSweep(std::string_view text);

// The answer for one value.
struct SweptPlan {
  int64_t value = 0;
  absl::Status refused;  // not OK: the job is not possible with this value
  PlanAnswer answer;     // with limits, where it is feasible
};
// One for each value. Each is a quick search, so a full search for one value may find a slightly
// faster plan. The planner does not propose a value for the swept field.
std::vector<SweptPlan> SweepPlan(const PlanRequest& request, const Sweep& sweep);

// A table: value, step, tokens/s, memory, strategy, limit. For a value that does not fit it says
// what is missing.
std::string SweepText(const Sweep& sweep, const std::vector<SweptPlan>& plans);
// {"sweep", "values": [{"value", "feasible", "refused", "job", "plan", "prediction",
// "shortages"}]}.
std::string SweepJson(const Sweep& sweep, const std::vector<SweptPlan>& plans);

}  // namespace horizon
