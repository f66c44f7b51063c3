#include "schedule/check_runnable.h"

#include <string>
#include <utility>

#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "schedule/strategy_rules.h"

namespace horizon {
namespace {

// Rows of bf16 that begin at multiples of 16 bytes.
constexpr int64_t kCudaWidth = 8;

absl::Status CheckStrategy(const TrainingJob& job, const StreamPlan& plan) {
  if (IsSimulatedOnly(plan.strategy)) {
    return absl::FailedPreconditionError(
        StrCat("strategy ", std::string(ToString(plan.strategy)),
               " is for comparison only: run horizon, reference or resident"));
  }
  if (RulesOf(job, plan).clips_in_own_pass && BytesOfParameter(job).kept_gradient != 4_B) {
    return absl::FailedPreconditionError(
        "reference would round bf16 gradients twice as it clips: set gradient_type fp32");
  }
  return absl::OkStatus();
}

absl::Status CheckDevice(const ModelSpec& spec, const TrainingJob& job) {
  if (job.device == DeviceKind::kHost) {
    if (job.activation_type == NumberType::kFp32) return absl::OkStatus();
    return absl::FailedPreconditionError(
        "device host keeps activations in fp32: set activation_type fp32");
  }
  const std::pair<const char*, int64_t> widths[] = {{"hidden size", spec.hidden},
                                                    {"intermediate size", spec.intermediate},
                                                    {"expert size", spec.experts.intermediate},
                                                    {"number of experts", spec.experts.experts},
                                                    {"head size", spec.head_dim}};
  for (const auto& [name, width] : widths) {
    if (width % kCudaWidth == 0) continue;
    return absl::FailedPreconditionError(StrCat(spec.name, " has ", name, " ", width,
                                                "; device cuda needs a multiple of ", kCudaWidth,
                                                ": train on device host"));
  }
  // The matrices behind the sinks would begin elsewhere.
  if (spec.attention_sinks && spec.heads % kCudaWidth != 0) {
    return absl::FailedPreconditionError(StrCat(spec.name, " has attention sinks of ", spec.heads,
                                                " heads; device cuda needs a multiple of ",
                                                kCudaWidth, ": train on device host"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckRunnable(const ModelSpec& spec, const TrainingJob& job, const StreamPlan& plan) {
  RETURN_IF_ERROR(CheckStrategy(job, plan));
  return CheckDevice(spec, job);
}

std::string WhyPlannedOnly(const ModelSpec& spec, const TrainingJob& job, const StreamPlan& plan) {
  return std::string(CheckRunnable(spec, job, plan).message());
}

std::string PlannedOnlyLine(const std::string& why) {
  return why.empty() ? "" : StrCat("planned only: ", why, "\n");
}

void WriteRunnable(const std::string& why, JsonWriter& writer) {
  writer.Key("runnable").Bool(why.empty());
  if (!why.empty()) writer.Key("planned_only").String(why);
}

}  // namespace horizon
