#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "app/commands/commands.h"
#include "app/options/job_options.h"
#include "app/options/planning_options.h"
#include "app/options/run_length_options.h"
#include "common/documents/json.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "common/text/text_table.h"
#include "common/text/wrap.h"
#include "common/units.h"
#include "model/load_model_spec.h"
#include "planner/find_limits.h"
#include "planner/make_plan.h"
#include "planner/plan_report.h"
#include "planner/planned_job.h"
#include "planner/profile/calibration.h"
#include "planner/run_length.h"
#include "schedule/check_runnable.h"

namespace horizon {
namespace {

struct Compared {
  HardwareProfile profile;
  PlanAnswer answer;
  RunLength length;
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
    OptionList list{.options = {ModelOption(&model_), MachineOption(&machines_),
                                RopeScalingOption(&rope_scaling_)}};
    job_.AddTo(list);
    overrides_.AddTo(list);
    length_.AddTo(list);
    list.options.push_back({.name = "json", .value = &json_, .help = "Answer in JSON"});
    return list;
  }

  absl::Status Run(const CommandContext& context) override {
    ASSIGN_OR_RETURN(const ModelConfig config, LoadModelSpec(context.io, model_, rope_scaling_));
    std::vector<Compared> all;
    // The data are opened once: all jobs have the same sequence length and seed.
    std::optional<AskedLength> asked;
    for (const std::string& machine : machines_) {
      ASSIGN_OR_RETURN(Compared one, Plan(context, config.spec, machine, asked));
      all.push_back(std::move(one));
    }
    return context.output.Write(json_ ? Json(config.spec, all)
                                      : Text(config.spec, all, context.answer_columns()));
  }

 private:
  absl::StatusOr<Compared> Plan(const CommandContext& context, const ModelSpec& spec,
                                const std::string& machine,
                                std::optional<AskedLength>& asked) const {
    Compared one;
    ASSIGN_OR_RETURN(const Strategy strategy, job_.ReadStrategy());
    ASSIGN_OR_RETURN(one.profile, overrides_.Load(context, machine));
    ASSIGN_OR_RETURN(TrainingJob job, job_.Read(context.io, model_, &spec, one.profile));
    if (!asked.has_value()) {
      ASSIGN_OR_RETURN(asked, length_.Open(context, model_, spec, job));
    }
    if (!job_.sample_length.has_value()) {
      ASSIGN_OR_RETURN(job.sample_lengths, asked->SampleLengthsFor(job));
    }
    const PlanRequest request{
        .spec = spec,
        .job = job,
        .fixed = PlanFor(strategy),
        .fixed_fields = {},
        .setting = {.profile = one.profile,
                    .software = BuiltInCalibration().SoftwareOf(strategy, one.profile),
                    .margin = job_.margin()},
        .all_strategies = job_.any_strategy(),
        .propose_batch = job_.proposes_batch(),
        .propose_state = job_.proposes_state()};
    ASSIGN_OR_RETURN(one.answer, MakePlan(request));
    if (one.answer.feasible) one.answer.search.prediction.limits = FindLimits(request, one.answer);
    ASSIGN_OR_RETURN(one.length, asked->Of(one.answer.job));
    return one;
  }

