#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "app/commands/commands.h"
#include "app/options/job_options.h"
#include "app/options/planning_options.h"
#include "app/options/run_length_options.h"
#include "common/documents/json.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "model/load_model_spec.h"
#include "planner/find_limits.h"
#include "planner/make_plan.h"
#include "planner/plan_files.h"
#include "planner/plan_report.h"
#include "planner/profile/calibration.h"
#include "schedule/build/build_schedule.h"
#include "schedule/check_runnable.h"
#include "schedule/timeline/trace_writer.h"
#include "schedule/verify/verify_schedule.h"

namespace horizon {
namespace {

class SimulateCommand : public Command {
 public:
  std::string_view name() const override { return "simulate"; }
  CommandGroup group() const override { return CommandGroup::kPlan; }
  std::string_view summary() const override {
    return "Predict what a plan would do on a machine: step time, lanes, stalls, memory";
  }
  std::string_view details() const override {
    return "Executes the plan's schedule, verified first, on the machine's profile. A plan that "
           "does\n"
           "not fit is simulated all the same and is exit code 3. The trace opens in "
           "ui.perfetto.dev.\n";
  }
  OptionList Options() override {
    OptionList list{
        .options = {{.name = "plan",
                     .value = &plan_,
                     .unit = "file",
                     .help = "Plan file, as 'horizon plan --output' writes it",
                     .required = true},
                    MachineOption(&machine_),
                    {.name = "model",
                     .value = &model_,
                     .unit = "name or path",
                     .help = "Model (default the one that the plan names)",
                     .words = WordKind::kModel},
                    RopeScalingOption(&rope_scaling_),
                    {.name = "job",
                     .value = &job_,
                     .unit = "file",
                     .help = "Job file (default the one beside the plan, plan.job.json)"},
                    SampleLengthOption(&sample_length_),
                    {.name = "trace",
                     .value = &trace_,
                     .unit = "file",
                     .help = "Write the predicted timeline to this file, for ui.perfetto.dev"}}};
    length_.AddTo(list);
    overrides_.AddTo(list);
    list.options.push_back({.name = "json", .value = &json_, .help = "Answer in JSON"});
    return list;
  }

  absl::Status Run(const CommandContext& context) override {
    ASSIGN_OR_RETURN(PlanFiles files, LoadPlanFiles(context.io, plan_, job_.value_or("")));
    const std::string model = model_.value_or(files.plan.model);
    if (model.empty()) {
      return absl::InvalidArgumentError(StrCat(plan_, " names no model: give one with --model"));
    }
    ASSIGN_OR_RETURN(const ModelConfig config, LoadModelSpec(context.io, model, rope_scaling_));
    ASSIGN_OR_RETURN(const HardwareProfile profile, overrides_.Load(context, machine_));
    RETURN_IF_ERROR(CheckDevice(files.job, profile));
    ASSIGN_OR_RETURN(const AskedLength asked, length_.Open(context, model, config.spec, files.job));
    ASSIGN_OR_RETURN(files.job.sample_lengths, asked.SampleLengthsFor(files.job));
    if (sample_length_.has_value()) files.job.sample_lengths = SamplesOfLength(*sample_length_);
    ASSIGN_OR_RETURN(const RunLength length, asked.Of(files.job));
    ASSIGN_OR_RETURN(const Schedule schedule, BuildSchedule(config.spec, files.job, files.plan));
    RETURN_IF_ERROR(VerifySchedule(schedule));
    const Setting setting{
        .profile = profile,
        .software = BuiltInCalibration().SoftwareOf(files.plan.strategy, profile)};
    PredictedRun run = PredictRun(config.spec, schedule, setting);
    // The plan is given, so that only rates can be limits.
    run.prediction.limits =
        FindRateLimits(config.spec, schedule, setting, run.prediction.step_seconds);
    if (trace_.has_value()) {
      RETURN_IF_ERROR(WriteTrace(schedule, run.steady.simulation.timeline,
                                 StrCat(config.spec.name, " on ", profile.name, " (simulated)"),
                                 context.io, *trace_));
      context.log.Info(StrCat("wrote the trace to ", *trace_));
    }
    std::string planned_only = WhyPlannedOnly(config.spec, files.job, files.plan);
    if (planned_only.empty()) planned_only = profile.planned_only.value_or("");
    const Answer answer{.spec = config.spec,
                        .profile = profile,
                        .strategy = files.plan.strategy,
                        .prediction = run.prediction,
                        .planned_only = planned_only,
                        .length = length};
    RETURN_IF_ERROR(context.output.Write(json_ ? Json(answer) : Text(answer)));
    if (run.prediction.fits()) return absl::OkStatus();
    std::string lacking;
    for (const std::string& line : DescribeShortages(run.prediction.shortages)) {
      lacking += StrCat(lacking.empty() ? "" : "; ", line);
    }
    return absl::FailedPreconditionError(
        StrCat("the plan does not fit on ", profile.name, ": ", lacking,
               "; 'horizon plan' finds one that does, if there is any"));
  }

 private:
  struct Answer {
    const ModelSpec& spec;
    const HardwareProfile& profile;
    Strategy strategy = Strategy::kHorizon;
    const Prediction& prediction;
    const std::string& planned_only;
    const RunLength& length;
  };

  static std::string Text(const Answer& answer) {
    return StrCat(PlannedOnlyLine(answer.planned_only),
                  AnswerHeading(answer.spec.name, answer.profile),
                  PredictionText(answer.prediction, answer.profile, answer.length),
                  BasisLines(answer.profile, answer.strategy));
  }
  static std::string Json(const Answer& answer) {
    JsonWriter writer;
    writer.BeginObject().Key("feasible").Bool(answer.prediction.fits());
    WriteRunnable(answer.planned_only, writer);
    writer.Key("model").String(answer.spec.name).Key("machine").String(answer.profile.name);
    writer.Key("prediction");
    WritePrediction(answer.prediction, writer);
    WriteBasisOf(answer.profile, answer.strategy, writer);
    WriteRunLength(answer.length, answer.prediction.tokens_per_second, writer);
    writer.EndObject();
    return std::move(writer).Finish();
  }

  std::string plan_;
  std::string machine_ = kThisMachine;
  std::optional<std::string> model_;
  std::optional<std::string> rope_scaling_;
  std::optional<std::string> job_;
  std::optional<int64_t> sample_length_;
  std::optional<std::string> trace_;
  RunLengthOptions length_;
  OverrideOptions overrides_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeSimulateCommand() { return std::make_unique<SimulateCommand>(); }

}  // namespace horizon
