#include <string>
#include <utility>
#include <vector>

#include "app/commands/commands.h"
#include "common/documents/json.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "common/text/text_table.h"
#include "common/units.h"
#include "model/catalog.h"
#include "model/load_model_spec.h"
#include "model/stages.h"
#include "schedule/check_runnable.h"

namespace horizon {
namespace {

struct Row {
  std::string name;
  std::string family;
  ParameterCounts parameters;
  int64_t layers = 0;
  std::string planned_only;  // empty: it can be trained
};

std::string Table(const std::vector<Row>& rows) {
  TextTable table({"model", "family", "layers", "parameters", "active", "trains"});
  bool all_train = true;
  for (const Row& row : rows) {
    all_train &= row.planned_only.empty();
    table.AddRow({row.name, row.family, StrCat(row.layers), WithCommas(row.parameters.total),
                  WithCommas(row.parameters.active), row.planned_only.empty() ? "yes" : "no"});
  }
  return StrCat(std::move(table).Finish(), "\nActive: parameters that one token touches.\n",
                all_train ? "" : "Models that do not train can be planned and simulated.\n");
}

std::string Json(const std::vector<Row>& rows) {
  JsonWriter json;
  json.BeginObject().Key("models").BeginArray();
  for (const Row& row : rows) {
    json.BeginObject();
    json.Key("name").String(row.name);
    json.Key("family").String(row.family);
    json.Key("layers").Integer(row.layers);
    json.Key("parameters").Unsigned(row.parameters.total);
    json.Key("active_parameters").Unsigned(row.parameters.active);
    WriteRunnable(row.planned_only, json);
    json.EndObject();
  }
  json.EndArray().EndObject();
  return std::move(json).Finish();
}

class ModelsCommand : public Command {
 public:
  std::string_view name() const override { return "models"; }
  CommandGroup group() const override { return CommandGroup::kPlan; }
  std::string_view summary() const override { return "List the models known by name"; }
  OptionList Options() override {
    return {.options = {{.name = "json", .value = &json_, .help = "Answer in JSON"}}};
  }

  absl::Status Run(const CommandContext& context) override {
    std::vector<Row> rows;
    for (const std::string& name : CatalogNames()) {
      ASSIGN_OR_RETURN(const ModelConfig config, LoadModelSpec(context.io, name));
      const ModelSpec& spec = config.spec;
      rows.push_back({.name = spec.name,
                      .family = spec.family,
                      .parameters = CountParameters(ListStages(spec)),
                      .layers = spec.layer_count(),
                      .planned_only = WhyPlannedOnly(spec, TrainingJob{}, StreamPlan{})});
    }
    return context.output.Write(json_ ? Json(rows) : Table(rows));
  }

 private:
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeModelsCommand() { return std::make_unique<ModelsCommand>(); }

}  // namespace horizon
