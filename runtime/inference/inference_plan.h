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

// What work with a model that changes nothing (evaluation, generation) takes under a plan.
struct InferenceBytes {
  Bytes device;
  Bytes host;  // beside the device
};
using InferenceBytesOf = std::function<absl::StatusOr<InferenceBytes>(const StreamPlan& plan)>;

// Bytes; none: as many as it takes. Device `host` shares the sum, others have memory of their own.
struct InferenceLimits {
  std::optional<Bytes> device;
  std::optional<Bytes> host;
  std::optional<Bytes> sum;  // of both
  int64_t threads = 1;
};

struct InferencePlan {
  StreamPlan plan;
  InferenceBytes bytes;
  std::string summary;  // one line: what stays on the device and what streams
};

// The plan for work of which `bytes_of` tells the memory. All weights on the device where that
// fits; otherwise as many chunks as fit stay there and the others stream through a ring, of two
// slots if possible, of layers or else of single stages or matrices. FailedPrecondition, with the
// bytes that the smallest of these needs, when none fits; errors of `bytes_of`.
absl::StatusOr<InferencePlan> PlanInference(const ModelSpec& spec, NumberType compute_type,
                                            const InferenceLimits& limits,
                                            const InferenceBytesOf& bytes_of);

}  // namespace horizon
