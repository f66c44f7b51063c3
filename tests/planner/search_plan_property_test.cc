// The pruned search against the exhaustive one, on random models, machines, jobs and spaces.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <limits>
#include <utility>
#include <vector>

#include "planner/planned_job.h"
#include "planner/search_plan.h"
#include "schedule/build/build_schedule.h"
#include "schedule/verify/verify_schedule.h"
#include "tests/planner/small_cases.h"

namespace horizon {
namespace {

int64_t Pick(int64_t from, int64_t to) { return *rc::gen::inRange<int64_t>(from, to + 1); }

// One to three of the values, in a random order.
template <typename T>
std::vector<T> Some(std::vector<T> values) {
  std::vector<T> some;
  for (int64_t count = Pick(1, 3); count > 0 && !values.empty(); --count) {
    const int64_t at = Pick(0, static_cast<int64_t>(values.size()) - 1);
    some.push_back(values[at]);
    values.erase(values.begin() + at);
  }
  return some;
}

ModelSpec RandomModel() {
  ModelSpec spec = SmallModel(Pick(1, 5));
  spec.hidden = 64 * Pick(1, 6);
  spec.intermediate = 128 * Pick(1, 8);
  spec.vocab = 512 * Pick(1, 6);
  spec.tied = *rc::gen::arbitrary<bool>();
  return spec;
}

HardwareProfile RandomMachine() {
  HardwareProfile machine = SmallMachine(kSlowParts[Pick(0, 4)]);
  machine.device.memory_bytes.value = static_cast<double>(Pick(4, 60)) * 1e6;
  machine.host.cores = Pick(1, 16);
  const double factor = static_cast<double>(Pick(1, 40)) / 10;
  machine.device.gemm_bf16 = Scaled(std::move(machine.device.gemm_bf16), factor);
  machine.link.both_ways_bytes_per_second.value *= static_cast<double>(Pick(5, 10)) / 10;
  return machine;
}

TrainingJob RandomJob(const HardwareProfile& machine, Strategy strategy) {
  TrainingJob job = JobFor(machine, strategy);
  job.sequence = 32 * Pick(1, 16);
  job.micro_batch = Pick(1, 2);
  job.accumulation = Pick(1, 3);
  job.state_format = *rc::gen::element(StateFormat::kFp32, StateFormat::kBf16Moments,
                                       StateFormat::k8BitMoments, StateFormat::kBf16Weights);
  if (strategy != Strategy::kHorizon) return job;
  job.optimizer_place = *rc::gen::element(OptimizerPlace::kBehindForward,
                                          OptimizerPlace::kInBackward, OptimizerPlace::kAfterStep);
  if (job.optimizer_place == OptimizerPlace::kInBackward) {
    job.accumulation = 1;
    job.clip_norm = 0;
  }
  return job;
}

PlanSpace RandomSpace(const ModelSpec& spec, const TrainingJob& job, const HardwareProfile& machine,
                      Strategy strategy) {
  PlanSpace space = SpaceFor(spec, job, machine, PlanFor(strategy), {});
  if (strategy == Strategy::kHorizon) {
    space.chunk_bytes.push_back(Bytes(CheckedU64(static_cast<uint64_t>(Pick(100, 900)) * 1024)));
    space.buffer_depth = {1, 2, 3, 5};
  }
  space.chunk_bytes = Some(space.chunk_bytes);
  space.buffer_depth = Some(space.buffer_depth);
  space.resident_chunks = Some(space.resident_chunks);
  space.anchor_interval = Some(space.anchor_interval);
  space.anchor_home = Some(space.anchor_home);
  space.recompute = Some(space.recompute);
  space.gradient_slabs = Some(space.gradient_slabs);
  space.embedding_home = Some(space.embedding_home);
  space.accumulation_order = Some(space.accumulation_order);
  space.loss_chunk_tokens.resize(1);
  space.threads = Some(space.threads);
  return space;
}

RC_GTEST_PROP(SearchPlanProperty, ThePrunedSearchFindsTheOptimum, ()) {
  const auto strategy = *rc::gen::weightedElement<Strategy>({{8, Strategy::kHorizon},
                                                             {1, Strategy::kReference},
                                                             {1, Strategy::kResident},
                                                             {1, Strategy::kZero3Offload},
                                                             {1, Strategy::kFsdpOffload},
                                                             {1, Strategy::kGemini}});
  const ModelSpec spec = RandomModel();
  HardwareProfile machine = RandomMachine();
  const TrainingJob job = RandomJob(machine, strategy);
  machine.device.memory_bytes.value = BesideScratch(spec, job, machine.device.memory_bytes.value);
  const PlanSpace space = RandomSpace(spec, job, machine, strategy);
  const Setting setting{.profile = machine, .margin = static_cast<double>(Pick(0, 2)) * 0.05};
  const SearchResult all = SearchExhaustively(spec, job, space, setting);
  const SearchResult exact =
      SearchPlan(spec, job, space, setting,
                 {.tolerance = 0, .most_simulated = std::numeric_limits<int64_t>::max()});
  const SearchResult usual = SearchPlan(spec, job, space, setting);
  const SearchResult first = FindFitting(spec, job, space, setting);
  RC_ASSERT(all.simulated == all.fitting);
  RC_ASSERT(exact.plan.has_value() == all.plan.has_value());
  RC_ASSERT(usual.plan.has_value() == all.plan.has_value());
  RC_ASSERT(first.plan.has_value() == all.plan.has_value());
  RC_CLASSIFY(!all.plan.has_value(), "nothing fits");
  RC_CLASSIFY(usual.simulated < all.simulated, "pruned");
  if (!all.plan.has_value()) {
    RC_ASSERT(!all.shortages.empty() || !all.refusal.ok());
    return;
  }
  RC_ASSERT(exact.prediction.step_seconds == all.prediction.step_seconds);
  const double found = usual.prediction.step_seconds;
  RC_ASSERT(found >= all.prediction.step_seconds);
  RC_ASSERT(found * (1 - 0.002) <= all.prediction.step_seconds || usual.gap > 0);
  RC_ASSERT(found * (1 - std::max(0.002, usual.gap)) <= all.prediction.step_seconds);
  for (const SearchResult* result : {&all, &exact, &usual, &first}) {
    const absl::StatusOr<Schedule> schedule = BuildSchedule(spec, job, *result->plan);
    RC_ASSERT(schedule.ok());
    RC_ASSERT(VerifySchedule(*schedule).ok());
    RC_ASSERT(PredictRun(spec, *schedule, setting).prediction.fits());
  }
}

}  // namespace
}  // namespace horizon
