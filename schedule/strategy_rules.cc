#include "schedule/strategy_rules.h"

#include "schedule/offload_baselines.h"

namespace horizon {
namespace {

StrategyRules HorizonRules() {
  return {.cuts_by_chunk_bytes = true, .ring_holds_block = true, .recomputes_kept_alone = true};
}

StrategyRules ResidentRules(const TrainingJob& job) {
  return {.all_on_device = true,
          .weights = Memory::kDevice,
          .state = Memory::kDevice,
          .kept_gradients = Memory::kDevice,
          .norm_partials = Memory::kDevice,
          .head_on_device = true,
          .recomputes_kept_alone = true,
          .gradient_lane = Lane::kCompute,
          .optimizer_lane = Lane::kCompute,
          .gradients_leave = false,
          .update_faults_come_late = job.device == DeviceKind::kCuda};
}

StrategyRules ReferenceRules(const TrainingJob& job, const StreamPlan& plan) {
  return {.weights = Memory::kHost,
          .kept_gradients = Memory::kHost,
          .head_on_device = true,
          .packs_before_loading = true,
          // With one buffer a layer is packed and loaded after the compute of the one before it.
          .loads_await_compute = plan.buffer_depth == 1,
          .recomputes_layer_by_layer = true,
          // The published system has a worker thread for gradients, beside the one that packs.
          .gradient_lane = Lane::kOptimizer,
          .clip_lane = Lane::kOptimizer,
          .table_slabs = true,
          // Without a pool of slabs the copies are synchronous.
          .compute_awaits_layer_gradients = plan.gradient_slabs == 1,
          .clips_in_own_pass = job.clip_norm > 0};
}

StrategyRules OffloadRules(const StreamPlan& plan) {
  return {.head_on_device = true,
          .framework_bytes = FrameworkBytes(plan.strategy),
          .loads_await_compute = true,
          .table_slabs = true,
          .compute_awaits_layer_gradients = true,
          .compute_awaits_table_gradients = true};
}

}  // namespace

StrategyRules RulesOf(const TrainingJob& job, const StreamPlan& plan) {
  switch (plan.strategy) {
    case Strategy::kHorizon:
      return HorizonRules();
    case Strategy::kResident:
      return ResidentRules(job);
    case Strategy::kReference:
      return ReferenceRules(job, plan);
    case Strategy::kZero3Offload:
    case Strategy::kFsdpOffload:
    case Strategy::kGemini:
      return OffloadRules(plan);
  }
  return HorizonRules();
}

}  // namespace horizon
