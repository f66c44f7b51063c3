#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/documents/document.h"
#include "common/documents/enum_words.h"
#include "common/documents/json.h"
#include "common/units.h"
#include "model/model_spec.h"

namespace horizon {

// Everything that changes the bits of a training run, and nothing else. Two runs of one job give
// the same losses and weights under any two plans (stream_plan.h); a run is resumed only with the
// job it was started with.

enum class DeviceKind { kHost, kCuda };
enum class NumberType { kFp32, kBf16 };
// How the optimizer's state of a parameter is kept on the host. The master weight is fp32, as two
// 16-bit halves, except with kBf16Weights, which has no low half (as the paper has it).
enum class StateFormat { kFp32, kBf16Moments, k8BitMoments, kBf16Weights };
// When a chunk is updated; see docs/schedule.md.
enum class OptimizerPlace { kBehindForward, kInBackward, kAfterStep };
enum class LearningRateSchedule { kConstant, kLinear, kCosine };

std::span<const EnumWord<DeviceKind>> WordsOf(DeviceKind);
std::span<const EnumWord<NumberType>> WordsOf(NumberType);
std::span<const EnumWord<StateFormat>> WordsOf(StateFormat);
std::span<const EnumWord<OptimizerPlace>> WordsOf(OptimizerPlace);
std::span<const EnumWord<LearningRateSchedule>> WordsOf(LearningRateSchedule);

struct TrainingJob {
  int64_t version = 1;
  std::string model;
  std::string data;
  // Which tensors are trained (model/trained_tensors.h): glob patterns on their names. Both empty:
  // all of them.
  std::vector<std::string> train;
  std::vector<std::string> freeze;
  DeviceKind device = DeviceKind::kHost;
  int64_t sequence = 1024;
  int64_t micro_batch = 1;
  int64_t accumulation = 1;
  int64_t steps = 1000;
  double learning_rate = 1e-4;
  LearningRateSchedule learning_rate_schedule = LearningRateSchedule::kConstant;
  int64_t warmup_steps = 0;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0.01;
  bool decay_all = false;
  double clip_norm = 1.0;
  NumberType compute_type = NumberType::kBf16;
  NumberType activation_type = NumberType::kFp32;
  NumberType gradient_type = NumberType::kBf16;
  StateFormat state_format = StateFormat::kFp32;
  OptimizerPlace optimizer_place = OptimizerPlace::kBehindForward;
  int64_t seed = 0;

  int64_t micro_batch_tokens() const { return micro_batch * sequence; }
  bool trains_all() const { return train.empty() && freeze.empty(); }
  friend bool operator==(const TrainingJob&, const TrainingJob&) = default;
};

// InvalidArgument naming a field out of range or those that do not go together, or with the model:
// a sequence past the model's positions, a clip with the optimizer in backward, fp32 compute
// without a low half, a pattern that matches no tensor, ...
absl::Status ValidateJob(const ModelSpec& spec, const TrainingJob& job);

// Reads a job from a parsed JSON or YAML file; unknown, wrong or out-of-range fields are refused
// with file, line and field. A missing field keeps its default.
absl::StatusOr<TrainingJob> ReadJob(const Document& document);
// JSON that ReadJob reads back to an equal job.
std::string WriteJob(const TrainingJob& job);
void WriteJob(const TrainingJob& job, JsonWriter& writer);  // as one value
// The documented table of fields, in Markdown (docs/formats.md holds it, a test compares).
std::string JobFieldTable();

// Bytes one parameter takes: on the link, in a slot of the device, as a leaving gradient, as a
// gradient kept on the host, and of optimizer state.
struct ParameterBytes {
  Bytes link;
  Bytes slot;
  Bytes gradient;
  Bytes kept_gradient;
  Bytes low_half;
};
ParameterBytes BytesOfParameter(const TrainingJob& job);
// Both moments of `parameters` parameters: 8, 4 or 2 bytes each, with one fp32 scale for each
// moment and block of kMomentBlock parameters of a tensor in the 8-bit format. Without `blocks`: as
// if all were one tensor.
inline constexpr uint64_t kMomentBlock = 256;
Bytes MomentBytes(StateFormat format, uint64_t parameters, uint64_t blocks);
Bytes MomentBytes(StateFormat format, uint64_t parameters);
// Sets the device and the type that activations have there.
void PlaceOn(DeviceKind device, TrainingJob& job);
Bytes ActivationBytes(const TrainingJob& job);  // of one activation value

}  // namespace horizon
