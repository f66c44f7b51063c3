#include "experiments/report_tables.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/str_cat.h"
#include "experiments/signed_text.h"
#include "planner/make_plan.h"

namespace horizon {
namespace {

// Up to here an error is good, and up to there it is bearable: what the project set itself for the
// mean and for the worst sound row.
constexpr double kGoodError = 0.1;
constexpr double kBearableError = 0.2;

HtmlCell Text(std::string text) { return {.text = std::move(text)}; }
HtmlCell Number(std::string text, CellTone tone = CellTone::kPlain) {
  return {.text = std::move(text), .align = CellAlign::kNumber, .tone = tone};
}

std::vector<HtmlCell> Header(std::initializer_list<std::string_view> texts,
                             std::initializer_list<std::string_view> numbers) {
  std::vector<HtmlCell> header;
  for (const std::string_view text : texts) header.push_back(Text(std::string(text)));
  for (const std::string_view number : numbers) header.push_back(Number(std::string(number)));
  return header;
}

std::string FigureText(double value) {
  const double size = std::abs(value);
  return absl::StrFormat("%.*f", size >= 1000 ? 0 : size >= 10 ? 1 : 2, value);
}
std::string BillionText(uint64_t parameters) {
  return absl::StrFormat("%.1f B", static_cast<double>(parameters) * 1e-9);
}
std::string PercentText(double share) { return absl::StrFormat("%.1f %%", 100 * share); }
std::string Exact(const std::optional<double>& value) {
  return value.has_value() ? StrCat(*value) : "";
}

CellTone ToneOf(double error) {
  if (std::abs(error) <= kGoodError) return CellTone::kGood;
  return std::abs(error) <= kBearableError ? CellTone::kWarn : CellTone::kBad;
}

std::string PublishedText(const PublishedRow& row) {
  if (row.status == RunStatus::kOutOfMemory && row.metric != Metric::kHostGib) return "OOM";
  if (row.published.has_value()) {
    return StrCat(row.lower_bound ? "> " : "", FigureText(*row.published));
  }
  return row.status == RunStatus::kOk ? "runs" : "not reported";
}

std::string SimulatedText(const ComparedRow& compared) {
  const RowResult& result = compared.result;
  if (!compared.is_simulated) return "not simulated";
  if (result.simulated.has_value()) {
    return StrCat(FigureText(*result.simulated), IsOverOurMemory(compared) ? " *" : "");
  }
  return result.fits ? "fits" : "OOM";
}

HtmlCell ErrorCell(const ComparedRow& compared) {
  const std::optional<double> error = ErrorOf(compared.result);
  const RowUse use = compared.result.row.use;
  if (!error.has_value()) {
    const bool wrong = use != RowUse::kIgnored && HasWrongStatus(compared);
    if (!compared.is_simulated || compared.result.row.status == RunStatus::kUnknown) {
      return Number("");
    }
    if (IsOverOurMemory(compared) && !wrong) return Number("over our memory", CellTone::kWarn);
    return Number(wrong ? "wrong" : "agrees", use == RowUse::kIgnored ? CellTone::kMuted
                                              : wrong                 ? CellTone::kBad
                                                                      : CellTone::kGood);
  }
  CellTone tone = CellTone::kPlain;
  if (use == RowUse::kJudged) tone = ToneOf(*error);
  if (use == RowUse::kIgnored) tone = CellTone::kMuted;
  return Number(SignedPercent(*error), tone);
}

std::string ShortageText(const std::vector<Shortage>& shortages) {
  return absl::StrJoin(DescribeShortages(shortages), "; ");
}

HtmlCell HorizonCell(const ComparedRow& compared) {
  if (compared.horizon.empty()) return Number("");
  const HorizonRun& run = compared.horizon.front();
  if (!run.fits) {
    HtmlCell cell = Number("does not fit", CellTone::kWarn);
    cell.tooltip = ShortageText(run.shortages);
    return cell;
  }
  const std::optional<double> value = HorizonValue(compared);
  return Number(value.has_value() ? FigureText(*value) : "fits");
}

// How many times as fast as the simulated published system.
std::string GainText(const ComparedRow& compared) {
  const Metric metric = compared.result.row.metric;
  if (!HorizonValue(compared).has_value() || metric == Metric::kHostGib) return "";
  return absl::StrFormat("%.2fx", compared.result.prediction.step_seconds /
                                      compared.horizon.front().prediction.step_seconds);
}

std::string NoteOf(const ComparedRow& compared) {
  std::string note = compared.result.row.note;
  if (IsOverOurMemory(compared)) {
    note +=
        StrCat(note.empty() ? "" : "; ", "* by our memory it does not fit, timed all the same: ",
               ShortageText(compared.result.prediction.shortages));
  }
  return note;
}

// Every note once, in the order of the rows.
std::vector<std::string> NotesOf(const ExperimentRun& run) {
  std::vector<std::string> notes;
  for (const ComparedRow& compared : run.rows) {
    std::string note = NoteOf(compared);
    if (note.empty() || std::find(notes.begin(), notes.end(), note) != notes.end()) continue;
    notes.push_back(std::move(note));
  }
  return notes;
}

HtmlCell NoteCell(const ComparedRow& compared, const std::vector<std::string>& notes) {
  const std::string note = NoteOf(compared);
  if (note.empty()) return Text("");
  const auto number = std::find(notes.begin(), notes.end(), note) - notes.begin() + 1;
  return {.text = StrCat("[", number, "]"), .tooltip = note};
}

std::string HowText(const ComparedRow& compared) {
  return compared.is_simulated ? "simulated" : "not simulated";
}

std::string StatusText(const ExperimentSummary& summary) {
  return summary.wrong_status.empty() ? "as published"
                                      : StrCat(summary.wrong_status.size(), " wrong");
}

bool HasBounds(const ErrorBounds& bounds) {
  return bounds.mean || bounds.worst || bounds.worst_other || bounds.host_worst;
}

HtmlCell VerdictCell(const ExperimentRun& run) {
  const std::vector<std::string>& violations = run.summary.violations;
  if (!violations.empty()) {
    return {.text = StrCat(violations.size(), violations.size() == 1 ? " bound" : " bounds",
                           " violated"),
            .tone = CellTone::kBad,
            .tooltip = absl::StrJoin(violations, "\n")};
  }
  return {.text = HasBounds(run.experiment.bounds) ? "within bounds" : "status as published",
          .tone = CellTone::kGood};
}

std::vector<HtmlCell> SummaryRow(std::string name, const ExperimentSummary& summary,
                                 HtmlCell verdict) {
  std::vector<HtmlCell> cells = {Text(std::move(name)), Number(StrCat(summary.sound.rows))};
  const auto add = [&](const ErrorStatistics& statistics, double error, CellTone tone) {
    cells.push_back(statistics.rows == 0 ? Number("") : Number(PercentText(error), tone));
    cells.back().tooltip =
        statistics.worst_row.empty() || error != statistics.worst ? "" : statistics.worst_row;
  };
  add(summary.sound, summary.sound.mean, ToneOf(summary.sound.mean));
  add(summary.sound, summary.sound.worst, ToneOf(summary.sound.worst));
  add(summary.host, summary.host.worst, ToneOf(summary.host.worst));
  add(summary.other, summary.other.worst, CellTone::kPlain);
  add(summary.fitted, summary.fitted.worst, CellTone::kPlain);
  cells.push_back({.text = StatusText(summary),
                   .tone = summary.wrong_status.empty() ? CellTone::kGood : CellTone::kBad,
                   .tooltip = absl::StrJoin(summary.wrong_status, "\n")});
  cells.push_back(std::move(verdict));
  return cells;
}

std::string RateText(const std::optional<double>& value, double unit, std::string_view name) {
  return value.has_value() ? absl::StrFormat("%.4g %s", *value / unit, std::string(name))
                           : "as the machine's file has it";
}

}  // namespace

std::string_view UnitOf(Metric metric) {
  switch (metric) {
    case Metric::kTflops:
      return "TFLOPS";
    case Metric::kTokensPerSecond:
      return "tokens/s";
    case Metric::kStepSeconds:
      return "step seconds";
    case Metric::kHostGib:
      return "host GiB";
    case Metric::kStatus:
      break;
  }
  return "runs";
}

HtmlTable RowsTable(const ExperimentRun& run) {
  HtmlTable table{.header = Header({"row", "system", "figure"}, {"published", "simulated", "error",
                                                                 "horizon", "gain", "batch"})};
  for (const HtmlCell& cell : Header({"tier", "use", "how", "note"}, {})) {
    table.header.push_back(cell);
  }
  const std::vector<std::string> notes = NotesOf(run);
  for (const ComparedRow& compared : run.rows) {
    const PublishedRow& row = compared.result.row;
    const CellTone tone = row.use == RowUse::kIgnored ? CellTone::kMuted : CellTone::kPlain;
    std::vector<HtmlCell> cells = {Text(row.id), Text(row.system),
                                   Text(std::string(UnitOf(row.metric)))};
    cells.push_back(Number(PublishedText(row), tone));
    cells.push_back(Number(SimulatedText(compared),
                           compared.is_simulated ? CellTone::kPlain : CellTone::kMuted));
    cells.push_back(ErrorCell(compared));
    cells.push_back(HorizonCell(compared));
    cells.push_back(Number(GainText(compared)));
    cells.push_back(Number(compared.is_simulated ? StrCat(compared.result.batch) : ""));
    cells.back().tooltip =
        row.batch.has_value() ? "published" : "the largest the memory model allows";
    cells.push_back(Text(std::string(ToString(row.tier))));
    cells.push_back({.text = std::string(ToString(row.use)), .tone = tone});
    cells.push_back(Text(HowText(compared)));
    cells.push_back(NoteCell(compared, notes));
    table.rows.push_back(std::move(cells));
  }
  return table;
}

HtmlTable NotesTable(const ExperimentRun& run) {
  HtmlTable table{.header = Header({"note", "about the rows above"}, {})};
  for (const std::string& note : NotesOf(run)) {
    table.rows.push_back({Text(StrCat("[", table.rows.size() + 1, "]")), Text(note)});
  }
  return table;
}

CsvTable RowsCsv(const ExperimentRun& run) {
  CsvTable table{.header = {"id",
                            "system",
                            "machine",
                            "model",
                            "layers",
                            "hidden",
                            "ffn",
                            "sequence",
                            "batch",
                            "metric",
                            "published",
                            "relation",
                            "published_status",
                            "simulated",
                            "fits",
                            "error_percent",
                            "step_seconds",
                            "tokens_per_second",
                            "horizon",
                            "horizon_fits",
                            "tier",
                            "use",
                            "how",
                            "note"}};
  const auto whole = [](const std::optional<int64_t>& value) {
    return value.has_value() ? StrCat(*value) : "";
  };
  for (const ComparedRow& compared : run.rows) {
    const RowResult& result = compared.result;
    const PublishedRow& row = result.row;
    const bool ours = compared.is_simulated;
    std::optional<double> percent = ErrorOf(result);
    if (percent.has_value()) *percent *= 100;
    table.rows.push_back(
        {row.id,
         row.system,
         row.machine,
         row.model,
         whole(row.layers),
         whole(row.hidden),
         whole(row.ffn),
         StrCat(row.sequence),
         ours ? StrCat(result.batch) : "",
         std::string(ToString(row.metric)),
         Exact(row.published),
         row.lower_bound ? ">" : "=",
         std::string(ToString(row.status)),
         Exact(result.simulated),
         ours ? (result.fits ? "yes" : "no") : "",
         Exact(percent),
         ours ? StrCat(result.prediction.step_seconds) : "",
         ours ? StrCat(result.prediction.tokens_per_second) : "",
         Exact(HorizonValue(compared)),
         compared.horizon.empty() ? "" : (compared.horizon.front().fits ? "yes" : "no"),
         std::string(ToString(row.tier)),
         std::string(ToString(row.use)),
         HowText(compared),
         NoteOf(compared)});
  }
  return table;
}

HtmlTable LargestTable(std::span<const MachineLargest> machines) {
  HtmlTable table{.caption = "Largest models with strategy horizon (all simulated)",
                  .header = Header({"machine", "state", "largest by depth"},
                                   {"parameters", "tokens/s", "days a billion tokens"})};
  for (const HtmlCell& cell : Header({"limit", "largest real size"}, {"tokens/s"})) {
    table.header.push_back(cell);
  }
  for (const MachineLargest& entry : machines) {
    const LargestModels& models = entry.models;
    std::vector<HtmlCell> cells = {Text(entry.machine),
                                   Text(std::string(ToString(entry.state_format)))};
    if (models.by_depth.has_value()) {
      const Prediction& prediction = models.by_depth->answer.search.prediction;
      cells.push_back(Text(models.by_depth->name));
      cells.push_back(Number(BillionText(models.by_depth->parameters)));
      cells.push_back(Number(FigureText(prediction.tokens_per_second)));
      cells.push_back(Number(FigureText(models.by_depth->days_per_billion_tokens())));
    } else {
      cells.insert(cells.end(), {Text("none"), Number(""), Number(""), Number("")});
    }
    cells.push_back(Text(models.limit));
    cells.push_back(Text(models.by_size.has_value() ? models.by_size->name : "none"));
    cells.push_back(
        Number(models.by_size.has_value()
                   ? FigureText(models.by_size->answer.search.prediction.tokens_per_second)
                   : ""));
    table.rows.push_back(std::move(cells));
  }
  return table;
}

CsvTable LargestCsv(std::span<const MachineLargest> machines) {
  CsvTable table{.header = {"machine", "state_format", "kind", "model", "layers", "parameters",
                            "batch", "tokens_per_second", "limit", "how"}};
  for (const MachineLargest& entry : machines) {
    const auto add = [&](std::string_view kind, const std::optional<SizedModel>& model) {
      if (!model.has_value()) return;
      table.rows.push_back({entry.machine, std::string(ToString(entry.state_format)),
                            std::string(kind), model->name, StrCat(model->layers),
                            StrCat(model->parameters), StrCat(model->answer.job.micro_batch),
                            StrCat(model->answer.search.prediction.tokens_per_second),
                            entry.models.limit, "simulated"});
    };
    add("by_depth", entry.models.by_depth);
    add("by_size", entry.models.by_size);
  }
  return table;
}

HtmlTable SummaryTable(std::span<const ExperimentRun> runs) {
  HtmlTable table{
      .header = Header({"experiment"}, {"sound rows", "mean error", "worst error",
                                        "worst host error", "worst of tier B", "worst fitted"})};
  table.header.push_back(Text("ran or not"));
  table.header.push_back(Text("verdict"));
  for (const ExperimentRun& run : runs) {
    table.rows.push_back(SummaryRow(run.experiment.name, run.summary, VerdictCell(run)));
  }
  if (runs.size() > 1) {
    const size_t violations = ViolationsOf(runs).size();
    HtmlCell verdict{.text = violations == 0 ? "within bounds" : StrCat(violations, " violated"),
                     .tone = violations == 0 ? CellTone::kGood : CellTone::kBad};
    table.rows.push_back(SummaryRow("all", SummarizeAll(runs), std::move(verdict)));
  }
  return table;
}

CsvTable SummaryCsv(std::span<const ExperimentRun> runs) {
  CsvTable table{.header = {"experiment", "sound_rows", "mean_error_percent", "worst_error_percent",
                            "host_rows", "host_worst_error_percent", "tier_b_rows",
                            "tier_b_mean_error_percent", "tier_b_worst_error_percent",
                            "fitted_rows", "fitted_worst_error_percent", "wrong_status",
                            "violations"}};
  for (const ExperimentRun& run : runs) {
    const ExperimentSummary& summary = run.summary;
    table.rows.push_back({run.experiment.name, StrCat(summary.sound.rows),
                          StrCat(100 * summary.sound.mean), StrCat(100 * summary.sound.worst),
                          StrCat(summary.host.rows), StrCat(100 * summary.host.worst),
                          StrCat(summary.other.rows), StrCat(100 * summary.other.mean),
                          StrCat(100 * summary.other.worst), StrCat(summary.fitted.rows),
                          StrCat(100 * summary.fitted.worst), StrCat(summary.wrong_status.size()),
                          absl::StrJoin(summary.violations, "; ")});
  }
  return table;
}

HtmlTable ClaimsTable(std::span<const Claim> claims) {
  HtmlTable table{.header = Header({"claim"}, {"claimed", "simulated", "error"})};
  table.header.push_back(Text("rows"));
  table.header.push_back(Text("remark"));
  for (const Claim& claim : claims) {
    CellTone tone = CellTone::kPlain;
    if (claim.error.has_value()) tone = ToneOf(*claim.error);
    if (claim.agrees.has_value()) tone = *claim.agrees ? CellTone::kGood : CellTone::kBad;
    table.rows.push_back({Text(claim.what), Number(claim.claimed.empty() ? "-" : claim.claimed),
                          Number(claim.simulated), Number(claim.error_text, tone),
                          Text(claim.source), Text(claim.note)});
  }
  return table;
}

CsvTable ClaimsCsv(std::span<const Claim> claims) {
  CsvTable table{.header = {"claim", "claimed", "simulated", "error", "rows", "remark"}};
  for (const Claim& claim : claims) {
    table.rows.push_back(
        {claim.what, claim.claimed, claim.simulated, claim.error_text, claim.source, claim.note});
  }
  return table;
}

std::vector<HtmlTable> CalibrationTables(const Calibration& calibration) {
  HtmlTable machines{.caption = "Machines",
                     .header = Header({"machine"}, {"bf16 GEMM", "packing", "Adam"})};
  machines.header.push_back(Text("fitted on"));
  for (const MachineCalibration& entry : calibration.machines) {
    machines.rows.push_back(
        {Text(entry.machine), Number(RateText(entry.gemm_bf16_flops_per_second, 1e12, "TFLOPS")),
         Number(RateText(entry.pack_bytes_per_second, 1e9, "GB/s")),
         Number(RateText(entry.adam_parameters_per_second, 1e9, "G parameters/s")),
         Text(absl::StrJoin(entry.fitted_on, "; "))});
  }
  HtmlTable strategies{
      .caption = "Strategies",
      .header = Header({"strategy"}, {"share of the link", "process", "share of the device",
                                      "reserved on the device"})};
  strategies.header.push_back(Text("fitted on"));
  for (const StrategyCalibration& entry : calibration.strategies) {
    strategies.rows.push_back(
        {Text(std::string(ToString(entry.strategy))),
         Number(absl::StrFormat("%.4g", entry.software.link_share)),
         Number(absl::StrFormat("%.3g GiB", static_cast<double>(entry.software.process_bytes) /
                                                (1024.0 * 1024 * 1024))),
         Number(absl::StrFormat("%.3f", entry.batch_share)),
         Number(absl::StrFormat("%g bytes a parameter", entry.batch_reserve_bytes)),
         Text(absl::StrJoin(entry.fitted_on, "; "))});
  }
  return {std::move(machines), std::move(strategies)};
}

}  // namespace horizon
