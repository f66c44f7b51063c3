#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/files/io.h"
#include "common/units.h"
#include "simulator/cost_model.h"
#include "simulator/hardware_profile.h"
#include "simulator/prediction.h"

namespace horizon {

// The prediction for a run, made before its first step: prediction.json of a run folder. With
// machine.json, job.json and plan.json the simulation can be repeated exactly.
struct RunPrediction {
  Prediction prediction;            // with only the kKeptStalls longest stalls
  std::vector<std::string> limits;  // what limits the speed, the tightest limit first
  Bytes arena_bytes;                // device memory of the layout
  Bytes usable_host_bytes;          // host memory that the machine has for the run
  Bytes device_memory_bytes;
  Software software;
};
inline constexpr size_t kKeptStalls = 10;

// `arena_bytes` is the total device memory of the schedule's layout.
RunPrediction MakeRunPrediction(const Prediction& prediction, const HardwareProfile& profile,
                                const Software& software, Bytes arena_bytes);

std::string WriteRunPrediction(const RunPrediction& prediction);
// InvalidArgument "FILE:LINE: FIELD: ..." for a value that is missing, unknown, negative or not a
// number. `file` is for messages.
absl::StatusOr<RunPrediction> ReadRunPrediction(const std::string& file, std::string_view text);
absl::StatusOr<RunPrediction> LoadRunPrediction(Io& io, const std::string& path);

}  // namespace horizon
