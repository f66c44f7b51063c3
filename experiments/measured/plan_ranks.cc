#include "experiments/measured/plan_ranks.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/check.h"
#include "common/documents/json.h"
#include "common/statistics.h"
#include "common/status_macros.h"
#include "common/text/percent.h"
#include "common/text/str_cat.h"
#include "common/text/text_table.h"
#include "experiments/measured/measured_experiment.h"
#include "planner/machines/machine_catalog.h"
#include "planner/plan_space.h"
#include "planner/profile/calibration.h"
#include "planner/search_plan.h"

namespace horizon {
namespace {

// Plans that are predicted nearer to each other than this are as good as equal.
constexpr double kApart = 0.05;

// The least arena of any plan: what a search on a device without memory finds lacking.
absl::StatusOr<Bytes> LeastArena(const RankLimits& limits, const HardwareProfile& profile) {
  const HardwareProfile none = WithOverrides(profile, {.device_memory = Bytes(CheckedU64(1))});
  const PlanSpace space = SpaceFor(limits.spec, limits.job, none, StreamPlan{}, {});
  const SearchResult result =
      FindFitting(limits.spec, limits.job, FrugalSpace(space), {.profile = none});
  for (const Shortage& shortage : result.shortages) {
    if (shortage.limit == Limit::kDeviceMemory) return shortage.needed;
  }
  return absl::FailedPreconditionError(
      StrCat(limits.name, ": no plan can be built: ", std::string(result.refusal.message())));
}

absl::StatusOr<RankCase> ChoosePlans(const RankLimits& limits, const RankOptions& options) {
  const HardwareProfile& profile = options.measured.profile;
  ASSIGN_OR_RETURN(const Bytes least, LeastArena(limits, profile));
  const MeasuredCase plain{.name = limits.name, .spec = limits.spec, .job = limits.job};
  ASSIGN_OR_RETURN(const BytesPerSecond link, LinkForShare(plain, profile, limits.load_to_compute));
  const Bytes arena(
      CheckedU64(static_cast<uint64_t>(limits.arena_times * static_cast<double>(least))));
  const HardwareProfile limited =
      WithOverrides(profile, {.device_memory = arena, .link_limit = link});
  const Setting setting{.profile = limited,
                        .software = BuiltInCalibration().SoftwareOf(Strategy::kHorizon)};
  const SearchResult found = SearchPlan(
      limits.spec, limits.job, SpaceFor(limits.spec, limits.job, limited, StreamPlan{}, {}),
      setting, {.keep_best = options.best, .keep_spread = options.other});
  RankCase chosen{.name = limits.name, .arena = arena, .link = link};
  const auto add_choice_of_other = [&]() -> absl::Status {
    if (options.measured.other == nullptr) return absl::OkStatus();
    const HardwareProfile there =
        WithOverrides(*options.measured.other, {.device_memory = arena, .link_limit = link});
    const SearchResult theirs = SearchPlan(
        limits.spec, limits.job, SpaceFor(limits.spec, limits.job, there, StreamPlan{}, {}),
        {.profile = there, .software = setting.software}, {.keep_best = 1});
    if (!theirs.plan.has_value()) return absl::OkStatus();
    for (RankedRun& run : chosen.runs) {
      run.chosen_by_other = run.plan == *theirs.plan;
      if (run.chosen_by_other) return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(const Prediction ours,
                     Predict(limits.spec, limits.job, *theirs.plan, setting));
    chosen.runs.push_back(
        {.plan = *theirs.plan, .chosen_by_other = true, .predicted = ours.step_seconds});
    return absl::OkStatus();
  };
  for (const RankedPlan& plan : found.ranked) {
    chosen.runs.push_back({.plan = plan.plan, .among_best = true, .predicted = plan.step_seconds});
  }
  for (const RankedPlan& plan : found.spread) {
    chosen.runs.push_back({.plan = plan.plan, .predicted = plan.step_seconds});
  }
  RETURN_IF_ERROR(add_choice_of_other());
  if (chosen.runs.size() >= 2) return chosen;
  return absl::FailedPreconditionError(StrCat(limits.name, ": ", chosen.runs.size(),
                                              " plans fit an arena of ", ToString(arena),
                                              "; two are needed to compare: allow more"));
}

// One run of a plan of `chosen`, added to its rounds.
absl::Status RunOnce(const RankLimits& limits, const RankOptions& options, const RankCase& chosen,
                     RankedRun& run) {
  const absl::StatusOr<MeasuredRun> made = RunMeasured({.name = limits.name,
                                                        .spec = limits.spec,
                                                        .job = limits.job,
                                                        .plan = run.plan,
                                                        .link = chosen.link},
                                                       options.measured);
  if (!made.ok()) {
    return absl::Status(made.status().code(), StrCat(limits.name, ", plan ", ShortPlan(run.plan),
                                                     ": ", std::string(made.status().message())));
  }
  run.rounds.push_back(made->step_at_usual_speed());
  run.raw_rounds.push_back(made->step_seconds());
  return absl::OkStatus();
}

absl::Status RunAll(const RankLimits& limits, const RankOptions& options, RankCase& chosen) {
  const auto run_rounds = [&](const std::vector<RankedRun*>& runs, int64_t rounds) -> absl::Status {
    for (int64_t round = 0; round < rounds; ++round) {
      for (size_t place = 0; place < runs.size(); ++place) {
        const size_t i = round % 2 == 0 ? place : runs.size() - 1 - place;
        RETURN_IF_ERROR(RunOnce(limits, options, chosen, *runs[i]));
      }
    }
    return absl::OkStatus();
  };
  std::vector<RankedRun*> all;
  for (RankedRun& run : chosen.runs) all.push_back(&run);
  RETURN_IF_ERROR(run_rounds(all, options.rounds));
  RankedRun* const ours = all.front();
  const auto theirs = std::find_if(all.begin(), all.end(),
                                   [](const RankedRun* run) { return run->chosen_by_other; });
  if (theirs != all.end() && *theirs != ours) {
    RETURN_IF_ERROR(run_rounds({ours, *theirs}, options.more_rounds_of_choices));
  }
  for (RankedRun& run : chosen.runs) run.measured = Median(run.rounds);
  RankRuns(chosen.runs);
  return absl::OkStatus();
}

std::string Milliseconds(double seconds) { return absl::StrFormat("%.1f ms", 1e3 * seconds); }
std::string TauText(const PairCounts& pairs) { return absl::StrFormat("%.2f", pairs.TauB()); }

void WritePairs(JsonWriter& json, const PairCounts& pairs) {
  json.Key("tau_b").Number(pairs.TauB()).Key("concordant").Integer(pairs.concordant);
  json.Key("discordant").Integer(pairs.discordant);
}

}  // namespace

void RankRuns(std::vector<RankedRun>& runs) {
  std::stable_sort(runs.begin(), runs.end(), [](const RankedRun& a, const RankedRun& b) {
    return a.predicted < b.predicted;
  });
  std::vector<RankedRun*> by_measured;
  for (size_t i = 0; i < runs.size(); ++i) {
    runs[i].predicted_rank = static_cast<int64_t>(i) + 1;
    by_measured.push_back(&runs[i]);
  }
  std::stable_sort(
      by_measured.begin(), by_measured.end(),
      [](const RankedRun* a, const RankedRun* b) { return a->measured < b->measured; });
  for (size_t i = 0; i < by_measured.size(); ++i) {
    by_measured[i]->measured_rank = static_cast<int64_t>(i) + 1;
  }
}

PairCounts RankCase::pairs(double apart) const {
  std::vector<double> predicted, measured;
  for (const RankedRun& run : runs) {
    predicted.push_back(run.predicted);
    measured.push_back(run.measured);
  }
  return CountPairs(predicted, measured, apart);
}

double RankCase::regret() const {
  double best = runs.front().measured;
  for (const RankedRun& run : runs) best = std::min(best, run.measured);
  return runs.front().measured / best - 1;
}

std::optional<double> RankCase::other_change() const {
  for (const RankedRun& run : runs) {
    if (run.chosen_by_other) return run.measured / runs.front().measured - 1;
  }
  return std::nullopt;
}

PairCounts PlanRanks::pairs(double apart) const {
  PairCounts all;
  for (const RankCase& each : cases) all += each.pairs(apart);
  return all;
}

std::vector<RankLimits> RankCases(RankSize size) {
  struct Sized {
    std::string_view name;
    ModelShape shape;
    int64_t sequence;
  };
  const Sized models[] = {{"deep", {.layers = 16, .hidden = 192, .intermediate = 512}, 128},
                          {"middle", {.layers = 8, .hidden = 384, .intermediate = 1024}, 128},
                          {"wide", {.layers = 4, .hidden = 768, .intermediate = 2048}, 128}};
  std::vector<RankLimits> cases;
  for (const Sized& model : models) {
    for (const double arena : {1.25, 3.0}) {
      for (const double load : {0.5, 2.0}) {
        if (size == RankSize::kQuick && (model.name != "deep" || arena > 2)) continue;
        RankLimits& limits = cases.emplace_back();
        limits.name = StrCat(model.name, arena < 2 ? ", tight arena" : ", roomy arena",
                             load < 1 ? ", fast link" : ", slow link");
        limits.spec = ModelOf(model.shape);
        limits.job.sequence = model.sequence;
        limits.arena_times = arena;
        limits.load_to_compute = load;
      }
    }
  }
  return cases;
}

absl::StatusOr<PlanRanks> MeasurePlanRanks(const std::vector<RankLimits>& cases,
                                           const RankOptions& options) {
  CHECK(options.rounds >= 1);
  PlanRanks ranks;
  for (const RankLimits& limits : cases) {
    if (options.on_case) options.on_case(limits.name);
    ASSIGN_OR_RETURN(RankCase chosen, ChoosePlans(limits, options));
    RETURN_IF_ERROR(RunAll(limits, options, chosen));
    ranks.cases.push_back(std::move(chosen));
  }
  return ranks;
}

std::string ShortPlan(const StreamPlan& plan) {
  const StreamPlan base;
  std::vector<std::string> parts;
  const auto add = [&](bool differs, std::string text) {
    if (differs) parts.push_back(std::move(text));
  };
  parts.push_back(StrCat("chunk ", ToString(plan.chunk_bytes)));
  parts.push_back(StrCat("depth ", plan.buffer_depth));
  add(plan.resident_chunks != 0, StrCat("resident ", plan.resident_chunks));
  add(plan.recompute, StrCat("K ", plan.anchor_interval));
  add(!plan.recompute, "activations kept");
  add(plan.recompute && plan.anchor_home != base.anchor_home, "anchors host");
  add(true, StrCat("slabs ", plan.gradient_slabs));
  add(plan.accumulation_order != base.accumulation_order,
      std::string(ToString(plan.accumulation_order)));
  add(plan.embedding_home != base.embedding_home,
      StrCat("embedding ", ToString(plan.embedding_home)));
  add(true, StrCat("threads ", plan.compute_threads, "/", plan.host_threads, "/",
                   plan.optimizer_threads));
  return absl::StrJoin(parts, ", ");
}

std::string PlanRanks::Text() const {
  std::string text;
  std::vector<std::string> titles = {"case",  "arena",         "link",     "plans",
                                     "tau-b", "best was best", "slower by"};
  const bool beside = !cases.empty() && cases.front().other_change().has_value();
  if (beside) titles.push_back("the other's choice");
  TextTable summary(titles);
  int64_t best = 0;
  for (const RankCase& each : cases) {
    TextTable table({each.name, "predicted", "measured", "rank", "measured rank", "of the best"});
    for (const RankedRun& run : each.runs) {
      table.AddRow({ShortPlan(run.plan), Milliseconds(run.predicted), Milliseconds(run.measured),
                    StrCat(run.predicted_rank), StrCat(run.measured_rank),
                    run.among_best ? "yes" : ""});
    }
    text += StrCat(std::move(table).Finish(), "\n");
    std::vector<std::string> cells = {each.name,
                                      ToString(each.arena),
                                      ToString(each.link),
                                      StrCat(each.runs.size()),
                                      TauText(each.pairs()),
                                      each.best_was_best() ? "yes" : "no",
                                      Percent(each.regret(), 1)};
    if (beside) {
      const std::optional<double> change = each.other_change();
      cells.push_back(!change.has_value()                 ? "none fits"
                      : each.runs.front().chosen_by_other ? "the same plan"
                                                          : PercentChange(*change));
    }
    summary.AddRow(std::move(cells));
    best += each.best_was_best() ? 1 : 0;
  }
  const PairCounts apart = pairs(kApart);
  return StrCat(text, std::move(summary).Finish(),
                "\nKendall's tau-b over all cases: ", TauText(pairs()), "; of ",
                apart.concordant + apart.discordant, " pairs predicted more than 5 % apart ",
                apart.discordant, " were measured the other way round",
                "; the plan predicted best was measured best in ", best, " of ", cases.size(),
                " cases\nslower by: of the plan predicted best, against the plan "
                "measured best; steps are measured at the profile's speed of the machine\n",
                beside ? "the other's choice: the measured step of the plan that --beside finds, "
                         "against that of the plan predicted best\n"
                       : "");
}

std::string PlanRanks::Json() const {
  JsonWriter json;
  json.BeginObject();
  WritePairs(json, pairs());
  json.Key("apart").BeginObject().Key("least_apart").Number(kApart);
  WritePairs(json, pairs(kApart));
  json.EndObject();
  json.Key("cases").BeginArray();
  for (const RankCase& each : cases) {
    json.BeginObject().Key("name").String(each.name);
    json.Key("arena_bytes").Unsigned(each.arena.value());
    json.Key("link_bytes_per_second").Number(each.link.value);
    WritePairs(json, each.pairs());
    json.Key("best_was_best").Bool(each.best_was_best());
    json.Key("regret").Number(each.regret());
    if (const std::optional<double> change = each.other_change(); change.has_value()) {
      json.Key("other_change").Number(*change);
      json.Key("other_is_same").Bool(each.runs.front().chosen_by_other);
    }
    json.Key("runs").BeginArray();
    for (const RankedRun& run : each.runs) {
      json.BeginObject().Key("among_best").Bool(run.among_best);
      json.Key("predicted_step_seconds").Number(run.predicted);
      json.Key("step_seconds").Number(run.measured);
      json.Key("predicted_rank").Integer(run.predicted_rank);
      json.Key("measured_rank").Integer(run.measured_rank);
      json.Key("rounds").BeginArray();
      for (const double seconds : run.rounds) json.Number(seconds);
      json.EndArray().Key("raw_rounds").BeginArray();
      for (const double seconds : run.raw_rounds) json.Number(seconds);
      json.EndArray().Key("plan");
      WritePlan(run.plan, json);
      json.EndObject();
    }
    json.EndArray().EndObject();
  }
  json.EndArray().EndObject();
  return std::move(json).Finish();
}

}  // namespace horizon
