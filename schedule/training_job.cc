#include "schedule/training_job.h"

#include "common/checked.h"
#include "common/documents/either_spelling.h"
#include "common/documents/json.h"
#include "common/documents/record.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "model/rope_scaling.h"
#include "model/stage_work.h"
#include "model/trained_tensors.h"
#include "schedule/job_fields.h"

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

absl::Status Refuse(const std::string& message) { return absl::InvalidArgumentError(message); }

// More entries than any histogram needs, and so few that costs are still computed at once.
constexpr size_t kMostSampleLengths = 4096;
constexpr uint64_t kMostSampleTokens = uint64_t{1} << 62;

absl::Status CheckSampleLengths(const std::vector<SampleLength>& lengths) {
  if (lengths.size() > kMostSampleLengths) {
    return Refuse(StrCat("sample_lengths has ", lengths.size(), " entries, at most ",
                         kMostSampleLengths, " are read: put lengths that are close together"));
  }
  const CheckedU64 tokens = TokensOf(lengths);
  if (tokens.ok() && tokens.value() <= kMostSampleTokens) return absl::OkStatus();
  return Refuse(
      "sample_lengths: the samples have more than 2^62 tokens together; only the ratios of the "
      "numbers of samples matter, so divide all of them by the same number");
}

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
  VisitJobFields(job, ranges);
  RETURN_IF_ERROR(ranges.status());
  if (job.sequence > spec.max_positions) {
    return Refuse(StrCat("sequence ", job.sequence, " is longer than the ", spec.max_positions,
                         " positions of ", spec.name, AdviceForLongSequence(spec, job.sequence)));
  }
  RETURN_IF_ERROR(ValidateTokens({.batch = job.micro_batch, .sequence = job.sequence}));
  RETURN_IF_ERROR(CheckSampleLengths(job.sample_lengths));
  if (job.schedule_start > job.steps) {
    return Refuse(StrCat("schedule_start ", job.schedule_start, " is more than steps ", job.steps));
  }
  if (const int64_t length = job.steps - job.schedule_start; job.warmup_steps > length) {
    return Refuse(StrCat("warmup_steps ", job.warmup_steps, " is more than ",
                         job.schedule_start > 0 ? "the added " : "", "steps ", length,
                         ": give it 0 to ", length));
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
  EitherSpellingReader visit(reader);
  VisitJobFields(job, visit);
  RETURN_IF_ERROR(reader.Finish());
  return job;
}

void WriteJob(const TrainingJob& job, JsonWriter& writer) {
  writer.BeginObject();
  RecordWriter visit(writer);
  VisitJobFields(job, visit);
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
  VisitJobFields(job, visit);
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
