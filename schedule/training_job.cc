#include "schedule/training_job.h"

#include "common/json.h"
#include "common/record.h"
#include "common/status_macros.h"
#include "common/str_cat.h"
#include "model/stage_work.h"
#include "model/trained_tensors.h"

namespace horizon {
namespace {

constexpr EnumWord<DeviceKind> kDeviceWords[] = {{DeviceKind::kHost, "host"},
                                                 {DeviceKind::kCuda, "cuda"}};
constexpr EnumWord<NumberType> kNumberWords[] = {{NumberType::kFp32, "fp32"},
                                                 {NumberType::kBf16, "bf16"}};
constexpr EnumWord<StateFormat> kStateWords[] = {{StateFormat::kFp32, "fp32"},
                                                 {StateFormat::kBf16Moments, "bf16-moments"},
                                                 {StateFormat::k8BitMoments, "8bit-moments"},
                                                 {StateFormat::kBf16Weights, "bf16-weights"}};
constexpr EnumWord<OptimizerPlace> kPlaceWords[] = {
    {OptimizerPlace::kBehindForward, "behind_forward"},
    {OptimizerPlace::kInBackward, "in_backward"},
    {OptimizerPlace::kAfterStep, "after_step"}};
constexpr EnumWord<LearningRateSchedule> kScheduleWords[] = {
    {LearningRateSchedule::kConstant, "constant"},
    {LearningRateSchedule::kLinear, "linear"},
    {LearningRateSchedule::kCosine, "cosine"}};

NumberType ActivationsOn(DeviceKind device) {
  return device == DeviceKind::kHost ? NumberType::kFp32 : NumberType::kBf16;
}

template <typename Record, typename Visitor>
void VisitFields(Record& job, Visitor& visit) {
  visit("version", job.version, {.minimum = 1, .maximum = 1, .help = "version of this format"});
  visit("model", job.model, {.help = "a catalog name, a model folder or a config.json"});
  visit("data", job.data, {.help = "the training data"});
  visit("train", job.train,
        {.help = "train only the tensors whose names match one of these patterns (`*`, `?`, "
                 "`[0-9]`)"});
  visit("freeze", job.freeze, {.help = "train no tensor whose name matches one of these patterns"});
  visit("device", job.device, {.help = "what computes: its arithmetic is part of the job"});
  visit("sequence", job.sequence,
        {.unit = "tokens", .minimum = 1, .maximum = 1 << 24, .help = "tokens of one sequence"});
  visit("micro_batch", job.micro_batch,
        {.unit = "sequences",
         .minimum = 1,
         .maximum = 1 << 20,
         .help = "sequences that pass through the model together"});
  visit("accumulation", job.accumulation,
        {.unit = "micro-batches",
         .minimum = 1,
         .maximum = 1 << 16,
         .help = "micro-batches whose gradients make one step"});
  visit("steps", job.steps,
        {.unit = "steps",
         .minimum = 1,
         .maximum = 1e12,
         .help = "length of the run; the learning-rate schedule ends there"});
  visit("learning_rate", job.learning_rate,
        {.minimum = 0, .maximum = 1e3, .help = "AdamW's largest learning rate"});
  visit("learning_rate_schedule", job.learning_rate_schedule,
        {.help = "how the learning rate goes on after the warm-up"});
  visit("warmup_steps", job.warmup_steps,
        {.unit = "steps", .minimum = 0, .maximum = 1e12, .help = "linear rise from 0"});
  visit("beta1", job.beta1,
        {.minimum = 0, .maximum = 0.999999999, .help = "decay of the first moment"});
  visit("beta2", job.beta2,
        {.minimum = 0, .maximum = 0.999999999, .help = "decay of the second moment"});
  visit("epsilon", job.epsilon, {.minimum = 0, .maximum = 1, .help = "AdamW's epsilon"});
  visit("weight_decay", job.weight_decay,
        {.minimum = 0, .maximum = 1e3, .help = "decoupled weight decay"});
  visit("decay_all", job.decay_all, {.help = "decay norms and biases too"});
  visit(
      "clip_norm", job.clip_norm,
      {.minimum = 0, .maximum = 1e30, .help = "clip the global gradient norm to this; 0: no clip"});
  visit("compute_type", job.compute_type,
        {.help = "weights as the device sees them: both halves, or the high half alone"});
  visit("activation_type", job.activation_type,
        {.help = "activations and anchors: fp32 on `host`, bf16 on `cuda`"});
  visit("gradient_type", job.gradient_type, {.help = "gradients as they leave the device"});
  visit("state_format", job.state_format, {.help = "what the optimizer keeps of a parameter"});
  visit("optimizer_place", job.optimizer_place, {.help = "when a chunk is updated"});
  visit("seed", job.seed, {.minimum = 0, .maximum = 9e18, .help = "of every random choice"});
}

absl::Status Refuse(const std::string& message) { return absl::InvalidArgumentError(message); }

}  // namespace

std::span<const EnumWord<DeviceKind>> WordsOf(DeviceKind) { return kDeviceWords; }
std::span<const EnumWord<NumberType>> WordsOf(NumberType) { return kNumberWords; }
std::span<const EnumWord<StateFormat>> WordsOf(StateFormat) { return kStateWords; }
std::span<const EnumWord<OptimizerPlace>> WordsOf(OptimizerPlace) { return kPlaceWords; }
std::span<const EnumWord<LearningRateSchedule>> WordsOf(LearningRateSchedule) {
  return kScheduleWords;
}

absl::Status ValidateJob(const ModelSpec& spec, const TrainingJob& job) {
  RecordChecker ranges;
  VisitFields(job, ranges);
  RETURN_IF_ERROR(ranges.status());
  if (job.sequence > spec.max_positions) {
    return Refuse(StrCat("sequence ", job.sequence, " is longer than the ", spec.max_positions,
                         " positions of ", spec.name, "; use a shorter sequence"));
  }
  RETURN_IF_ERROR(ValidateTokens({.batch = job.micro_batch, .sequence = job.sequence}));
  if (job.warmup_steps > job.steps) {
    return Refuse(StrCat("warmup_steps ", job.warmup_steps, " is more than steps ", job.steps));
  }
  if (job.optimizer_place == OptimizerPlace::kInBackward && job.clip_norm > 0) {
    return Refuse(
        "optimizer_place in_backward updates a chunk before the global norm is known: set "
        "clip_norm 0, or use behind_forward, which clips exactly");
  }
  if (job.optimizer_place == OptimizerPlace::kInBackward && job.accumulation > 1) {
    return Refuse(StrCat("optimizer_place in_backward keeps no gradients, so accumulation ",
                         job.accumulation, " is not possible: use behind_forward"));
  }
  if (job.state_format == StateFormat::kBf16Weights && job.compute_type == NumberType::kFp32) {
    return Refuse("state_format bf16-weights has no low half, so compute_type must be bf16");
  }
  const NumberType activations = ActivationsOn(job.device);
  if (job.activation_type != activations) {
    return Refuse(StrCat("activation_type on device ", ToString(job.device), " is ",
                         ToString(activations), ", found ", ToString(job.activation_type)));
  }
  if (job.device == DeviceKind::kCuda && job.compute_type != NumberType::kBf16) {
    return Refuse("compute_type on device cuda is bf16; fp32 compute needs device host");
  }
  if (job.trains_all()) return absl::OkStatus();
  return TrainedNames(spec, {.train = job.train, .freeze = job.freeze}).status();
}

absl::StatusOr<TrainingJob> ReadJob(const Document& document) {
  TrainingJob job;
  ObjectReader reader(document, document.root);
  RecordReader visit(reader);
  VisitFields(job, visit);
  RETURN_IF_ERROR(reader.Finish());
  return job;
}

void WriteJob(const TrainingJob& job, JsonWriter& writer) {
  writer.BeginObject();
  RecordWriter visit(writer);
  VisitFields(job, visit);
  writer.EndObject();
}

std::string WriteJob(const TrainingJob& job) {
  JsonWriter writer;
  WriteJob(job, writer);
  return std::move(writer).Finish();
}

std::string JobFieldTable() {
  const TrainingJob job;
  RecordTable visit;
  VisitFields(job, visit);
  return visit.text();
}

ParameterBytes BytesOfParameter(const TrainingJob& job) {
  const bool fp32 = job.compute_type == NumberType::kFp32;
  const Bytes gradient = job.gradient_type == NumberType::kFp32 ? 4_B : 2_B;
  return {.link = fp32 ? 4_B : 2_B,
          .slot = fp32 || job.device == DeviceKind::kHost ? 4_B : 2_B,
          .gradient = gradient,
          .kept_gradient = job.accumulation > 1 ? 4_B : gradient,
          .low_half = job.state_format == StateFormat::kBf16Weights ? 0_B : 2_B};
}

Bytes MomentBytes(StateFormat format, uint64_t parameters) {
  return MomentBytes(format, parameters, (parameters + kMomentBlock - 1) / kMomentBlock);
}

Bytes MomentBytes(StateFormat format, uint64_t parameters, uint64_t blocks) {
  switch (format) {
    case StateFormat::kFp32:
    case StateFormat::kBf16Weights:
      return 8_B * parameters;
    case StateFormat::kBf16Moments:
      return 4_B * parameters;
    case StateFormat::k8BitMoments:
      return 2_B * parameters + 8_B * blocks;
  }
  return 0_B;
}

void PlaceOn(DeviceKind device, TrainingJob& job) {
  job.device = device;
  job.activation_type = ActivationsOn(device);
}

Bytes ActivationBytes(const TrainingJob& job) {
  return job.activation_type == NumberType::kFp32 ? 4_B : 2_B;
}

}  // namespace horizon
