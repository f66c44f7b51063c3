#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/commands/commands.h"
#include "app/options/job_options.h"
#include "app/options/planning_options.h"
#include "app/options/run_length_options.h"
#include "common/files/io.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "model/load_model_spec.h"
#include "planner/explain_plan.h"
#include "planner/find_gains.h"
#include "planner/find_limits.h"
#include "planner/machines/machine_catalog.h"
#include "planner/make_plan.h"
#include "planner/plan_files.h"
#include "planner/plan_report.h"
#include "planner/planned_job.h"
#include "planner/profile/calibration.h"
#include "planner/set_plan_field.h"
#include "planner/sweep_plan.h"
#include "report/sweep_page.h"

namespace horizon {
namespace {

// The answer itself says what lacks: an error is told once.
absl::Status DoesNotFit(const ModelSpec& spec, const HardwareProfile& profile) {
  return absl::FailedPreconditionError(
      StrCat(spec.name, " does not fit on ", profile.name,
             "; the answer lists what lacks and what would make it fit"));
}

class PlanCommand : public Command {
 public:
  std::string_view name() const override { return "plan"; }
  CommandGroup group() const override { return CommandGroup::kPlan; }
  std::string_view summary() const override {
    return "Find the fastest plan that fits a machine, and predict what it would do";
  }
  std::string_view details() const override {
    return "Searches the fields of the plan; --set fixes some of them. With auto the planner also\n"
           "proposes job fields, which change the numbers of a run and are marked as proposals.\n"
           "A limit is a part of the machine of which more would make a step shorter.\n"
           "A model that does not fit is exit code 3, with what would make it fit.\n";
  }
  OptionList Options() override {
    OptionList list{.options = {ModelOption(&model_), MachineOption(&machine_),
                                RopeScalingOption(&rope_scaling_)}};
    job_.AddTo(list);
    length_.AddTo(list);
    overrides_.AddTo(list);
    list.options.push_back({.name = "set",
                            .value = &set_,
                            .unit = "field=value",
                            .help = "Fix a field of the plan, such as K=4, depth=3, slabs=2 or "
                                    "chunk_bytes=256MiB; the others are searched",
                            .group = "Plan"});
    list.options.push_back(
        {.name = "output",
         .value = &output_,
         .unit = "file",
         .help = "Write the plan to this file (plan.json) and the job beside it (plan.job.json)"});
    list.options.push_back({.name = "sweep",
                            .value = &sweep_,
                            .unit = "field",
                            .help = "Plan for several values and show a table: batch, sequence, or "
                                    "values of one of them (batch=1,2,4); --output then writes a "
                                    "page in HTML",
                            .group = "Plan"});
    list.options.push_back({.name = "explain",
                            .value = &explain_,
                            .help = "Show what each choice of the plan gains over its neighbours, "
                                    "and what other jobs and machines would gain"});
    list.options.push_back({.name = "json", .value = &json_, .help = "Answer in JSON"});
    return list;
  }

