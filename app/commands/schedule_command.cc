#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "app/commands/commands.h"
#include "app/options/job_options.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "model/load_model_spec.h"
#include "model/stages.h"
#include "schedule/build/build_schedule.h"
#include "schedule/chunk_table.h"
#include "schedule/load_files.h"
#include "schedule/schedule_report.h"
#include "schedule/timeline/timeline.h"
#include "schedule/timeline/trace_writer.h"
#include "schedule/verify/verify_schedule.h"

namespace horizon {
namespace {

// Steps in a trace: the first, two that overlap their neighbours, and what is drained after them.
constexpr int64_t kTracedSteps = 3;

class ScheduleCommand : public Command {
 public:
  std::string_view name() const override { return "schedule"; }
  std::string_view summary() const override {
    return "Build and verify the schedule of a step; show its lanes, traffic and memory";
  }
  std::string_view details() const override {
    return "The schedule is what the runtime would execute: every operation, buffer and wait. It "
           "is verified before it is shown. The fields of plan and job files are in "
           "docs/formats.md. The trace opens in ui.perfetto.dev; its times follow nominal rates "
           "and are no prediction.";
  }
  OptionList Options() override {
    return {
        .options = {
            {.name = "model",
             .value = &model_,
             .unit = "name or path",
             .help = "Model: a catalog name, a Hugging Face id, a model folder or a config.json",
             .required = true,
             .words = WordKind::kModel},
            {.name = "plan",
             .value = &plan_,
             .unit = "file",
             .help = "Plan file in JSON (default the default plan)"},
            {.name = "job",
             .value = &job_,
             .unit = "file",
             .help = "Job file in JSON or YAML (default the default job, with the sequence cut to "
                     "the limit of the model)"},
            JobOptionNamed("train", &train_),
            JobOptionNamed("freeze", &freeze_),
            {.name = "pass",
             .value = &pass_,
             .unit = "kind",
             .help = "Pass to build",
             .choices = AllWords<PassKind>()},
            {.name = "trace",
             .value = &trace_,
             .unit = "file",
             .help = "Write a trace of three steps to this file"},
            {.name = "json", .value = &json_, .help = "Answer in JSON"}}};
  }

  absl::Status Run(const CommandContext& context) override {
    ASSIGN_OR_RETURN(const ModelConfig config, LoadModelSpec(context.io, model_));
    const ModelSpec& spec = config.spec;
    TrainingJob job;
    job.sequence = std::min(job.sequence, spec.max_positions);
    if (job_.has_value()) {
      ASSIGN_OR_RETURN(job, LoadJob(context.io, *job_));
    }
    if (!train_.empty()) job.train = train_;
    if (!freeze_.empty()) job.freeze = freeze_;
    // The default plan, with chunks that hold the model's largest matrix.
    StreamPlan plan;
    plan.chunk_bytes = std::max(plan.chunk_bytes, LeastChunkBytes(ListStages(spec), job));
    if (plan_.has_value()) {
      ASSIGN_OR_RETURN(plan, LoadPlan(context.io, *plan_));
    }
    ASSIGN_OR_RETURN(const PassKind pass, ParseWord<PassKind>(pass_));
    ASSIGN_OR_RETURN(const Schedule schedule, BuildSchedule(spec, job, plan, pass));
    RETURN_IF_ERROR(VerifySchedule(schedule));
    if (trace_.has_value()) {
      const Timeline timeline =
          EarliestTimeline(schedule, StepsOf(schedule, kTracedSteps), NominalNanoseconds);
      RETURN_IF_ERROR(WriteTrace(schedule, timeline,
                                 StrCat(spec.name, " (nominal times, no prediction)"), context.io,
                                 *trace_));
      context.log.Info(StrCat("wrote the trace to ", *trace_));
    }
    return context.output.Write(json_ ? ScheduleReportJson(spec, schedule)
                                      : ScheduleReportText(spec, schedule));
  }

 private:
  std::string model_;
  std::optional<std::string> plan_;
  std::optional<std::string> job_;
  std::vector<std::string> train_;
  std::vector<std::string> freeze_;
  std::string pass_ = "train";
  std::optional<std::string> trace_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeScheduleCommand() { return std::make_unique<ScheduleCommand>(); }

}  // namespace horizon
