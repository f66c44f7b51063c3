#include <optional>
#include <string>
#include <utility>

#include "app/commands/commands.h"
#include "app/options/job_options.h"
#include "app/options/planning_options.h"
#include "common/documents/json.h"
#include "common/status_macros.h"
#include "common/text/quote.h"
#include "common/text/str_cat.h"
#include "model/load_model_spec.h"
#include "planner/plan_files.h"
#include "planner/prediction_basis.h"
#include "planner/profile/calibration.h"
#include "report/experiments_page.h"
#include "report/page.h"
#include "report/plan_reasons.h"
#include "report/run_view.h"
#include "report/view_json.h"

namespace horizon {
namespace {

// What a path was found to be.
enum class Subject { kRun, kPlan, kExperiments };

class ReportCommand : public Command {
 public:
  std::string_view name() const override { return "report"; }
  CommandGroup group() const override { return CommandGroup::kLook; }
  std::string_view summary() const override {
    return "Show a run, a plan or experiments as one HTML page";
  }
  std::string_view details() const override {
    return "The page is one file that needs only a browser. For a run it shows the predicted and "
           "the measured timeline, memory, curves, the plan with its reasons and the machine; for "
           "a plan the predicted half of that. A run that is still going on is shown as far as it "
           "is.";
  }
  OptionList Options() override {
    OptionList list{
        .options = {{.name = "output",
                     .value = &output_,
                     .unit = "file",
                     .help = "File for the page; an older report there is replaced"},
                    MachineOption(&machine_),
                    {.name = "model",
                     .value = &model_,
                     .unit = "name or path",
                     .help = "For a plan: the model (default the one that the plan names)",
                     .group = "Plan",
                     .words = WordKind::kModel},
                    {.name = "job",
                     .value = &job_,
                     .unit = "file",
                     .help = "For a plan: the job (default the file beside the plan)",
                     .group = "Plan"}},
        .positionals = {{.name = "RUN_PLAN_OR_EXPERIMENTS",
                         .value = &path_,
                         .help = "What 'train', 'plan' or 'experiments' wrote with --output",
                         .words = WordKind::kFile}}};
    overrides_.AddTo(list);
    list.options.push_back({.name = "json", .value = &json_, .help = "Answer in JSON"});
    return list;
  }

  absl::Status Run(const CommandContext& context) override {
    RETURN_IF_ERROR(CheckOutput(context.io));
    ASSIGN_OR_RETURN(const Subject subject, Recognise(context.io));
    std::string page;
    std::string what;
    std::optional<PredictionBasis> basis;  // none: experiments have many
    if (subject == Subject::kExperiments) {
      ASSIGN_OR_RETURN(page, ExperimentsPage(context.io, path_));
      what = "experiments";
    } else {
      ASSIGN_OR_RETURN(RunView view,
                       subject == Subject::kRun ? ReadRun(context.io, path_) : ReadPlan(context));
      view.reasons = ReasonsOf(view.spec, view.job, view.plan,
                               {.profile = view.machine, .software = view.prediction.software});
      what = std::string(ToString(view.state));
      basis = BasisOf(view.machine, view.plan.strategy);
      page = RunPage(StrCat(view.spec.name, subject == Subject::kRun ? ": " : ", planned: ",
                            subject == Subject::kRun ? path_ : view.machine.name),
                     ViewJson(view));
    }
    RETURN_IF_ERROR(WriteTextFile(context.io, output_, page));
    if (!json_) {
      return context.output.Write(
          StrCat("wrote ", output_, " (", what, "); open it in a browser\n"));
    }
    JsonWriter json;
    json.BeginObject().Key("report").String(output_).Key("state").String(what);
    if (basis.has_value()) {
      json.Key("basis");
      WriteBasis(*basis, json);
    }
    json.EndObject();
    return context.output.Write(std::move(json).Finish());
  }

 private:
  static constexpr size_t kHeadBytes = 4096;

  // Nothing that is no report of ours is ever replaced.
  absl::Status CheckOutput(Io& io) const {
    const absl::StatusOr<FileInfo> info = io.Info(output_);
    if (absl::IsNotFound(info.status())) return absl::OkStatus();
    RETURN_IF_ERROR(info.status());
    const absl::StatusOr<std::string> text = ReadTextFile(io, output_, 256_MiB);
    const bool ours =
        text.ok() && text->find("<meta name=\"generator\" content=\"horizon report\"") < kHeadBytes;
    if (ours) return absl::OkStatus();
    return absl::InvalidArgumentError(StrCat("--output ", output_,
                                             " exists and is no report of horizon; name another "
                                             "file, or remove it first"));
  }

  absl::StatusOr<Subject> Recognise(Io& io) const {
    ASSIGN_OR_RETURN(const FileInfo info, io.Info(path_));
    if (info.kind == FileKind::kRegular) return Subject::kPlan;
    const auto has = [&](const char* name) { return io.Info(JoinPath(path_, name)).ok(); };
    if (has("job.json") || has("plan.json")) return Subject::kRun;
    if (has(kExperimentResults)) return Subject::kExperiments;
    return absl::InvalidArgumentError(
        StrCat(Quoted(path_), " is neither a run (looked for job.json and plan.json in it) nor ",
               "experiments (", kExperimentResults, "), and no file of a plan; name a folder of ",
               "'horizon train --output' or 'horizon experiments --output', or a file of 'horizon ",
               "plan --output'"));
  }

  absl::StatusOr<RunView> ReadPlan(const CommandContext& context) const {
    ASSIGN_OR_RETURN(const PlanFiles files, LoadPlanFiles(context.io, path_, job_.value_or("")));
    const std::string model = model_.value_or(files.plan.model);
    if (model.empty()) {
      return absl::InvalidArgumentError(StrCat(path_, " names no model: give one with --model"));
    }
    ASSIGN_OR_RETURN(const ModelConfig config, LoadModelSpec(context.io, model));
    ASSIGN_OR_RETURN(const HardwareProfile profile, overrides_.Load(context, machine_));
    RETURN_IF_ERROR(CheckDevice(files.job, profile));
    return ViewOfPlan(path_, config.spec, files.job, files.plan, profile,
                      BuiltInCalibration().SoftwareOf(files.plan.strategy, profile));
  }

  std::string path_;
  std::string output_ = "report.html";
  std::string machine_ = kThisMachine;
  std::optional<std::string> model_;
  std::optional<std::string> job_;
  OverrideOptions overrides_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeReportCommand() { return std::make_unique<ReportCommand>(); }

}  // namespace horizon
