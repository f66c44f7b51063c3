#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "app/commands/commands.h"
#include "app/options/device_option.h"
#include "app/this_machine.h"
#include "common/documents/json.h"
#include "common/status_macros.h"
#include "common/text/percent.h"
#include "common/text/str_cat.h"
#include "common/text/text_table.h"
#include "common/units.h"
#include "planner/machines/machine_catalog.h"
#include "planner/profile/refit_profile.h"
#include "report/run_view.h"

namespace horizon {
namespace {

std::string TextOf(const Refit& refit) {
  TextTable groups({"rates", "operations", "measured / predicted", "quartiles", "corrected"});
  for (const GroupFit& fit : refit.groups) {
    groups.AddRow({std::string(DescribeGroup(fit.group)), StrCat(fit.operations),
                   absl::StrFormat("%.3f", fit.ratio),
                   absl::StrFormat("%.3f to %.3f", fit.first_quartile, fit.third_quartile),
                   fit.corrected ? "yes" : "no"});
  }
  TextTable runs({"run", "measured", "before", "error", "after", "error"});
  for (const RunFit& run : refit.runs) {
    const auto seconds = [](double value) { return StrCat(ShortNumber(value), " s"); };
    runs.AddRow({run.name, seconds(run.measured), seconds(run.before),
                 PercentChange(run.measured / run.before - 1), seconds(run.after),
                 PercentChange(run.measured / run.after - 1)});
  }
  return StrCat(std::move(groups).Finish(), "\nsteps bound by compute took ",
                absl::StrFormat("%.3f", refit.beyond_operations),
                " times what their operations come to: compute is corrected by that too\n",
                "corrected is what has its quartiles (of the runs, or of one run's operations) on "
                "one side of 1\n\n",
                std::move(runs).Finish());
}

std::string JsonOf(const Refit& refit, const std::string& kept) {
  JsonWriter json;
  json.BeginObject().Key("groups").BeginArray();
  for (const GroupFit& fit : refit.groups) {
    json.BeginObject().Key("group").String(DescribeGroup(fit.group));
    json.Key("operations").Integer(fit.operations).Key("ratio").Number(fit.ratio);
    json.Key("first_quartile").Number(fit.first_quartile);
    json.Key("third_quartile").Number(fit.third_quartile);
    json.Key("corrected").Bool(fit.corrected).EndObject();
  }
  json.EndArray().Key("beyond_operations").Number(refit.beyond_operations);
  json.Key("runs").BeginArray();
  for (const RunFit& run : refit.runs) {
    json.BeginObject().Key("run").String(run.name).Key("step_seconds").Number(run.measured);
    json.Key("predicted_before").Number(run.before).Key("predicted_after").Number(run.after);
    json.EndObject();
  }
  json.EndArray().Key("profile").String(kept).EndObject();
  return std::move(json).Finish();
}

class CalibrateCommand : public Command {
 public:
  std::string_view name() const override { return "calibrate"; }
  std::string_view summary() const override {
    return "Correct the profile of this machine with the times of real runs";
  }
  std::string_view details() const override {
    return "A profile measures each kernel alone. In a run, kernels follow one another with cold "
           "caches and share the machine with other lanes. This command compares the times that "
           "operations took in your runs with what the simulator predicts from the profile, and "
           "corrects the rates by the medians, where the runs agree.\n"
           "\n"
           "The answer shows every correction with its spread, and the predicted step times before "
           "and after. The corrected profile replaces the cached one, unless --output names "
           "another place.";
  }
  OptionList Options() override {
    return {
        .options =
            {DeviceOption(device_),
             {.name = "machine",
              .value = &machine_,
              .unit = "file",
              .help = "Profile to correct (default the cached one of this machine); needs --output",
              .words = WordKind::kMachine},
             {.name = "output",
              .value = &output_,
              .unit = "file",
              .help = "Write the corrected profile to this file and leave the cached one alone"},
             {.name = "json", .value = &json_, .help = "Answer in JSON"}},
        .positionals = {
            {.name = "RUN",
             .value = &folders_,
             .help =
                 "Run folder that `train` wrote on this machine; more runs make better corrections",
             .words = WordKind::kFolder}}};
  }