  absl::Status Run(const CommandContext& context) override {
    ASSIGN_OR_RETURN(const ModelConfig config, LoadModelSpec(context.io, model_, rope_scaling_));
    ASSIGN_OR_RETURN(const HardwareProfile profile, overrides_.Load(context, machine_));
    ASSIGN_OR_RETURN(const Strategy strategy, job_.ReadStrategy());
    ASSIGN_OR_RETURN(TrainingJob job, job_.Read(context.io, model_, &config.spec, profile));
    StreamPlan fixed = PlanFor(strategy);
    std::vector<std::string> fields;
    for (const std::string& assignment : set_) {
      RETURN_IF_ERROR(SetPlanField(assignment, fixed, fields));
    }
    const Setting setting{.profile = profile,
                          .software = BuiltInCalibration().SoftwareOf(strategy, profile),
                          .margin = job_.margin()};
    if (sweep_.has_value() && length_.any()) {
      return absl::InvalidArgumentError(
          "--sweep shows tokens/s only: leave out --tokens, --data and --price-per-hour, and give "
          "them to 'horizon plan' with the value that was chosen");
    }
    ASSIGN_OR_RETURN(const AskedLength asked, length_.Open(context, model_, config.spec, job));
    if (!job_.sample_length.has_value()) {
      ASSIGN_OR_RETURN(job.sample_lengths, asked.SampleLengthsFor(job));
    }
    const PlanRequest request{.spec = config.spec,
                              .job = job,
                              .fixed = fixed,
                              .fixed_fields = fields,
                              .setting = setting,
                              .all_strategies = job_.any_strategy(),
                              .propose_batch = job_.proposes_batch(),
                              .propose_state = job_.proposes_state()};
    if (sweep_.has_value()) return Show(context, request);
    ASSIGN_OR_RETURN(PlanAnswer answer, MakePlan(request));
    if (answer.feasible) answer.search.prediction.limits = FindLimits(request, answer);
    std::optional<PlanReasoning> explained;
    if (explain_ && answer.feasible) {
      ASSIGN_OR_RETURN(explained, Explain(request, answer));
    }
    ASSIGN_OR_RETURN(const RunLength length, asked.Of(answer.job));
    const PlanReport report{.spec = config.spec,
                            .profile = profile,
                            .answer = answer,
                            .explained = explained.has_value() ? &*explained : nullptr,
                            .margin = setting.margin,
                            .length = length};
    RETURN_IF_ERROR(context.output.Write(json_ ? PlanReportJson(report) : PlanReportText(report)));
    if (!answer.feasible) return DoesNotFit(config.spec, profile);
    if (!output_.has_value()) return absl::OkStatus();
    StreamPlan plan = *answer.search.plan;
    plan.model = model_;
    RETURN_IF_ERROR(WritePlanFiles(context.io, *output_, plan, answer.job));
    context.log.Info(StrCat("wrote ", *output_, " and ", JobFileBeside(*output_)));
    return absl::OkStatus();
  }

 private:
  static absl::StatusOr<PlanReasoning> Explain(const PlanRequest& request,
                                               const PlanAnswer& answer) {
    StreamPlan fixed = request.fixed;
    fixed.strategy = answer.search.plan->strategy;
    ASSIGN_OR_RETURN(const std::vector<HardwareProfile> others, RunnableMachines());
    const HardwareProfile& profile = request.setting.profile;
    return PlanReasoning{.alternatives = ExplainPlan(request.spec, answer.job, *answer.search.plan,
                                                     SpaceFor(request.spec, answer.job, profile,
                                                              fixed, request.fixed_fields),
                                                     request.setting),
                         .free_changes = FindFreeGains(request, answer),
                         .purchases = FindPurchaseGains(request, answer, others)};
  }

  absl::Status Show(const CommandContext& context, const PlanRequest& request) const {
    ASSIGN_OR_RETURN(const Sweep sweep, ParseSweep(*sweep_));
    const std::vector<SweptPlan> plans = SweepPlan(request, sweep);
    const std::string heading = AnswerHeading(request.spec.name, request.setting.profile);
    RETURN_IF_ERROR(context.output.Write(json_ ? SweepJson(sweep, plans)
                                               : StrCat(heading, "\n", SweepText(sweep, plans))));
    if (!output_.has_value()) return absl::OkStatus();
    const std::string title = StrCat(request.spec.name, " on ", request.setting.profile.name,
                                     " by ", ToString(sweep.field));
    RETURN_IF_ERROR(WriteTextFile(context.io, *output_, SweepPage(title, sweep, plans)));
    context.log.Info(StrCat("wrote ", *output_));
    return absl::OkStatus();
  }

  std::string model_;
  std::optional<std::string> rope_scaling_;
  std::string machine_ = kThisMachine;
  PlanJobOptions job_;
  RunLengthOptions length_;
  OverrideOptions overrides_;
  std::vector<std::string> set_;
  std::optional<std::string> output_;
  std::optional<std::string> sweep_;
  bool explain_ = false;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> MakePlanCommand() { return std::make_unique<PlanCommand>(); }

}  // namespace horizon