  // A column where the machines differ; else a word above the table.
  std::string Text(const ModelSpec& spec, const std::vector<Compared>& all, size_t columns) const {
    const RunLength& length = all.front().length;  // of which only the steps differ
    std::vector<std::string> header{"machine", "batch", "step", "tokens/s", "time"};
    const bool states = job_.proposes_state();
    if (states) header.insert(header.begin() + 2, "state");
    if (length.price_per_hour.has_value()) header.emplace_back("price");
    const bool strategies = Strategies(all).size() > 1;
    if (strategies) header.emplace_back("strategy");
    header.emplace_back("limit");
    TextTable table(header);
    std::string lacking;
    for (const Compared& one : all) {
      std::vector<std::string> row = RowOf(one, strategies);
      if (states) {
        row.insert(row.begin() + 2, std::string(ToString(one.answer.job.state_format)));
      }
      table.AddRow(std::move(row));
      if (one.answer.feasible) continue;
      for (const std::string& line : DescribeShortages(one.answer.search.shortages)) {
        lacking += StrCat(one.profile.name, ": ", line, "\n");
      }
    }
    const TrainingJob& job = all.front().answer.job;
    const std::string heading = StrCat(
        spec.name, ", ", job.sequence, " tokens a sequence",
        states ? "" : StrCat(", state ", ToString(job.state_format)),
        Strategies(all).size() == 1 ? StrCat(", strategy ", ToString(*Strategies(all).begin()))
                                    : "",
        "; time for ", RunLengthTitle(length));
    return StrCat(PlannedOnlyLines(all), WrapMessage(heading, {.width = columns, .hang = 2}), "\n",
                  overrides_.HeadingLine(), "\n", std::move(table).Finish(columns),
                  lacking.empty() ? "" : "\n", lacking, "\n", Bases(all));
  }

  // What the predictions rest on: machines with the same basis together.
  static std::string Bases(const std::vector<Compared>& all) {
    std::map<std::string, std::string> machines;  // by basis
    for (const Compared& one : all) {
      if (!one.answer.feasible) continue;
      std::string& names = machines[BasisLines(one.profile, one.answer.search.plan->strategy)];
      names += StrCat(names.empty() ? "" : ", ", one.profile.name);
    }
    std::string text;
    for (const auto& [basis, names] : machines) text += StrCat(names, "\n", basis);
    return text;
  }

  // Those that were chosen on any machine.
  static std::set<Strategy> Strategies(const std::vector<Compared>& all) {
    std::set<Strategy> strategies;
    for (const Compared& one : all) {
      if (one.answer.feasible) strategies.insert(one.answer.search.plan->strategy);
    }
    return strategies;
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

  static std::vector<std::string> RowOf(const Compared& one, bool strategies) {
    const RunLength& length = one.length;
    const std::string batch = StrCat(one.answer.job.micro_batch);
    if (!one.answer.feasible) {
      std::vector<std::string> row{one.profile.name, batch, "does not fit", "", "", ""};
      if (length.price_per_hour.has_value()) row.emplace_back("");
      if (strategies) row.emplace_back("");
      return row;
    }
    const Prediction& prediction = one.answer.search.prediction;
    const double speed = prediction.tokens_per_second;
    std::vector<std::string> row{one.profile.name, batch,
                                 ToString(Seconds{prediction.step_seconds}), ShortNumber(speed),
                                 RunDurationText(length.seconds(speed))};
    if (const std::optional<double> price = length.price(speed)) {
      row.push_back(ShortNumber(*price));
    }
    if (strategies) row.emplace_back(ToString(one.answer.search.plan->strategy));
    row.push_back(prediction.limits.empty() ? "none" : prediction.limits.front().what);
    return row;
  }

  static std::string Json(const ModelSpec& spec, const std::vector<Compared>& all) {
    JsonWriter writer;
    writer.BeginObject().Key("model").String(spec.name).Key("machines").BeginArray();
    for (const Compared& one : all) {
      const Prediction& prediction = one.answer.search.prediction;
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
        WritePrediction(prediction, writer);
        WriteBasisOf(one.profile, one.answer.search.plan->strategy, writer);
        WriteRunLength(one.length, prediction.tokens_per_second, writer);
        WriteStrategies(one.answer.search, writer);
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
  std::optional<std::string> rope_scaling_;
  std::vector<std::string> machines_;
  PlanJobOptions job_;
  OverrideOptions overrides_;
  RunLengthOptions length_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeCompareCommand() { return std::make_unique<CompareCommand>(); }

}  // namespace horizon
