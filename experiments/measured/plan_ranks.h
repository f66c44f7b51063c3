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

// Checks whether the plan that the search picks is really the best. For some models, with limits on
// arena and link, it runs the plans that are predicted to be fastest and others spread over the
// search space, and compares the predicted order with the measured one.

// A plan with its predicted and its measured step time.
struct RankedRun {
  StreamPlan plan;
  bool among_best = false;       // one of the plans predicted fastest
  bool chosen_by_other = false;  // the plan that a search with the other profile finds
  double predicted = 0;          // step seconds at the profile's speed
  // Measured step seconds, converted to the profile's speed (MeasuredRun::step_at_usual_speed):
  // plans run one after the other, and the speed of the machine changes in between.
  std::vector<double> rounds;
  std::vector<double> raw_rounds;  // as measured
  double measured = 0;             // the median of rounds
  int64_t predicted_rank = 0;      // from 1
  int64_t measured_rank = 0;
};

// The plans of one model under one limit of arena and link.
struct RankCase {
  std::string name;
  Bytes arena;
  BytesPerSecond link;
  std::vector<RankedRun> runs;  // in predicted order

  // Pairs of predicted and measured step times. With `apart` above 0, only pairs of plans whose
  // predictions differ by more than this fraction.
  PairCounts pairs(double apart = 0) const;
  bool best_was_best() const { return runs.front().measured_rank == 1; }
  // How much slower the plan predicted best is than the plan measured best (0.1: 10 %).
  double regret() const;
  // How much slower the plan that a search with the other profile finds is than ours, as measured;
  // below zero if the other profile chooses better. Empty without another profile.
  std::optional<double> other_change() const;
};

// The results of all cases.
struct PlanRanks {
  std::vector<RankCase> cases;

  PairCounts pairs(double apart = 0) const;  // sum over the cases
  std::string Text() const;
  std::string Json() const;
};

// A model and job to search plans for, with limits on arena and link.
struct RankLimits {
  std::string name;
  ModelSpec spec;
  TrainingJob job;
  double arena_times = 1.25;     // arena, as a multiple of the least that any plan needs
  double load_to_compute = 0.5;  // link: time of a layer's load over that of its forward
};

// How many cases are run.
enum class RankSize { kQuick, kFull };
// Three models, each with two arenas and two links (full); or one model with one arena and two
// links (quick).
std::vector<RankLimits> RankCases(RankSize size);

// Options of MeasurePlanRanks.
struct RankOptions {
  MeasuredOptions measured;
  int64_t best = 5;   // number of plans predicted fastest
  int64_t other = 5;  // number of other plans
  int64_t rounds = 2;
  // Additional rounds for the plan predicted best and the plan that the other profile chooses, if
  // they differ. They come last. The two are mostly almost equally fast, so they need more rounds.
  int64_t more_rounds_of_choices = 6;
  std::function<void(const std::string&)> on_case;  // called before each case; may be null
};

// Runs all plans of each case once in each round, in alternating order, then the additional rounds.
// FailedPrecondition, with the case's name, if fewer than two plans fit; errors of the runs.
absl::StatusOr<PlanRanks> MeasurePlanRanks(const std::vector<RankLimits>& cases,
                                           const RankOptions& options);

// The fields in which a plan differs from the default, "buffer_depth 3, recompute false".
std::string ShortPlan(const StreamPlan& plan);
// Sets the ranks from predicted and measured seconds and sorts by predicted ones. Ties keep their
// order: of plans with equal predictions the one found first stays first, however long it took.
void RankRuns(std::vector<RankedRun>& runs);

}  // namespace horizon