  absl::Status Run(const CommandContext& context) override {
    if (folders_.empty()) {
      return absl::InvalidArgumentError(
          "name at least one run folder: what `horizon train --output` wrote");
    }
    if (machine_.has_value() && !output_.has_value()) {
      return absl::InvalidArgumentError(
          "--machine corrects a file's profile: --output FILE says where to");
    }
    ASSIGN_OR_RETURN(const ChosenDevice device, ChooseDevice(context, device_));
    HardwareProfile base;
    if (machine_.has_value()) {
      ASSIGN_OR_RETURN(base, LoadMachine(context.io, *machine_));
    } else {
      ASSIGN_OR_RETURN(base, ProfileOfThisMachine(context, device));
    }
    std::vector<RunView> views;
    for (const std::string& folder : folders_) {
      ASSIGN_OR_RETURN(views.emplace_back(), ReadRun(context.io, folder));
      RETURN_IF_ERROR(CheckRun(views.back(), base));
    }
    const Refit refit = RefitProfile(base, EvidenceOf(views));
    ASSIGN_OR_RETURN(const std::string kept, Keep(context, refit.profile));
    return context.output.Write(json_ ? JsonOf(refit, kept)
                                      : StrCat(TextOf(refit), "\ncorrected profile: ", kept, "\n"));
  }

 private:
  static absl::Status CheckRun(const RunView& view, const HardwareProfile& base) {
    if (!view.timelines.has_value() || view.timelines->mean_ns.empty() ||
        !OutcomeSoFar(view).has_value()) {
      return absl::FailedPreconditionError(StrCat(
          view.folder, " says nothing of how long operations take: train two steps or more"));
    }
    if (view.machine.device.kind != base.device.kind) {
      return absl::FailedPreconditionError(
          StrCat(view.folder, " was made on device ", ToString(view.machine.device.kind),
                 ", the profile is of device ", ToString(base.device.kind),
                 ": name runs of that device, or another --device"));
    }
    if (view.machine.measured_on.has_value() && base.measured_on.has_value()) {
      const std::string differs =
          DifferenceOf(base.measured_on->hardware, view.machine.measured_on->hardware);
      if (!differs.empty()) {
        return absl::FailedPreconditionError(
            StrCat(view.folder, " was made on another machine than the profile: ", differs));
      }
    }
    return absl::OkStatus();
  }

  static std::vector<RunEvidence> EvidenceOf(const std::vector<RunView>& views) {
    std::vector<RunEvidence> runs;
    for (const RunView& view : views) {
      runs.push_back({.name = view.folder,
                      .spec = view.spec,
                      .schedule = view.schedule,
                      .machine = view.machine,
                      .software = view.prediction.software,
                      .durations = view.timelines->mean_ns,
                      .step_seconds = OutcomeSoFar(view)->step_seconds.measured});
      if (view.outcome.has_value() && view.outcome->speed_change.has_value()) {
        const SpeedChange& change = *view.outcome->speed_change;
        runs.back().speed_change = {.gemm = change.gemm, .memory = change.memory};
      }
    }
    return runs;
  }

  absl::StatusOr<std::string> Keep(const CommandContext& context, const HardwareProfile& profile) {
    if (!output_.has_value()) return CacheMachineProfile(context, profile);
    RETURN_IF_ERROR(WriteTextFile(context.io, *output_, WriteProfile(profile)));
    return *output_;
  }

  std::string device_ = "auto";
  std::optional<std::string> machine_;
  std::optional<std::string> output_;
  std::vector<std::string> folders_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeCalibrateCommand() { return std::make_unique<CalibrateCommand>(); }

}  // namespace horizon
