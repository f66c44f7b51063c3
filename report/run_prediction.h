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

// What was predicted of a run before its first step: prediction.json of a run folder. With
// machine.json, job.json and plan.json the simulation can be repeated exactly.
struct RunPrediction {
  // Of its stalls the longest kKeptStalls.
  Prediction prediction;
  std::vector<std::string> limits;  // what keeps it from being faster, the tightest first
  Bytes arena_bytes;                // of the device, laid out
  Bytes usable_host_bytes;          // that the machine has for it
  Bytes device_memory_bytes;
  Software software;
};
inline constexpr size_t kKeptStalls = 10;

// `arena_bytes` is the device's total of the schedule's layout.
RunPrediction MakeRunPrediction(const Prediction& prediction, const HardwareProfile& profile,
                                const Software& software, Bytes arena_bytes);

std::string WriteRunPrediction(const RunPrediction& prediction);
// InvalidArgument "FILE:LINE: FIELD: ..." for what is missing, unknown, negative or no number.
// `file` is for messages.
absl::StatusOr<RunPrediction> ReadRunPrediction(const std::string& file, std::string_view text);
absl::StatusOr<RunPrediction> LoadRunPrediction(Io& io, const std::string& path);

}  // namespace horizon
