#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_join.h"
#include "app/commands/commands.h"
#include "app/options/device_option.h"
#include "app/this_machine.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "experiments/accuracy/accuracy.h"
#include "experiments/accuracy/accuracy_report.h"
#include "experiments/claims.h"
#include "experiments/experiment.h"
#include "experiments/measured/measured_config.h"
#include "experiments/measured/measured_experiment.h"
#include "experiments/measured/measured_tables.h"
#include "experiments/run_experiments.h"
#include "experiments/summary/report_json.h"
#include "experiments/summary/summary_rows.h"
#include "experiments/summary/write_report.h"
#include "planner/machines/machine_catalog.h"
#include "planner/profile/calibration.h"

namespace horizon {
namespace {

// Always measured, and by itself.
constexpr std::string_view kAccuracy = "accuracy";

std::string DetailsText() {
  std::string text =
      "Writes report.html, which needs only a browser, with all tables as CSV and all charts as "
      "SVG "
      "beside it. The exit code is 1 if an error is larger than the bound in its experiment's "
      "config.json. The experiments:\n";
  for (const std::string& name : ExperimentNames()) text += StrCat("  ", name, "\n");
  text +=
      "\nWith --measured, it also makes runs on this machine, which take minutes, and shows their "
      "measured times beside those simulated from its profile. The exit code is 1 if losses "
      "differ, "
      "an arena is not exact or host memory was above the prediction. Measured are:\n";
  for (const std::string& name : MeasuredNames()) text += StrCat("  ", name, "\n");
  text +=
      "\nOne more experiment is measured, takes minutes and runs only when it is named:\n"
      "  accuracy   Trains small models on word problems, streamed and resident, and compares "
      "their answers; the exit code is 1 if a bit differs or nothing was learnt. Writes "
      "accuracy.html, accuracy.csv and the problems.\n";
  return text;
}

class ExperimentsCommand : public Command {
 public:
  std::string_view name() const override { return "experiments"; }
  std::string_view summary() const override {
    return "Simulate the paper's experiments, compare with its figures and write a report";
  }
  std::string_view details() const override { return details_; }
  OptionList Options() override {
    return {
        .options =
            {{.name = "output",
              .value = &output_,
              .unit = "folder",
              .help = "Folder for the report; it is created if it is missing"},
             {.name = "measured",
              .value = &measured_,
              .help = "Also run the measured half of the experiments on this machine"},
             {.name = "machine",
              .value = &machine_,
              .unit = "file",
              .help = "With --measured: profile to simulate with (default the one measured here)",
              .words = WordKind::kMachine},
             {.name = "seeds",
              .value = &seeds_,
              .unit = "seeds",
              .help = "With accuracy: number of models trained for each row (default 3)",
              .minimum = 1,
              .maximum = 100},
             {.name = "quick",
              .value = &quick_,
              .help =
                  "With accuracy or --measured: tiny models and few steps, to see that it works"},
             {.name = "json", .value = &json_, .help = "Answer in JSON, with all rows"}},
        .positionals = {{.name = "NAME",
                         .value = &names_,
                         .help = "Experiment of the lists above (default all but accuracy)"}}};
  }

  absl::Status Run(const CommandContext& context) override {
    if (std::find(names_.begin(), names_.end(), kAccuracy) != names_.end()) {
      if (names_.size() == 1 && !measured_) return MeasureAccuracy(context);
      return absl::InvalidArgumentError(
          "accuracy is measured and cannot share a run with simulated experiments; name it alone");
    }
    if (seeds_.has_value() || (!measured_ && (quick_ || machine_.has_value()))) {
      return absl::InvalidArgumentError(
          "--quick and --machine are for --measured and `horizon experiments accuracy`, --seeds "
          "for the latter; the others are simulated");
    }
    const Calibration& calibration = BuiltInCalibration();
    MeasuredHalf measured;
    std::vector<ExperimentRun> runs;
    if (measured_) {
      ASSIGN_OR_RETURN(measured, Measure(context));
    }
    const std::vector<std::string> simulated = SimulatedNames();
    if (names_.empty() || !simulated.empty()) {
      ASSIGN_OR_RETURN(runs, RunExperiments(context.io, simulated, calibration));
    }
    const std::vector<Claim> claims = CheckClaims(runs);
    RETURN_IF_ERROR(
        WriteReport(context.io, output_, MakeReport(runs, claims, calibration, measured)));
    const std::string report = JoinPath(output_, "report.html");
    RETURN_IF_ERROR(context.output.Write(
        json_ ? ReportJson(runs, claims, report, measured)
              : AnswerText(runs, claims, measured, report, context.answer_columns())));
    return Verdict(ViolationsOf(runs), measured.Violations());
  }

 private:
  // Those of the names given that have a simulated half.
  std::vector<std::string> SimulatedNames() const {
    if (!measured_) return names_;
    const std::vector<std::string> known = ExperimentNames();
    std::vector<std::string> names;
    for (const std::string& name : names_) {
      if (std::find(known.begin(), known.end(), name) != known.end()) names.push_back(name);
    }
    return names;
  }

