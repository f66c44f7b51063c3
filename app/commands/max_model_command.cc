#include <string>
#include <utility>
#include <vector>

#include "app/commands/commands.h"
#include "app/options/job_options.h"
#include "app/options/planning_options.h"
#include "common/status_macros.h"
#include "planner/largest_model.h"
#include "planner/plan_report.h"
#include "planner/profile/calibration.h"

namespace horizon {
namespace {

class MaxModelCommand : public Command {
 public:
  std::string_view name() const override { return "max-model"; }
  CommandGroup group() const override { return CommandGroup::kPlan; }
  std::string_view summary() const override {
    return "Find the largest model a machine can train, and what to buy next";
  }
  std::string_view details() const override {
    return "By depth: layers are added at the width of the family's largest size that fits. The\n"
           "batch is proposed for speed. Purchases double one part of the machine each; their\n"
           "tokens/s are of today's largest model.\n";
  }
  OptionList Options() override {
    OptionList list{.options = {MachineOption(&machine_),
                                {.name = "family",
                                 .value = &family_,
                                 .unit = "family",
                                 .help = "Model family whose shapes are tried",
                                 .choices = ModelFamilyNames()}}};
    job_.batch = "auto";
    job_.AddTo(list);
    std::erase_if(list.options, [](const Option& option) { return option.name == "batch"; });
    overrides_.AddTo(list);
    list.options.push_back({.name = "json", .value = &json_, .help = "Answer in JSON"});
    return list;
  }

  absl::Status Run(const CommandContext& context) override {
    LargestRequest request{.family = family_, .margin = job_.margin()};
    ASSIGN_OR_RETURN(request.profile, overrides_.Load(context, machine_));
    ASSIGN_OR_RETURN(request.strategy, job_.ReadStrategy());
    ASSIGN_OR_RETURN(request.job, job_.Read(context.io, "", nullptr, request.profile));
    if (job_.proposes_state()) {
      return absl::InvalidArgumentError(
          "--state auto has no meaning here, since every format has its own largest model: name "
          "one");
    }
    request.software = BuiltInCalibration().SoftwareOf(request.strategy, request.profile);
    ASSIGN_OR_RETURN(const LargestModels largest, FindLargestModels(context.io, request));
    ASSIGN_OR_RETURN(const std::vector<Purchase> purchases,
                     ComparePurchases(context.io, request, largest));
    const LargestReport report{
        .profile = request.profile, .largest = largest, .purchases = purchases};
    RETURN_IF_ERROR(
        context.output.Write(json_ ? LargestReportJson(report) : LargestReportText(report)));
    if (largest.by_depth.has_value()) return absl::OkStatus();
    return absl::FailedPreconditionError("nothing of this family fits; the answer says what lacks");
  }

 private:
  std::string machine_ = kThisMachine;
  std::string family_ = "qwen2.5";
  PlanJobOptions job_;
  OverrideOptions overrides_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeMaxModelCommand() { return std::make_unique<MaxModelCommand>(); }

}  // namespace horizon
