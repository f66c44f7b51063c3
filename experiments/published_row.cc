#include "experiments/published_row.h"

#include <utility>

#include "absl/strings/str_replace.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"

namespace horizon {
namespace {

constexpr EnumWord<Metric> kMetricWords[] = {{Metric::kTflops, "tflops"},
                                             {Metric::kTokensPerSecond, "tokens_per_second"},
                                             {Metric::kStepSeconds, "step_seconds"},
                                             {Metric::kHostGib, "host_gib"},
                                             {Metric::kStatus, "status"}};
constexpr EnumWord<RunStatus> kStatusWords[] = {
    {RunStatus::kOk, "ok"}, {RunStatus::kOutOfMemory, "oom"}, {RunStatus::kUnknown, "unknown"}};
constexpr EnumWord<Tier> kTierWords[] = {{Tier::kA, "A"}, {Tier::kB, "B"}, {Tier::kC, "C"}};
constexpr EnumWord<RowUse> kUseWords[] = {
    {RowUse::kFitted, "fitted"}, {RowUse::kJudged, "judged"}, {RowUse::kIgnored, "ignored"}};

// Reads the cells of one row by column name; the first error is kept.
class RowReader {
 public:
  RowReader(const CsvTable& table, size_t row) : table_(table), row_(row) {}

  std::string Text(std::string_view name) {
    const absl::StatusOr<int> column = Column(table_, name);
    if (!Keep(column.status())) return "";
    return CellText(table_, row_, *column);
  }
  std::optional<int64_t> Integer(std::string_view name) {
    const absl::StatusOr<int> column = Column(table_, name);
    if (!Keep(column.status())) return std::nullopt;
    absl::StatusOr<std::optional<int64_t>> value = CellInteger(table_, row_, *column);
    if (!Keep(value.status())) return std::nullopt;
    if (value->has_value() && **value < 1) {
      Keep(At(StrCat(name, ": needs at least 1, found ", **value)));
    }
    return *value;
  }
  int64_t Needed(std::string_view name) {
    const std::optional<int64_t> value = Integer(name);
    if (!value.has_value()) Keep(At(StrCat(name, ": must not be empty")));
    return value.value_or(1);
  }
  bool Has(std::string_view name) const { return Column(table_, name).ok(); }
  std::optional<double> Number(std::string_view name) {
    const absl::StatusOr<int> column = Column(table_, name);
    if (!Keep(column.status())) return std::nullopt;
    absl::StatusOr<std::optional<double>> value = CellDouble(table_, row_, *column);
    return Keep(value.status()) ? *value : std::nullopt;
  }
  template <typename E>
  void Word(std::string_view name, E* out) {
    absl::StatusOr<E> value = ParseWord<E>(Text(name));
    if (value.ok()) {
      *out = *value;
    } else {
      Keep(At(StrCat(name, ": ", std::string(value.status().message()))));
    }
  }
  absl::Status At(const std::string& message) const {
    return absl::InvalidArgumentError(StrCat(table_.file, ":", table_.lines[row_], ": ", message));
  }
  bool Keep(const absl::Status& status) {
    if (status_.ok()) status_ = status;
    return status.ok();
  }
  const absl::Status& status() const { return status_; }

 private:
  const CsvTable& table_;
  const size_t row_;
  absl::Status status_;
};

absl::StatusOr<PublishedRow> ReadRow(const CsvTable& table, size_t index) {
  RowReader read(table, index);
  PublishedRow row;
  row.id = read.Text("id");
  row.system = read.Text("system");
  row.machine = read.Text("machine");
  row.model = read.Text("model");
  row.layers = read.Integer("layers");
  row.hidden = read.Integer("hidden");
  row.ffn = read.Integer("ffn");
  row.sequence = read.Needed("sequence");
  row.batch = read.Integer("batch");
  if (read.Has("accumulation")) row.accumulation = read.Needed("accumulation");
  if (read.Has("recompute")) {
    const std::string recompute = read.Text("recompute");
    row.recompute = recompute == "yes";
    if (!recompute.empty() && !row.recompute) {
      read.Keep(read.At(StrCat("recompute: needs yes or nothing, found '", recompute, "'")));
    }
  }
  row.anchor_interval = read.Needed("anchor_interval");
  row.gradient_slabs = read.Needed("gradient_slabs");
  row.buffer_depth = read.Needed("buffer_depth");
  read.Word("metric", &row.metric);
  row.published = read.Number("published");
  const std::string relation = read.Text("relation");
  row.lower_bound = relation == ">";
  if (relation != "=" && relation != ">") {
    read.Keep(read.At(StrCat("relation: needs = or >, found '", relation, "'")));
  }
  read.Word("status", &row.status);
  read.Word("tier", &row.tier);
  read.Word("use", &row.use);
  row.note = read.Text("note");
  if (row.id.empty() || row.machine.empty() || row.model.empty()) {
    read.Keep(read.At("id, machine and model must not be empty"));
  }
  if (row.metric != Metric::kStatus && !(row.published.value_or(0) > 0)) {
    read.Keep(read.At(StrCat("metric ", ToString(row.metric), " needs a published number")));
  }
  RETURN_IF_ERROR(read.status());
  return row;
}

}  // namespace

std::span<const EnumWord<Metric>> WordsOf(Metric) { return kMetricWords; }
std::span<const EnumWord<RunStatus>> WordsOf(RunStatus) { return kStatusWords; }
std::span<const EnumWord<Tier>> WordsOf(Tier) { return kTierWords; }
std::span<const EnumWord<RowUse>> WordsOf(RowUse) { return kUseWords; }

std::string SystemTitle(const std::string& system) {
  static constexpr std::pair<std::string_view, std::string_view> kTitles[] = {
      {"megatrain", "MegaTrain"},          {"zero3_offload", "ZeRO-3 offload"},
      {"fsdp_offload", "FSDP offload"},    {"gemini", "Gemini"},
      {"pytorch_native", "plain PyTorch"}, {"ratel_ssd", "Ratel (SSD)"}};
  for (const auto& [name, title] : kTitles) {
    if (name == system) return std::string(title);
  }
  return absl::StrReplaceAll(system, {{"_", " "}});
}

std::string RowTitle(const PublishedRow& row) { return absl::StrReplaceAll(row.id, {{"_", " "}}); }

std::optional<Strategy> StrategyOf(const std::string& system) {
  if (system == "megatrain") return Strategy::kReference;
  if (system == "pytorch_native") return Strategy::kResident;
  // They stream every layer twice and recompute, as we do.
  if (system == "slideformer" || system == "llmq") return Strategy::kHorizon;
  const absl::StatusOr<Strategy> same = ParseWord<Strategy>(system);
  return same.ok() && IsSimulatedOnly(*same) ? std::optional(*same) : std::nullopt;
}

absl::StatusOr<std::vector<PublishedRow>> ReadPublishedRows(const CsvTable& table) {
  std::vector<PublishedRow> rows;
  for (size_t i = 0; i < table.rows.size(); ++i) {
    ASSIGN_OR_RETURN(PublishedRow row, ReadRow(table, i));
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace horizon
