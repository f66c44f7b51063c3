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

// Finds the fastest plan of some spaces that fits a machine. A space holds the plans of one
// strategy; plans of all spaces are compared with each other. The search checks the memory of every
// plan from its layout, sorts the plans that fit by a lower bound of the step (simulator/bounds.h),
// and simulates them, lowest bound first, until no plan that is left could be faster.

// Options of a search.
struct SearchOptions {
  // A plan is not simulated if its bound is above (1 - tolerance) x the best step found. So the
  // result is within this share of the best of the space.
  double tolerance = 0.002;
  // The most plans to simulate in the order of their bounds. After that the search simulates only
  // plans that differ from the best in one choice, and SearchResult::gap says how far off it could
  // be.
  int64_t most_simulated = 60;
  // How many of the fastest plans SearchResult::ranked holds. They are the fastest of the space
  // within the tolerance.
  int64_t keep_best = 0;
  // How many other plans SearchResult::spread holds, taken from all over the space.
  int64_t keep_spread = 0;
};

// A plan with its predicted step time.
struct RankedPlan {
  StreamPlan plan;
  double step_seconds = 0;
};

// The schedule and simulation behind a prediction, so that a run need not build or simulate it
// again.
struct SimulatedPlan {
  Schedule schedule;
  SteadyState steady;
};

// The result of one strategy, if plans of several were compared.
struct StrategyOutcome {
  Strategy strategy = Strategy::kHorizon;
  std::optional<double> step_seconds;  // of the fastest plan simulated; none: no plan of it fits
  std::vector<Shortage> shortages;  // if none fits: of the plan that is short of the fewest bytes
};

// The result of a search.
struct SearchResult {
  std::optional<StreamPlan> plan;           // the best plan; none: no plan of the space fits
  Prediction prediction;                    // of `plan`
  std::optional<SimulatedPlan> simulation;  // of `plan`; none where nothing was simulated
  int64_t plans = 0;                        // how many plans were considered,
  int64_t fitting = 0;                      // how many of them fit,
  int64_t simulated = 0;                    // and how many were simulated
  double gap = 0;  // 1 - (lowest bound not simulated) / (best step), if above the tolerance; else 0
  // The fastest plans, best first, ties sorted by device memory; SearchOptions::keep_best of them.
  std::vector<RankedPlan> ranked;
  // Plans that fit and are not in `ranked`, at even distances in the order of their bounds. The
  // last one has the highest bound.
  std::vector<RankedPlan> spread;
  // One for each space, in their order, where there is more than one.
  std::vector<StrategyOutcome> strategies;
  // If no plan fits: the plan that is short of the fewest bytes, and what it is short of. It is a
  // plan of the first space, unless none of these can be built.
  StreamPlan nearest;
  std::vector<Shortage> shortages;
  // Why the first plan that cannot be built cannot be built; OK where all plans can.
  absl::Status refusal;
};

// The search. It is deterministic. It leaves out plans that cannot be built, and, where model, job
// and strategy can run at all, plans that the runtime cannot execute (check_runnable.h).
SearchResult SearchPlan(const ModelSpec& spec, const TrainingJob& job, const PlanSpace& space,
                        const Setting& setting, const SearchOptions& options = {});

// The same for several spaces at once, each of another strategy. A few plans of the strategies that
// are not chosen are simulated too, so that the answer can say what they would do.
SearchResult SearchPlans(const ModelSpec& spec, const TrainingJob& job,
                         const std::vector<PlanSpace>& spaces, const Setting& setting,
                         const SearchOptions& options = {});

// The same as SearchPlan, but simulates every plan that fits; for tests and small spaces.
SearchResult SearchExhaustively(const ModelSpec& spec, const TrainingJob& job,
                                const PlanSpace& space, const Setting& setting);

// Finds any plan of the space (or of the first space that has one) that fits, without simulating.
// If none fits, the result says what the nearest one is short of.
SearchResult FindFitting(const ModelSpec& spec, const TrainingJob& job, const PlanSpace& space,
                         const Setting& setting);
SearchResult FindFitting(const ModelSpec& spec, const TrainingJob& job,
                         const std::vector<PlanSpace>& spaces, const Setting& setting);

}  // namespace horizon
