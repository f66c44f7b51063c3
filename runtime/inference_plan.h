#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "model/model_spec.h"
#include "schedule/stream_plan.h"
#include "schedule/training_job.h"

namespace horizon {

// What work with a model that changes nothing (evaluation, generation) takes under a plan.
struct InferenceBytes {
  uint64_t device = 0;
  uint64_t host = 0;  // beside the device
};
using InferenceBytesOf = std::function<absl::StatusOr<InferenceBytes>(const StreamPlan& plan)>;

struct InferenceLimits {
  std::optional<uint64_t> device;  // bytes; none: what the sum leaves
  uint64_t sum = 0;                // of device and host together
  int64_t threads = 1;
};

struct InferencePlan {
  StreamPlan plan;
  InferenceBytes bytes;
  std::string summary;  // one line: what stays on the device and what streams
};

// The plan for work of which `bytes_of` tells the memory. All weights on the device where that
// fits; otherwise as many chunks as fit stay there and the others stream through a ring, of two
// slots if possible, of layers or else of single stages. FailedPrecondition, with the bytes that
// the smallest of these needs, when none fits; errors of `bytes_of`.
absl::StatusOr<InferencePlan> PlanInference(const ModelSpec& spec, NumberType compute_type,
                                            const InferenceLimits& limits,
                                            const InferenceBytesOf& bytes_of);

}  // namespace horizon
