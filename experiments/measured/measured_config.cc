#include "experiments/measured/measured_config.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_join.h"
#include "common/documents/document.h"
#include "common/documents/json.h"
#include "common/documents/record.h"
#include "common/status_macros.h"
#include "common/text/nearest_word.h"
#include "common/text/quote.h"
#include "common/text/str_cat.h"
#include "experiments/measured_data.h"

namespace horizon {
namespace {

constexpr EnumWord<MeasuredMetric> kMetricWords[] = {{MeasuredMetric::kThroughput, "throughput"},
                                                     {MeasuredMetric::kSeconds, "seconds"},
                                                     {MeasuredMetric::kHostGib, "host_gib"}};
constexpr EnumWord<MeasuredX> kXWords[] = {{MeasuredX::kLayers, "layers"},
                                           {MeasuredX::kHidden, "hidden"},
                                           {MeasuredX::kParameters, "parameters"},
                                           {MeasuredX::kTokens, "tokens"},
                                           {MeasuredX::kRow, "row"}};

// Objects laid over each other: a later one's members replace those of the same name.
class Layers {
 public:
  explicit Layers(const Document& document) : document_(document) {}

  absl::Status Add(const Value* object, std::string_view path) {
    if (object == nullptr) return absl::OkStatus();
    const Value::Object* members = object->As<Value::Object>();
    if (members == nullptr) return ErrorAt(document_, *object, path, "needs an object");
    line_ = object->line();
    for (const auto& [key, value] : *members) {
      const auto same =
          std::find_if(members_.begin(), members_.end(),
                       [&wanted = key](const auto& member) { return member.first == wanted; });
      if (same == members_.end()) {
        members_.emplace_back(key, value);
      } else {
        same->second = value;
      }
    }
    return absl::OkStatus();
  }
  Document Finish() { return {.file = document_.file, .root = Value(std::move(members_), line_)}; }

 private:
  const Document& document_;
  Value::Object members_;
  int line_ = 1;
};

absl::StatusOr<ModelShape> ReadShape(const Document& document) {
  ModelShape shape;
  ObjectReader reader(document, document.root, "model");
  RecordReader read(reader);
  read("layers", shape.layers, {.minimum = 1, .maximum = 1024});
  read("hidden", shape.hidden, {.minimum = kHeadDim, .maximum = 1 << 16});
  read("intermediate", shape.intermediate, {.minimum = 1, .maximum = 1 << 18});
  read("vocab", shape.vocab, {.minimum = 2, .maximum = 1 << 20});
  if (reader.ok() && shape.hidden % kHeadDim != 0) {
    reader.Fail("hidden", StrCat("needs a multiple of ", kHeadDim, ", found ", shape.hidden));
  }
  RETURN_IF_ERROR(reader.Finish());
  return shape;
}

class ConfigReader {
 public:
  ConfigReader(const Document& document, MeasuredConfig& config)
      : document_(document), config_(config) {}

  absl::Status Read(MeasuredSize size) {
    ObjectReader reader(document_, document_.root);
    reader.Required("title", &config_.title);
    reader.Required("summary", &config_.summary);
    ReadRunSizes(reader);
    if (reader.Take("load_to_compute") != nullptr) {
      double share = 0;
      RecordReader read(reader);
      read("load_to_compute", share, {.minimum = 0.01, .maximum = 100});
      reader.Required("link_reason", &config_.link_reason);
      config_.load_to_compute = share;
    }
    if (reader.Take("arena") != nullptr) {
      Bytes arena;
      reader.Required("arena", &arena);
      config_.arena = arena;
    }
    reader.Optional("constant_arena", &config_.constant_arena);
    reader.Optional("fit_host_memory", &config_.fit_host_memory);
    reader.Optional("remarks", &config_.remarks);
    base_ = {reader.Take("model"), reader.Take("job"), reader.Take("plan")};
    const Value* charts = reader.Take("charts");
    const Value* rows = reader.Take("rows");
    const Value* quick = reader.Take("quick");
    RETURN_IF_ERROR(reader.Finish());
    if (charts != nullptr) RETURN_IF_ERROR(ReadCharts(*charts));
    std::vector<std::string> chosen;
    if (quick != nullptr) RETURN_IF_ERROR(ReadQuick(*quick, size, chosen));
    const Value::Array* list = rows == nullptr ? nullptr : rows->As<Value::Array>();
    if (list == nullptr || list->empty()) {
      return ErrorAt(document_, document_.root, "rows", "needs an array of at least one row");
    }
    for (size_t i = 0; i < list->size(); ++i) {
      RETURN_IF_ERROR(ReadRow((*list)[i], StrCat("rows[", i, "]")));
    }
    RETURN_IF_ERROR(CheckRows(chosen));
    if (chosen.empty()) return absl::OkStatus();
    std::erase_if(config_.rows, [&](const MeasuredRowConfig& row) {
      return std::find(chosen.begin(), chosen.end(), row.name) == chosen.end();
    });
    return CheckRows({});
  }

 private:
  struct Parts {
    const Value* model = nullptr;
    const Value* job = nullptr;
    const Value* plan = nullptr;
  };

  void ReadRunSizes(ObjectReader& reader) {
    RecordReader read(reader);
    read("steps", config_.steps, {.minimum = 2, .maximum = 1000});
    read("rounds", config_.rounds, {.minimum = 1, .maximum = 100});
    read("burst_steps", config_.burst_steps, {.minimum = 2, .maximum = kBurstSteps});
  }

