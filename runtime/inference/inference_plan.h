#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "common/units.h"
#include "model/model_spec.h"
#include "schedule/stream_plan.h"
#include "schedule/training_job.h"

namespace horizon {

// The memory that evaluation or generation needs under a plan.
struct InferenceBytes {
  Bytes device;
  Bytes host;  // host memory in addition to the device
};
// Computes that memory for a plan.
using InferenceBytesOf = std::function<absl::StatusOr<InferenceBytes>(const StreamPlan& plan)>;

// Memory limits in bytes; none means no limit. The host device shares its memory with the rest of
// the program, so `sum` is limited there; other devices have memory of their own.
struct InferenceLimits {
  std::optional<Bytes> device;
  std::optional<Bytes> host;
  std::optional<Bytes> sum;  // device and host together
  int64_t threads = 1;
};

// A plan for evaluation or generation.
struct InferencePlan {
  StreamPlan plan;
  InferenceBytes bytes;
  std::string summary;  // one line: what stays on the device and what streams
};

// Finds a plan for evaluation or generation that fits the limits; `bytes_of` computes the memory of
// a plan. If all weights fit on the device, they stay there. Otherwise as many chunks as fit stay
// there and the others stream through a ring, of two slots if possible, with chunks of a layer or
// else of a single stage or matrix. FailedPrecondition, with the bytes that the smallest of these
// plans needs, when none fits; errors of `bytes_of`.
absl::StatusOr<InferencePlan> PlanInference(const ModelSpec& spec, NumberType compute_type,
                                            const InferenceLimits& limits,
                                            const InferenceBytesOf& bytes_of);

}  // namespace horizon
