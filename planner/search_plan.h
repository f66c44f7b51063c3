#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "model/model_spec.h"
#include "planner/plan_space.h"
#include "schedule/schedule.h"
#include "schedule/stream_plan.h"
#include "schedule/training_job.h"
#include "simulator/prediction.h"
#include "simulator/steady_state.h"

namespace horizon {

// The fastest plan of a space that fits a machine. Memory is checked for every plan, from the
// layout; a lower bound of the step (bounds.h) orders those that fit; the event simulator decides,
// beginning with the lowest bound, until no plan left could be faster.

struct SearchOptions {
  // Plans whose bound is less than this share below the best found are not looked at: what is
  // returned is within it of the best of the space.
  double tolerance = 0.002;
  // Most plans to simulate in the order of their bounds; after that only neighbours of the best
  // are, and SearchResult::gap says how far it could be off.
  int64_t most_simulated = 60;
  // How many of the fastest plans SearchResult::ranked holds: those are within the tolerance of the
  // fastest of the space too.
  int64_t keep_best = 0;
  // How many other plans SearchResult::spread holds, from all over the space.
  int64_t keep_spread = 0;
};

struct RankedPlan {
  StreamPlan plan;
  double step_seconds = 0;
};

// What a plan was predicted from: whoever runs it need not build or simulate it again.
struct SimulatedPlan {
  Schedule schedule;
  SteadyState steady;
};

struct SearchResult {
  std::optional<StreamPlan> plan;           // nothing: no plan of the space fits
  Prediction prediction;                    // of it
  std::optional<SimulatedPlan> simulation;  // behind that; none where nothing was simulated
  int64_t plans = 0;                        // looked at
  int64_t fitting = 0;
  int64_t simulated = 0;
  double gap = 0;  // 1 - (least bound not simulated) / (best step), where above the tolerance
  // The fastest plans, best first, ties by device memory; where SearchOptions asks for them.
  std::vector<RankedPlan> ranked;
  // Plans that fit and are not among them, at even distances in the order of their bounds, the one
  // with the highest last.
  std::vector<RankedPlan> spread;
  // The plan that came nearest to fitting (least bytes lacking), and what it lacks, where none did.
  StreamPlan nearest;
  std::vector<Shortage> shortages;
  // Why the first plan that cannot be built cannot; OK where all can.
  absl::Status refusal;
};

// Deterministic. Plans that cannot be built are left out.
SearchResult SearchPlan(const ModelSpec& spec, const TrainingJob& job, const PlanSpace& space,
                        const Setting& setting, const SearchOptions& options = {});

// The same by simulating every plan that fits; for tests and small spaces.
SearchResult SearchExhaustively(const ModelSpec& spec, const TrainingJob& job,
                                const PlanSpace& space, const Setting& setting);

// Whether any plan of the space fits, and if not what the nearest lacks: no simulation.
SearchResult FindFitting(const ModelSpec& spec, const TrainingJob& job, const PlanSpace& space,
                         const Setting& setting);

}  // namespace horizon