  static absl::Status Verdict(const std::vector<std::string>& bounds,
                              const std::vector<std::string>& measured) {
    std::string text;
    if (!bounds.empty()) {
      text += StrCat("errors have grown past the bounds of experiments/NAME/config.json:\n  ",
                     absl::StrJoin(bounds, "\n  "));
    }
    if (!measured.empty()) {
      text += StrCat(text.empty() ? "" : "\n", "runs on this machine are not as they must be:\n  ",
                     absl::StrJoin(measured, "\n  "));
    }
    return text.empty() ? absl::OkStatus() : absl::OutOfRangeError(text);
  }

  absl::StatusOr<MeasuredHalf> Measure(const CommandContext& context) {
    ASSIGN_OR_RETURN(
        const std::vector<MeasuredConfig> configs,
        LoadMeasuredConfigs(names_, quick_ ? MeasuredSize::kQuick : MeasuredSize::kFull));
    ASSIGN_OR_RETURN(const std::vector<Experiment> published, LoadExperiments());
    HardwareProfile profile;
    if (machine_.has_value()) {
      ASSIGN_OR_RETURN(profile, LoadMachine(context.io, *machine_));
    } else {
      ASSIGN_OR_RETURN(profile, ProfileOfThisMachine(context, ChosenDevice{}));
    }
    if (profile.device.kind != DeviceKind::kHost) {
      return absl::InvalidArgumentError(
          StrCat("--machine ", *machine_, " has a GPU; these runs are made on device host"));
    }
    // Before minutes are spent: the folder is made, or refused.
    RETURN_IF_ERROR(WriteReport(context.io, output_, {}));
    MeasuredHalf half{.machine = profile.name};
    for (const MeasuredConfig& config : configs) {
      std::vector<PublishedRow> rows;
      for (const Experiment& experiment : published) {
        if (experiment.name == config.name) rows = experiment.rows;
      }
      ASSIGN_OR_RETURN(half.experiments.emplace_back(),
                       RunMeasuredExperiment(
                           config, std::move(rows),
                           {.io = context.io,
                            .clock = context.clock,
                            .profile = profile,
                            .on_run = [&](const std::string& run) { context.log.Info(run); }}));
    }
    return half;
  }

  absl::Status MeasureAccuracy(const CommandContext& context) {
    AccuracyOptions options = quick_ ? QuickAccuracy() : AccuracyOptions();
    options.folder = output_;
    options.seeds = seeds_.value_or(options.seeds);
    options.threads = std::clamp<int64_t>(std::thread::hardware_concurrency(), 1, 64);
    options.on_progress = [&](std::string_view news) { context.log.Info(news); };
    ASSIGN_OR_RETURN(const std::vector<PublishedAccuracy> published, LoadPublishedAccuracy());
    // Before minutes are spent: the folder is made, or refused.
    RETURN_IF_ERROR(WriteReport(context.io, output_, {}));
    ASSIGN_OR_RETURN(const AccuracyResult result, RunAccuracy(options, context.io, context.clock));
    RETURN_IF_ERROR(WriteReport(context.io, output_, AccuracyFiles(result, published)));
    const std::string report = JoinPath(output_, "accuracy.html");
    RETURN_IF_ERROR(context.output.Write(
        json_ ? AccuracyJson(result, report)
              : AccuracyText(result, published, report, context.answer_columns())));
    const std::vector<std::string> violations = AccuracyViolations(result);
    if (violations.empty()) return absl::OkStatus();
    return absl::OutOfRangeError(
        StrCat("the accuracy experiment failed:\n  ", absl::StrJoin(violations, "\n  ")));
  }

  static std::string AnswerText(const std::vector<ExperimentRun>& runs,
                                const std::vector<Claim>& claims, const MeasuredHalf& measured,
                                const std::string& report, size_t columns) {
    std::string text = runs.empty() ? "" : SummaryText(runs, columns);
    if (!claims.empty()) text += StrCat("\n", ClaimsText(claims, columns));
    if (measured.experiments.empty()) {
      return StrCat(text, "\nAll simulated, nothing measured. Report: ", report, "\n");
    }
    if (!text.empty()) text += "\nAll of the above is simulated. Runs on this machine:\n\n";
    for (const MeasuredExperiment& experiment : measured.experiments) {
      text += StrCat(MeasuredText(experiment, columns), "\n");
    }
    return StrCat(text, "simulated: from this machine's profile (", measured.machine,
                  ")\nby: the change of throughput from the row compared with; host: peak memory\n",
                  "Report: ", report, "\n");
  }

  // Kept here because details() gives out a view.
  const std::string details_ = DetailsText();
  std::vector<std::string> names_;
  std::string output_ = "horizon-experiments";
  std::optional<int64_t> seeds_;
  bool quick_ = false;
  bool measured_ = false;
  std::optional<std::string> machine_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeExperimentsCommand() { return std::make_unique<ExperimentsCommand>(); }

}  // namespace horizon
