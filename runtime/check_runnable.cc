#include <utility>

#include "common/status_macros.h"
#include "common/str_cat.h"
#include "runtime/operation_bodies.h"
#include "schedule/lay_out_memory.h"

namespace horizon {
namespace {

// Rows of bf16 that begin at multiples of 16 bytes.
constexpr int64_t kCudaWidth = 8;

absl::Status CheckRunnableOnCuda(const ModelSpec& spec) {
  const std::pair<const char*, int64_t> widths[] = {{"hidden size", spec.hidden},
                                                    {"intermediate size", spec.intermediate},
                                                    {"head size", spec.head_dim},
                                                    {"vocabulary", spec.vocab}};
  for (const auto& [name, width] : widths) {
    if (width % kCudaWidth == 0) continue;
    return absl::FailedPreconditionError(StrCat(spec.name, " has ", name, " ", width,
                                                "; device cuda needs a multiple of ", kCudaWidth,
                                                ": train on device host"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckRunnable(const ModelSpec& spec, const Schedule& schedule) {
  const TrainingJob& job = schedule.job;
  const StreamPlan& plan = schedule.plan;
  if (IsSimulatedOnly(plan.strategy)) {
    return absl::FailedPreconditionError(
        StrCat("strategy ", std::string(ToString(plan.strategy)),
               " exists to be simulated and compared with; run horizon, reference or resident"));
  }
  for (const LayerSpec& layer : spec.layers) {
    if (layer.has_experts || spec.attention_sinks || spec.swiglu_limit != 0) {
      return absl::FailedPreconditionError(
          StrCat(spec.name, " is of family ", std::string(ToString(spec.family)),
                 ", which can be planned and simulated; training runs llama, qwen2, qwen3 and "
                 "mistral"));
    }
  }
  if (job.device == DeviceKind::kHost && job.activation_type != NumberType::kFp32) {
    return absl::FailedPreconditionError(
        "device host keeps activations in fp32: set activation_type fp32");
  }
  if (job.device == DeviceKind::kCuda) RETURN_IF_ERROR(CheckRunnableOnCuda(spec));
  for (int32_t c = schedule.chunks.layers.begin; c < schedule.chunks.layers.end; ++c) {
    const Chunk& chunk = schedule.chunks.chunks[c];
    if (chunk.shards == 1) continue;
    const Stage& stage = schedule.chunks.stages[schedule.chunks.PiecesOf(chunk).front().stage];
    return absl::FailedPreconditionError(
        StrCat("chunk_bytes ", WithCommas(plan.chunk_bytes.value()), " cuts ", stage.name,
               " into shards, which can be simulated but not run: set chunk_bytes to at least ",
               WithCommas(stage.parameters * BytesOfParameter(job).link)));
  }
  if (ClipsInPassOfItsOwn(job, plan) && BytesOfParameter(job).kept_gradient != 4) {
    return absl::FailedPreconditionError(
        "strategy reference clips the kept gradients themselves, which rounds them again when they "
        "are bf16: set gradient_type fp32 or clip_norm 0");
  }
  return absl::OkStatus();
}

}  // namespace horizon
