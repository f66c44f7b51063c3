#include "experiments/measured/measured_experiment.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/statistics.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "experiments/measured/measured_run.h"
#include "model/stages.h"
#include "schedule/build/build_schedule.h"
#include "schedule/check_runnable.h"
#include "schedule/lay_out_memory.h"
#include "simulator/bounds.h"
#include "simulator/cost_model.h"

namespace horizon {
namespace {

constexpr Seconds kSpeedTime{0.6};  // short, since there are many short runs

absl::Status Named(const absl::Status& status, const MeasuredConfig& config,
                   const std::string& row) {
  return absl::Status(status.code(),
                      StrCat(config.name, ", ", row, ": ", std::string(status.message())));
}

// Compute uses the cores there are unless the plan says how many.
StreamPlan PlanHere(const StreamPlan& plan, const HardwareProfile& profile) {
  StreamPlan here = plan;
  if (plan.compute_threads == StreamPlan().compute_threads) {
    here.compute_threads = profile.host.cores;
  }
  return here;
}

absl::StatusOr<std::vector<MeasuredCase>> CasesOf(const MeasuredConfig& config,
                                                  const HardwareProfile& profile) {
  std::vector<MeasuredCase> cases;
  std::optional<BytesPerSecond> link;
  for (const MeasuredRowConfig& row : config.rows) {
    MeasuredCase& made = cases.emplace_back(
        MeasuredCase{.name = row.name, .spec = ModelOf(row.model), .job = row.job});
    made.plan = PlanHere(row.plan, profile);
    made.burst_steps = config.burst_steps;
    const absl::Status runnable = CheckRunnable(made.spec, made.job, made.plan);
    if (!runnable.ok()) return Named(runnable, config, row.name);
    const absl::StatusOr<Schedule> schedule = BuildSchedule(made.spec, made.job, made.plan);
    if (!schedule.ok()) return Named(schedule.status(), config, row.name);
    const Bytes needed = schedule->memory.totals[static_cast<size_t>(Memory::kDevice)];
    if (config.arena.has_value() && needed > *config.arena) {
      return Named(absl::FailedPreconditionError(
                       StrCat("needs an arena of ", ToString(needed), ", measured.json gives ",
                              ToString(*config.arena), ": give more, or a plan that needs less")),
                   config, row.name);
    }
    if (config.load_to_compute.has_value() && !link.has_value()) {
      absl::StatusOr<BytesPerSecond> found = LinkForShare(made, profile, *config.load_to_compute);
      if (!found.ok()) return Named(found.status(), config, row.name);
      link = *found;
    }
    if (row.link_limited) made.link = link;
  }
  return cases;
}

void AddRound(MeasuredRun run, MeasuredRow& row) {
  const bool first = row.round_seconds.empty();
  row.round_seconds.push_back(run.step_at_usual_speed());
  row.raw_seconds.push_back(run.step_seconds());
  row.seconds = Median(row.round_seconds);
  // A prediction of a round differs from another's by what the process has taken before.
  if (first || run.host_peak_bytes > row.host_bytes) {
    row.host_bytes = run.host_peak_bytes;
    row.simulated_host_bytes = run.predicted_host_bytes;
  }
  row.operations = run.prediction.operations;
  row.simulated_seconds = run.usual_step_seconds;
  row.arena_bytes = run.arena_bytes;
  row.device_bytes = run.device_peak_bytes;
  row.h2d_bytes = run.h2d_bytes;
  row.d2h_bytes = run.d2h_bytes;
  if (first) row.losses = std::move(run.losses);
}

}  // namespace

absl::StatusOr<BytesPerSecond> LinkForShare(const MeasuredCase& wanted,
                                            const HardwareProfile& profile, double share) {
  ASSIGN_OR_RETURN(const Schedule schedule, BuildSchedule(wanted.spec, wanted.job, wanted.plan));
  const CostModel costs(wanted.spec, schedule.job, schedule.plan, schedule.chunks, profile);
  const std::vector<Overlap> overlaps = ForwardOverlaps(schedule, costs);
  if (overlaps.empty()) {
    return absl::FailedPreconditionError(
        "the link cannot be set against compute: this plan streams fewer than two layers");
  }
  const Overlap& layer = overlaps.front();
  const double bytes =
      static_cast<double>(BytesOfParameter(wanted.job).link) *
      static_cast<double>(schedule.chunks.chunks[static_cast<size_t>(layer.chunk)].parameters);
  return BytesPerSecond{bytes /
                        (share * static_cast<double>(layer.previous_compute_nanoseconds) * 1e-9)};
}

absl::StatusOr<MeasuredExperiment> RunMeasuredExperiment(const MeasuredConfig& config,
                                                         std::vector<PublishedRow> published,
                                                         const MeasuredSetting& setting) {
  ASSIGN_OR_RETURN(const std::vector<MeasuredCase> cases, CasesOf(config, setting.profile));
  MeasuredExperiment experiment{.config = config, .published = std::move(published)};
  for (size_t i = 0; i < cases.size(); ++i) {
    experiment.rows.push_back({.config = config.rows[i],
                               .link = cases[i].link,
                               .parameters = CountParameters(ListStages(cases[i].spec)).total});
  }
  for (int64_t round = 0; round < config.rounds; ++round) {
    for (size_t place = 0; place < cases.size(); ++place) {
      const size_t i = round % 2 == 0 ? place : cases.size() - 1 - place;
      if (setting.on_run) {
        setting.on_run(
            StrCat(config.name, ", round ", round + 1, " of ", config.rounds, ": ", cases[i].name));
      }
      absl::StatusOr<MeasuredRun> run = RunMeasured(cases[i], {.io = setting.io,
                                                               .clock = setting.clock,
                                                               .profile = setting.profile,
                                                               .steps = config.steps,
                                                               .speed_time = kSpeedTime});
      if (!run.ok()) return Named(run.status(), config, cases[i].name);
      AddRound(*std::move(run), experiment.rows[i]);
    }
  }
  return experiment;
}

double MeasuredRow::GflopsAt(double step_seconds) const {
  return 6e-9 * static_cast<double>(parameters) * static_cast<double>(tokens()) / step_seconds;
}

const MeasuredRow* MeasuredExperiment::Find(const std::string& name) const {
  for (const MeasuredRow& row : rows) {
    if (row.config.name == name) return &row;
  }
  return nullptr;
}

std::optional<double> MeasuredExperiment::SimulatedChange(const MeasuredRow& row) const {
  const MeasuredRow* base = Find(row.config.compared_with);
  if (base == nullptr) return std::nullopt;
  return row.GflopsAt(row.simulated_seconds) / base->GflopsAt(base->simulated_seconds) - 1;
}

std::optional<double> MeasuredExperiment::MeasuredChange(const MeasuredRow& row) const {
  const MeasuredRow* base = Find(row.config.compared_with);
  if (base == nullptr) return std::nullopt;
  return row.GflopsAt(row.seconds) / base->GflopsAt(base->seconds) - 1;
}

const PublishedRow* MeasuredExperiment::PublishedOf(const MeasuredRow& row) const {
  for (const PublishedRow& each : published) {
    if (each.id == row.config.published_row && each.system == "megatrain" &&
        each.metric == Metric::kTflops && each.published.has_value()) {
      return &each;
    }
  }
  return nullptr;
}

std::optional<double> MeasuredExperiment::PublishedChange(const MeasuredRow& row) const {
  const MeasuredRow* base = Find(row.config.compared_with);
  if (base == nullptr) return std::nullopt;
  const PublishedRow* theirs = PublishedOf(row);
  const PublishedRow* their_base = PublishedOf(*base);
  if (theirs == nullptr || their_base == nullptr) return std::nullopt;
  return *theirs->published / *their_base->published - 1;
}

std::vector<HostLine> MeasuredExperiment::HostLines() const {
  std::vector<HostLine> lines;
  if (!config.fit_host_memory) return lines;
  std::vector<std::string> words;
  for (const MeasuredRow& row : rows) {
    if (std::find(words.begin(), words.end(), row.config.line) == words.end()) {
      words.push_back(row.config.line);
    }
  }
  for (const std::string& word : words) {
    std::vector<std::pair<double, double>> simulated, measured;
    for (const MeasuredRow& row : rows) {
      if (row.config.line != word) continue;
      const auto x = static_cast<double>(row.parameters);
      simulated.emplace_back(x, static_cast<double>(row.simulated_host_bytes));
      measured.emplace_back(x, static_cast<double>(row.host_bytes));
    }
    const std::optional<LineFit> ours = FitLine(simulated);
    if (!ours.has_value()) continue;
    lines.push_back({.line = word, .simulated = *ours, .measured = *FitLine(measured)});
  }
  return lines;
}

double MeasuredExperiment::median_error() const {
  std::vector<double> errors;
  for (const MeasuredRow& row : rows) errors.push_back(std::abs(row.step_error()));
  return Median(std::move(errors));
}

double MeasuredExperiment::worst_error() const {
  double worst = 0;
  for (const MeasuredRow& row : rows) worst = std::max(worst, std::abs(row.step_error()));
  return worst;
}

std::vector<std::string> MeasuredHalf::Violations() const {
  std::vector<std::string> violations;
  for (const MeasuredExperiment& experiment : experiments) {
    for (const std::string& violation : experiment.Violations()) {
      violations.push_back(StrCat(experiment.config.name, ", ", violation));
    }
  }
  return violations;
}

std::vector<std::string> MeasuredExperiment::Violations() const {
  std::vector<std::string> violations;
  const auto add = [&](const MeasuredRow& row, const std::string& what) {
    violations.push_back(StrCat(row.config.name, ": ", what));
  };
  for (const MeasuredRow& row : rows) {
    if (const MeasuredRow* twin = Find(row.config.losses_as);
        twin != nullptr && twin->losses != row.losses) {
      add(row, StrCat("losses are not those of ", twin->config.name, ", bit for bit"));
    }
    if (row.device_bytes != row.arena_bytes) {
      add(row, StrCat("the arena has ", row.arena_bytes.value(), " bytes, ",
                      row.device_bytes.value(), " were used"));
    }
    if (config.constant_arena && row.arena_bytes != rows.front().arena_bytes) {
      add(row, StrCat("the arena has ", row.arena_bytes.value(), " bytes, that of ",
                      rows.front().config.name, " ", rows.front().arena_bytes.value()));
    }
    if (row.host_bytes > row.simulated_host_bytes) {
      add(row, StrCat("host memory reached ", ToString(row.host_bytes), ", above the predicted ",
                      ToString(row.simulated_host_bytes)));
    }
  }
  return violations;
}

}  // namespace horizon
