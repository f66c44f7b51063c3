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
#include "model/sample_lengths.h"
#include "model/stage_options.h"

namespace horizon {

// A TrainingJob holds everything that changes the bits of a training run, and nothing else but
// sample_lengths, which describes its data to the predictions. Two runs of one job give the same
// losses and weights under any two plans (stream_plan.h). A run can be resumed only with the job it
// was started with.

// What computes: the processors of the machine, or an NVIDIA GPU.
enum class DeviceKind { kHost, kCuda };
// The number format of weights, activations or gradients.
enum class NumberType { kFp32, kBf16 };
// How the optimizer state of a parameter is stored on the host. The master weight is fp32, split
// into a bf16 high half and a 16-bit low half. kBf16Weights has no low half (as in the paper).
enum class StateFormat { kFp32, kBf16Moments, k8BitMoments, kBf16Weights };
// When a chunk is updated; see docs/schedule.md.
enum class OptimizerPlace { kBehindForward, kInBackward, kAfterStep };
// How the learning rate changes after the warm-up.
enum class LearningRateSchedule { kConstant, kLinear, kCosine };

std::span<const EnumWord<DeviceKind>> WordsOf(DeviceKind);
std::span<const EnumWord<NumberType>> WordsOf(NumberType);
std::span<const EnumWord<StateFormat>> WordsOf(StateFormat);
std::span<const EnumWord<OptimizerPlace>> WordsOf(OptimizerPlace);
std::span<const EnumWord<LearningRateSchedule>> WordsOf(LearningRateSchedule);

// The fields of a job file. job_fields.h declares the unit, range and help of each of them.
struct TrainingJob {
  int64_t version = 1;
  std::string model;
  std::string data;
  // Which tensors are trained (model/trained_tensors.h), as glob patterns of their names. All are
  // trained where both lists are empty.
  std::vector<std::string> train;
  std::vector<std::string> freeze;
  DeviceKind device = DeviceKind::kHost;
  int64_t sequence = 1024;
  int64_t micro_batch = 1;
  int64_t accumulation = 1;
  int64_t steps = 1000;
  // The number of passes over the data; `steps` is then the number of steps in them. 0: the data
  // repeats as long as there are steps.
  int64_t epochs = 0;
  double learning_rate = 1e-4;
  LearningRateSchedule learning_rate_schedule = LearningRateSchedule::kConstant;
  int64_t warmup_steps = 0;
  // The number of steps done before the learning-rate schedule began. It is above 0 if a run was
  // extended with a new schedule; warm-up and curve then go from there to `steps`.
  int64_t schedule_start = 0;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0.01;
  bool decay_all = false;
  double clip_norm = 1.0;
  // The coefficient of the auxiliary loss of the routers of experts (docs/runtime.md); 0: none.
  double router_aux_loss = 0.0;
  NumberType compute_type = NumberType::kBf16;
  NumberType activation_type = NumberType::kFp32;
  NumberType gradient_type = NumberType::kBf16;
  StateFormat state_format = StateFormat::kFp32;
  OptimizerPlace optimizer_place = OptimizerPlace::kBehindForward;
  int64_t seed = 0;
  // How long the samples in the rows are, as a histogram (padding counts as a sample, because it is
  // computed like one). Empty: each row is one sample of `sequence` tokens. Predictions of time use
  // it to count attention. It changes no number of the training, so it may differ when a run is
  // resumed, and checkpoints do not hold it. `train` fills it in from the data.
  std::vector<SampleLength> sample_lengths;
  // The tokens of a piece (model/stage_options.h). It decides bits and is a constant: no field of a
  // job file. Tests set it to have several pieces of few tokens.
  int64_t piece_tokens = kPieceTokens;

  int64_t micro_batch_tokens() const { return micro_batch * sequence; }
  bool trains_all() const { return train.empty() && freeze.empty(); }
  friend bool operator==(const TrainingJob&, const TrainingJob&) = default;
};

// Returns InvalidArgument naming the field that is out of range, or the fields that contradict each
// other or the model: sample lengths of more tokens than can be counted, a sequence past the
// model's positions, clipping with the optimizer in backward, fp32 compute without a low half, a
// pattern that matches no tensor, ...
absl::Status ValidateJob(const ModelSpec& spec, const TrainingJob& job);

// Reads a job from a parsed JSON or YAML file. A missing field keeps its default. An unknown field,
// or a value that is wrong or out of range, is an error that names file, line and field.
absl::StatusOr<TrainingJob> ReadJob(const Document& document);
// JSON that ReadJob reads back to an equal job.
std::string WriteJob(const TrainingJob& job);
void WriteJob(const TrainingJob& job, JsonWriter& writer);  // as one JSON value
// The table of fields in Markdown. docs/formats.md contains it; a test compares the two.
std::string JobFieldTable();

// The bytes that one parameter takes in different places.
struct ParameterBytes {
  Bytes link;           // its weight, as it is copied over the PCIe link
  Bytes slot;           // its weight, as compute reads it on the device
  Bytes gradient;       // its gradient, as it is copied to the host
  Bytes kept_gradient;  // its accumulated gradient
  Bytes low_half;       // the low half of its master weight; 0 where the format has none
};
ParameterBytes BytesOfParameter(const TrainingJob& job);
// Bytes of the first and second moments of `parameters` parameters: 8, 4 or 2 bytes for each
// parameter. The 8-bit format adds one fp32 scale for each moment and quantisation block, which is
// kMomentBlock consecutive parameters of a tensor. The form without `blocks` counts the blocks as
// if all parameters were one tensor.
inline constexpr uint64_t kMomentBlock = 256;
Bytes MomentBytes(StateFormat format, uint64_t parameters, uint64_t blocks);
Bytes MomentBytes(StateFormat format, uint64_t parameters);
// Sets job.device, and job.activation_type to the type that activations have on that device.
void PlaceOn(DeviceKind device, TrainingJob& job);
Bytes ActivationBytes(const TrainingJob& job);  // of one activation value

}  // namespace horizon
