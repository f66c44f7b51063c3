#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/model_spec.h"
#include "planner/plan_space.h"
#include "schedule/stream_plan.h"
#include "schedule/training_job.h"
#include "simulator/hardware_profile.h"

namespace horizon {

// Models and machines that are so small that every plan of a space is simulated in milliseconds,
// but that still differ in their bottleneck.

// A dense, untied model with about 0.6 M parameters per layer.
ModelSpec SmallModel(int64_t layers = 4);

// A machine of the machine catalog, and a model of the model catalog.
HardwareProfile CatalogMachine(std::string_view name);
ModelSpec CatalogModel(const std::string& name);

// A T4 with almost no fixed costs, with 1 GB of device memory and 8 GB of RAM, on which one part is
// slow.
enum class SlowPart { kNone, kLink, kCompute, kOptimizer, kDram };
inline constexpr SlowPart kSlowParts[] = {SlowPart::kNone, SlowPart::kLink, SlowPart::kCompute,
                                          SlowPart::kOptimizer, SlowPart::kDram};
HardwareProfile SmallMachine(SlowPart slow = SlowPart::kNone);

// The size of a device memory that has `bytes` for chunks and activations beside the scratch memory
// of kernels (the same in every plan), if at least nine tenths of it may be filled.
double BesideScratch(const ModelSpec& spec, const TrainingJob& job, double bytes);

// JobFor(SmallMachine()) with short sequences.
TrainingJob SmallJob(int64_t accumulation = 1, int64_t sequence = 128);

// A space of a few dozen plans for SmallModel, without kAsManyAsFit among resident_chunks.
PlanSpace SmallSpace(const ModelSpec& spec, const TrainingJob& job);

// All plans of a space.
std::vector<StreamPlan> PlansOf(const PlanSpace& space);

}  // namespace horizon
