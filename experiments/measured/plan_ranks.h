#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/units.h"
#include "experiments/measured/kendall_tau.h"
#include "experiments/measured/measured_run.h"

namespace horizon {

// Whether the plan the search picks is really the best: for some models under limits of arena and
// link the plans predicted fastest and others from all over the space are run, and the predicted
// order is compared with the measured one.

struct RankedRun {
  StreamPlan plan;
  bool among_best = false;       // of those predicted fastest
  bool chosen_by_other = false;  // what a search with the other profile finds
  double predicted = 0;          // seconds a step, at the profile's speed
  // Measured, at the profile's speed (MeasuredRun::step_at_usual_speed): plans are run one after
  // the other, and the machine is not as fast for one as for the next.
  std::vector<double> rounds;
  std::vector<double> raw_rounds;  // as they were
  double measured = 0;             // the median of rounds
  int64_t predicted_rank = 0;      // from 1
  int64_t measured_rank = 0;
};

struct RankCase {
  std::string name;
  Bytes arena;
  BytesPerSecond link;
  std::vector<RankedRun> runs;  // in predicted order

  // Of predicted and measured steps; of plans predicted more than `apart` (a share) apart.
  PairCounts pairs(double apart = 0) const;
  bool best_was_best() const { return runs.front().measured_rank == 1; }
  // Of the plan predicted best: its measured step over that of the plan measured best, minus 1.
  double regret() const;
  // Measured step of the plan that a search with the other profile finds, over that of ours, minus
  // 1: below zero where the other chooses better. Nothing without another profile.
  std::optional<double> other_change() const;
};

struct PlanRanks {
  std::vector<RankCase> cases;

  PairCounts pairs(double apart = 0) const;  // of all cases together; a pair is of one case
  std::string Text() const;
  std::string Json() const;
};

// What to search plans for: a model and job, and the limits as multiples: of the least arena any
// plan needs, and of a layer's forward for its load.
struct RankLimits {
  std::string name;
  ModelSpec spec;
  TrainingJob job;
  double arena_times = 1.25;
  double load_to_compute = 0.5;
};
enum class RankSize { kQuick, kFull };
// Three models under two arenas and two links each (full), or one model under two.
std::vector<RankLimits> RankCases(RankSize size);

struct RankOptions {
  MeasuredOptions measured;
  int64_t best = 5;   // plans predicted fastest
  int64_t other = 5;  // others
  int64_t rounds = 2;
  // Of the plan predicted best and of what the other profile chooses, where that is another one,
  // after all: the two are mostly nearly as fast.
  int64_t more_rounds_of_choices = 6;
  std::function<void(const std::string&)> tell;  // hears of each case before it begins; may be null
};

// Runs all plans of a case once a round, in alternating order, then those that were chosen.
// FailedPrecondition, naming the case, where fewer than two plans fit; errors of the runs.
absl::StatusOr<PlanRanks> MeasurePlanRanks(const std::vector<RankLimits>& cases,
                                           const RankOptions& options);

// The fields in which a plan differs from the default, "buffer_depth 3, recompute false".
std::string ShortPlan(const StreamPlan& plan);
// Sets the ranks from predicted and measured seconds and sorts by the former; ties keep their
// order: of plans predicted alike the one that was found first stays the first, however long it
// took.
void RankRuns(std::vector<RankedRun>& runs);

}  // namespace horizon
