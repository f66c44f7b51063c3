// Times on this machine, against its own profile: how far predictions are off, within bounds that
// leave room for other work on the machine, and whether they put two plans in the right order.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "experiments/measured/rates_in_runs.h"
#include "experiments/measured/validation.h"
#include "planner/profile/host/host_limits.h"
#include "planner/profile/probe_host.h"

namespace horizon {
namespace {

constexpr int kRounds = 3;
constexpr double kApart = 0.15;

// Two models, each under several links and without one or the other mechanism: only runs of one
// model are put in order.
std::vector<MeasuredCase> Cases(int64_t threads) {
  const ModelShape narrow{.layers = 6, .hidden = 256, .intermediate = 688, .vocab = 4096};
  const ModelShape wide{.layers = 3, .hidden = 768, .intermediate = 2048, .vocab = 4096};
  std::vector<MeasuredCase> cases;
  const auto add = [&](std::string name, const ModelShape& shape, std::optional<double> link,
                       const StreamPlan& changed = {}) {
    MeasuredCase made{.name = std::move(name), .spec = ModelOf(shape), .plan = changed};
    made.job.sequence = 256;
    made.plan.compute_threads = threads;
    if (link.has_value()) made.link = BytesPerSecond{*link};
    cases.push_back(std::move(made));
  };
  for (const auto& [name, shape] : {std::pair{"narrow", narrow}, std::pair{"wide", wide}}) {
    const std::string model = name;
    add(model, shape, std::nullopt);
    add(model + ", slow link", shape, 0.2e9);
    add(model + ", very slow link", shape, 0.08e9);
    add(model + ", slow link, one slot", shape, 0.2e9, {.buffer_depth = 1});
    add(model + ", slow link, no prefetch", shape, 0.2e9, {.backward_prefetch = false});
    add(model + ", activations kept", shape, std::nullopt, {.recompute = false});
  }
  return cases;
}

std::string ModelNameOf(const ValidationRow& row) { return row.name.substr(0, row.name.find(',')); }

// Every case once a round, in alternating order: all bursts of a case together.
Validation Measure(const std::vector<MeasuredCase>& cases, const MeasuredOptions& options) {
  Validation validation;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<MeasuredCase> order = cases;
    if (round % 2 == 1) std::reverse(order.begin(), order.end());
    absl::StatusOr<Validation> made = Validate(order, options, nullptr);
    EXPECT_TRUE(made.ok()) << made.status();
    if (!made.ok()) return validation;
    if (round % 2 == 1) std::reverse(made->rows.begin(), made->rows.end());
    if (round == 0) {
      validation = *std::move(made);
      continue;
    }
    for (size_t i = 0; i < cases.size(); ++i) {
      std::vector<MeasuredBurst>& bursts = validation.rows[i].run.bursts;
      const std::vector<MeasuredBurst>& more = made->rows[i].run.bursts;
      bursts.insert(bursts.end(), more.begin(), more.end());
    }
  }
  return validation;
}

TEST(MeasuredOrder, PredictionsAreNearAndOrderPlansOfAModelAsMeasured) {
  const std::unique_ptr<Io> io = MakePosixIo();
  RealClock clock;
  absl::StatusOr<HardwareProfile> profile =
      ProbeHost(*io, clock, {.time = Seconds{30}, .when = "now", .quick = false});
  ASSERT_TRUE(profile.ok()) << profile.status();
  const absl::StatusOr<Refit> refit = MeasureRatesInRuns(
      *profile, {.io = *io, .clock = clock, .depth = RunsDepth::kFull, .when = "now"});
  ASSERT_TRUE(refit.ok()) << refit.status();
  profile = refit->profile;
  const Validation validation = Measure(
      Cases(profile->host.cores), {.io = *io, .clock = clock, .profile = *profile, .steps = 10});
  ASSERT_EQ(validation.rows.size(), 12u);
  const StepErrors errors = validation.errors(&MeasuredRun::error_during);
  EXPECT_LE(errors.median, 0.1) << validation.Text();
  EXPECT_LE(errors.worst, 0.25) << validation.Text();
  EXPECT_EQ(validation.memory_misses(), std::vector<std::string>{});
  int pairs = 0;
  for (const ValidationRow& a : validation.rows) {
    for (const ValidationRow& b : validation.rows) {
      const double apart = b.run.usual_step_seconds / a.run.usual_step_seconds - 1;
      if (ModelNameOf(a) != ModelNameOf(b) || apart <= kApart) continue;
      ++pairs;
      EXPECT_LT(a.run.step_at_usual_speed(), b.run.step_at_usual_speed())
          << a.name << " was predicted " << 100 * apart << " % faster than " << b.name;
    }
  }
  EXPECT_GE(pairs, 10) << validation.Text();
}

}  // namespace
}  // namespace horizon
