#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/commands/commands.h"
#include "app/options/device_option.h"
#include "app/this_machine.h"
#include "common/progress_line.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "experiments/measured/plan_ranks.h"
#include "experiments/measured/validation.h"

namespace horizon {
namespace {

class ValidateCommand : public Command {
 public:
  std::string_view name() const override { return "validate"; }
  std::string_view summary() const override {
    return "Make a set of runs on this machine and tell how far predictions are off";
  }
  std::string_view details() const override {
    return "Small models with different shapes, ring sizes, checkpoint intervals, sequence lengths "
           "and link limits are predicted from the profile of this machine, and then trained for "
           "some steps on device host. The answer compares predicted and measured step time, peak "
           "memory and arena. Other work on the machine shows in the answer.\n"
           "\n"
           "With --ranks, it checks whether the plans that the search finds are the fastest: small "
           "models with limited arena and link run the plans predicted fastest and others, and the "
           "answer shows predicted beside measured rank.";
  }
  OptionList Options() override {
    return {
        .options = {{.name = "quick", .value = &quick_, .help = "Make four runs instead of all"},
                    {.name = "ranks",
                     .value = &ranks_,
                     .help = "Compare the predicted order of plans with the measured one"},
                    {.name = "only",
                     .value = &only_,
                     .unit = "text",
                     .help = "Make only the runs (with --ranks: cases) whose name contains this"},
                    {.name = "steps",
                     .value = &steps_,
                     .unit = "steps",
                     .help = "Steps of each run, in bursts of five of which the first is not "
                             "measured (default 40, with --quick 15, with --ranks 5)",
                     .minimum = 2,
                     .maximum = 1000},
                    {.name = "machine",
                     .value = &machine_,
                     .unit = "file",
                     .help = "Profile to predict from (default the one measured here)",
                     .words = WordKind::kMachine},
                    {.name = "beside",
                     .value = &beside_,
                     .unit = "file",
                     .help = "Second profile to predict from; the answer compares both",
                     .words = WordKind::kMachine},
                    {.name = "json", .value = &json_, .help = "Answer in JSON"}}};
  }

  absl::Status Run(const CommandContext& context) override {
    ASSIGN_OR_RETURN(const HardwareProfile profile, HostProfile(context, "--machine", machine_));
    std::optional<HardwareProfile> other;
    if (beside_.has_value()) {
      ASSIGN_OR_RETURN(other, HostProfile(context, "--beside", beside_));
    }
    const MeasuredOptions options{.io = context.io,
                                  .clock = context.clock,
                                  .profile = profile,
                                  .other = other.has_value() ? &*other : nullptr,
                                  .steps = steps_.value_or(ranks_   ? 5
                                                           : quick_ ? 15
                                                                    : 40),
                                  .burst_time = Seconds{ranks_   ? 0
                                                        : quick_ ? 1
                                                                 : 2.0},
                                  .speed_time = Seconds{ranks_ ? 0.5 : 1.2}};
    if (ranks_) return CompareRanks(context, options);
    std::vector<MeasuredCase> cases = ValidationCases(
        quick_ ? ValidationSize::kQuick : ValidationSize::kFull, profile.host.cores);
    RETURN_IF_ERROR(KeepNamed(cases));
    std::optional<ProgressLine> line(std::in_place, context.log, context.clock);
    ASSIGN_OR_RETURN(Validation validation, Validate(cases, options, [&](const std::string& name) {
                       line->Show({{StrCat("running: ", name)}});
                     }));
    line.reset();
    validation.other = beside_.value_or("");
    return context.output.Write(json_ ? validation.Json() : validation.Text());
  }

 private:
  static absl::StatusOr<HardwareProfile> HostProfile(const CommandContext& context,
                                                     const std::string& option,
                                                     const std::optional<std::string>& machine) {
    ASSIGN_OR_RETURN(HardwareProfile profile,
                     ProfileForRun(context, ChosenDevice{}, option, machine));
    if (profile.device.kind == DeviceKind::kHost) return profile;
    return absl::InvalidArgumentError(
        StrCat(option, " ", *machine, " has a GPU; these runs are made on device host"));
  }

  template <typename Case>
  absl::Status KeepNamed(std::vector<Case>& cases) const {
    std::erase_if(cases,
                  [&](const Case& each) { return each.name.find(only_) == std::string::npos; });
    if (!cases.empty()) return absl::OkStatus();
    return absl::InvalidArgumentError(StrCat("--only ", only_, ": no run has that in its name"));
  }

  absl::Status CompareRanks(const CommandContext& context, const MeasuredOptions& options) const {
    std::optional<ProgressLine> line(std::in_place, context.log, context.clock);
    const auto on_case = [&](const std::string& name) {
      line->Show({{StrCat("running the plans of: ", name)}});
    };
    std::vector<RankLimits> cases = RankCases(quick_ ? RankSize::kQuick : RankSize::kFull);
    RETURN_IF_ERROR(KeepNamed(cases));
    ASSIGN_OR_RETURN(const PlanRanks ranks,
                     MeasurePlanRanks(cases, {.measured = options, .on_case = on_case}));
    line.reset();
    return context.output.Write(json_ ? ranks.Json() : ranks.Text());
  }

  bool quick_ = false;
  bool ranks_ = false;
  std::string only_;
  std::optional<int64_t> steps_;
  std::optional<std::string> machine_;
  std::optional<std::string> beside_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeValidateCommand() { return std::make_unique<ValidateCommand>(); }

}  // namespace horizon