  absl::Status ReadQuick(const Value& value, MeasuredSize size, std::vector<std::string>& chosen) {
    const MeasuredConfig full = config_;
    ObjectReader reader(document_, value, "quick");
    ReadRunSizes(reader);
    reader.Optional("rows", &chosen);
    quick_ = {reader.Take("model"), reader.Take("job"), reader.Take("plan")};
    RETURN_IF_ERROR(reader.Finish());
    if (size == MeasuredSize::kQuick) return absl::OkStatus();
    config_ = full;
    quick_ = {};
    chosen.clear();
    return absl::OkStatus();
  }

  absl::Status ReadCharts(const Value& value) {
    const Value::Array* list = value.As<Value::Array>();
    if (list == nullptr) return ErrorAt(document_, value, "charts", "needs an array");
    for (size_t i = 0; i < list->size(); ++i) {
      MeasuredChart& chart = config_.charts.emplace_back();
      ObjectReader reader(document_, (*list)[i], StrCat("charts[", i, "]"));
      RecordReader read(reader);
      read("metric", chart.metric, {.presence = FieldPresence::kRequired});
      read("x", chart.x, {});
      read("x_label", chart.x_label, {});
      read("y_label", chart.y_label, {});
      RETURN_IF_ERROR(reader.Finish());
    }
    return absl::OkStatus();
  }

  absl::Status ReadRow(const Value& value, const std::string& path) {
    MeasuredRowConfig& row = config_.rows.emplace_back();
    ObjectReader reader(document_, value, path);
    reader.Required("name", &row.name);
    reader.Optional("link_limited", &row.link_limited);
    reader.Optional("compared_with", &row.compared_with);
    reader.Optional("losses_as", &row.losses_as);
    reader.Optional("line", &row.line);
    reader.Optional("published_row", &row.published_row);
    const Parts own{reader.Take("model"), reader.Take("job"), reader.Take("plan")};
    RETURN_IF_ERROR(reader.Finish());
    ASSIGN_OR_RETURN(const Document model, Merge(&Parts::model, own, StrCat(path, ".model")));
    ASSIGN_OR_RETURN(row.model, ReadShape(model));
    ASSIGN_OR_RETURN(const Document job, Merge(&Parts::job, own, StrCat(path, ".job")));
    ASSIGN_OR_RETURN(row.job, ReadJob(job));
    ASSIGN_OR_RETURN(const Document plan, Merge(&Parts::plan, own, StrCat(path, ".plan")));
    ASSIGN_OR_RETURN(row.plan, ReadPlan(plan));
    return absl::OkStatus();
  }

  absl::StatusOr<Document> Merge(const Value* Parts::*part, const Parts& own,
                                 const std::string& path) const {
    Layers layers(document_);
    RETURN_IF_ERROR(layers.Add(base_.*part, path));
    RETURN_IF_ERROR(layers.Add(own.*part, path));
    RETURN_IF_ERROR(layers.Add(quick_.*part, path));
    return layers.Finish();
  }

  absl::Status CheckRows(const std::vector<std::string>& chosen) const {
    std::vector<std::string> names;
    for (const MeasuredRowConfig& row : config_.rows) {
      if (std::find(names.begin(), names.end(), row.name) != names.end()) {
        return Refuse(StrCat("two rows are named ", Quoted(row.name)));
      }
      names.push_back(row.name);
    }
    const auto known = [&](const std::string& name) {
      return std::find(names.begin(), names.end(), name) != names.end();
    };
    for (const MeasuredRowConfig& row : config_.rows) {
      for (const std::string& name : {row.compared_with, row.losses_as}) {
        if (name.empty() || known(name)) continue;
        return Refuse(StrCat("row ", Quoted(row.name), " names row ", Quoted(name),
                             ", which is not there", DidYouMean(name, names)));
      }
    }
    for (const std::string& name : chosen) {
      if (known(name)) continue;
      return Refuse(StrCat("quick names row ", Quoted(name), ", which is not there",
                           DidYouMean(name, names)));
    }
    return absl::OkStatus();
  }

  absl::Status Refuse(const std::string& message) const {
    return absl::InvalidArgumentError(StrCat(document_.file, ": ", message));
  }

  const Document& document_;
  MeasuredConfig& config_;
  Parts base_;
  Parts quick_;
};

}  // namespace

std::span<const EnumWord<MeasuredMetric>> WordsOf(MeasuredMetric) { return kMetricWords; }
std::span<const EnumWord<MeasuredX>> WordsOf(MeasuredX) { return kXWords; }

absl::StatusOr<MeasuredConfig> ReadMeasuredConfig(std::string_view name, std::string_view text,
                                                  MeasuredSize size) {
  MeasuredConfig config{.name = std::string(name)};
  ASSIGN_OR_RETURN(const Document document,
                   ParseJson(StrCat("experiments/", name, "/measured.json"), text));
  RETURN_IF_ERROR(ConfigReader(document, config).Read(size));
  return config;
}

std::vector<std::string> MeasuredNames() {
  std::vector<std::string> names;
  for (const MeasuredFile& file : MeasuredData()) names.emplace_back(file.name);
  return names;
}

absl::StatusOr<std::vector<MeasuredConfig>> LoadMeasuredConfigs(std::span<const std::string> names,
                                                                MeasuredSize size) {
  const std::vector<std::string> known = MeasuredNames();
  for (const std::string& name : names) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    return absl::NotFoundError(StrCat("no experiment ", Quoted(name), " that is measured",
                                      DidYouMean(name, known), "; there are ",
                                      absl::StrJoin(known, ", ")));
  }
  std::vector<MeasuredConfig> configs;
  for (const MeasuredFile& file : MeasuredData()) {
    if (!names.empty() && std::find(names.begin(), names.end(), file.name) == names.end()) continue;
    ASSIGN_OR_RETURN(MeasuredConfig config, ReadMeasuredConfig(file.name, file.config, size));
    configs.push_back(std::move(config));
  }
  return configs;
}

}  // namespace horizon
