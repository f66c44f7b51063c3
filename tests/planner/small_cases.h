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

// Models and machines so small that every plan of a space is simulated in milliseconds, and that
// still differ in what limits them.

// Dense, untied, about 0.6 M parameters a layer.
ModelSpec SmallModel(int64_t layers = 4);

// A machine of the catalog, and a model of it.
HardwareProfile CatalogMachine(std::string_view name);
ModelSpec CatalogModel(const std::string& name);

// A T4 without fixed costs, with 1 GB of device memory and 8 GB of RAM, on which one part is slow.
enum class SlowPart { kNone, kLink, kCompute, kOptimizer, kDram };
inline constexpr SlowPart kSlowParts[] = {SlowPart::kNone, SlowPart::kLink, SlowPart::kCompute,
                                          SlowPart::kOptimizer, SlowPart::kDram};
HardwareProfile SmallMachine(SlowPart slow = SlowPart::kNone);

// Device memory with so many bytes for chunks and activations, beside what kernels work in (which
// every plan has alike), when at least nine tenths of it may be filled.
double BesideScratch(const ModelSpec& spec, const TrainingJob& job, double bytes);

// JobFor that machine with short sequences.
TrainingJob SmallJob(int64_t accumulation = 1, int64_t sequence = 128);

// A space of a few dozen plans for SmallModel; resident_chunks without kAsManyAsFit.
PlanSpace SmallSpace(const ModelSpec& spec, const TrainingJob& job);

// Every plan of a space.
std::vector<StreamPlan> PlansOf(const PlanSpace& space);

}  // namespace horizon
