#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "app/commands/commands.h"
#include "app/options/job_options.h"
#include "app/options/planning_options.h"
#include "common/documents/json.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "common/text/text_table.h"
#include "common/units.h"
#include "model/load_model_spec.h"
#include "planner/make_plan.h"
#include "planner/plan_report.h"
#include "planner/planned_job.h"
#include "planner/profile/calibration.h"
#include "schedule/check_runnable.h"

namespace horizon {
namespace {

struct Compared {
  HardwareProfile profile;
  PlanAnswer answer;
};

class CompareCommand : public Command {
 public:
  std::string_view name() const override { return "compare"; }
  CommandGroup group() const override { return CommandGroup::kPlan; }
  std::string_view summary() const override {
    return "Compare machines for a model: does it fit, how fast, what limits it";
  }
  std::string_view details() const override {
    return "Plans the model on every machine given, as 'horizon plan' does.\n";
  }
  OptionList Options() override {
    OptionList list{.options = {ModelOption(&model_), MachineOption(&machines_)}};
    job_.AddTo(list);
    overrides_.AddTo(list);
    list.options.push_back({.name = "json", .value = &json_, .help = "Answer in JSON"});
    return list;
  }

  absl::Status Run(const CommandContext& context) override {
    ASSIGN_OR_RETURN(const ModelConfig config, LoadModelSpec(context.io, model_));
    ASSIGN_OR_RETURN(const Strategy strategy, job_.ReadStrategy());
    std::vector<Compared> all;
    for (const std::string& machine : machines_) {
      Compared& one = all.emplace_back();
      ASSIGN_OR_RETURN(one.profile, overrides_.Load(context, machine));
      ASSIGN_OR_RETURN(const TrainingJob job,
                       job_.Read(context.io, model_, &config.spec, one.profile));
      ASSIGN_OR_RETURN(
          one.answer,
          MakePlan({.spec = config.spec,
                    .job = job,
                    .fixed = PlanFor(strategy),
                    .fixed_fields = {},
                    .setting = {.profile = one.profile,
                                .software = BuiltInCalibration().SoftwareOf(strategy, one.profile),
                                .margin = job_.margin()},
                    .propose_batch = job_.proposes_batch(),
                    .propose_state = job_.proposes_state()}));
    }
    return context.output.Write(json_ ? Json(config.spec, all) : Text(config.spec, all));
  }

 private:
  // The state format is a column where it was proposed, and so may differ; else one word above.
  std::string Text(const ModelSpec& spec, const std::vector<Compared>& all) const {
    const bool proposes_state = job_.proposes_state();
    std::vector<std::string> header{"machine", "batch", "step",   "tokens/s",
                                    "days",    "host",  "device", "limit"};
    if (proposes_state) header.insert(header.begin() + 2, "state");
    TextTable table(header);
    for (const Compared& one : all) {
      std::vector<std::string> row = RowOf(one);
      if (proposes_state) {
        row.insert(row.begin() + 2, std::string(ToString(one.answer.job.state_format)));
      }
      table.AddRow(std::move(row));
    }
    const TrainingJob& job = all.front().answer.job;
    return StrCat(PlannedOnlyLines(all), spec.name, ", ", job.sequence, " tokens a sequence",
                  proposes_state ? "" : StrCat(", state ", ToString(job.state_format)),
                  "; days are for 10^9 tokens\n", overrides_.HeadingLine(), "\n",
                  std::move(table).Finish());
  }

  // One line where all machines have one reason, else one for each machine that has any.
  static std::string PlannedOnlyLines(const std::vector<Compared>& all) {
    const std::string& first = all.front().answer.planned_only;
    if (std::all_of(all.begin(), all.end(),
                    [&](const Compared& one) { return one.answer.planned_only == first; })) {
      return PlannedOnlyLine(first);
    }
    std::string lines;
    for (const Compared& one : all) {
      if (one.answer.planned_only.empty()) continue;
      lines += StrCat("planned only on ", one.profile.name, ": ", one.answer.planned_only, "\n");
    }
    return lines;
  }

  static std::vector<std::string> RowOf(const Compared& one) {
    const std::string batch = StrCat(one.answer.job.micro_batch);
    if (!one.answer.feasible) {
      const Shortage& shortage = one.answer.search.shortages.front();
      return {one.profile.name,
              batch,
              "does not fit",
              "",
              "",
              "",
              "",
              StrCat(ToString(shortage.limit), " lacks ",
                     ToString(shortage.needed - shortage.available))};
    }
    const Prediction& prediction = one.answer.search.prediction;
    return {one.profile.name,
            batch,
            ToString(Seconds{prediction.step_seconds}),
            ShortNumber(prediction.tokens_per_second),
            ShortNumber(1e9 / prediction.tokens_per_second / 86400),
            ToString(prediction.memory.host_bytes()),
            ToString(prediction.memory.device_bytes()),
            ToString(LimitsOf(prediction, one.profile).front())};
  }

  static std::string Json(const ModelSpec& spec, const std::vector<Compared>& all) {
    JsonWriter writer;
    writer.BeginObject().Key("model").String(spec.name).Key("machines").BeginArray();
    for (const Compared& one : all) {
      writer.BeginObject().Key("machine").String(one.profile.name);
      writer.Key("summary").String(one.profile.summary);
      writer.Key("feasible").Bool(one.answer.feasible);
      WriteRunnable(one.answer.planned_only, writer);
      writer.Key("job");
      WriteJob(one.answer.job, writer);
      if (one.answer.feasible) {
        writer.Key("plan");
        WritePlan(*one.answer.search.plan, writer);
        writer.Key("prediction");
        WritePrediction(one.answer.search.prediction, one.profile, writer);
      } else {
        writer.Key("shortages").BeginArray();
        for (const std::string& line : DescribeShortages(one.answer.search.shortages)) {
          writer.String(line);
        }
        writer.EndArray();
      }
      writer.EndObject();
    }
    writer.EndArray().EndObject();
    return std::move(writer).Finish();
  }

  std::string model_;
  std::vector<std::string> machines_;
  PlanJobOptions job_;
  OverrideOptions overrides_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeCompareCommand() { return std::make_unique<CompareCommand>(); }

}  // namespace horizon
