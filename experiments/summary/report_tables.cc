#include "experiments/summary/report_tables.h"

#include <optional>
#include <utility>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/text/str_cat.h"
#include "experiments/summary/report_cells.h"
#include "experiments/summary/summary_rows.h"

namespace horizon {
namespace {

std::string BillionText(uint64_t parameters) {
  return absl::StrFormat("%.1f B", static_cast<double>(parameters) * 1e-9);
}

std::vector<HtmlCell> CellsOf(const SummaryRow& row) {
  const ExperimentSummary& summary = row.summary;
  std::vector<HtmlCell> cells = {TextCell(row.experiment), NumberCell(StrCat(summary.sound.rows))};
  const auto add = [&](const ErrorStatistics& statistics, double error, CellTone tone) {
    cells.push_back(
        NumberCell(ErrorText(statistics, error), statistics.rows == 0 ? CellTone::kPlain : tone));
    cells.back().tooltip =
        statistics.worst_row.empty() || error != statistics.worst ? "" : statistics.worst_row;
  };
  add(summary.sound, summary.sound.mean, ToneOf(summary.sound.mean));
  add(summary.sound, summary.sound.worst, ToneOf(summary.sound.worst));
  add(summary.system, summary.system.mean, ToneOf(summary.system.mean));
  add(summary.system, summary.system.worst, ToneOf(summary.system.worst));
  add(summary.host, summary.host.worst, ToneOf(summary.host.worst));
  add(summary.other, summary.other.worst, CellTone::kPlain);
  add(summary.fitted, summary.fitted.worst, CellTone::kPlain);
  cells.push_back({.text = StatusText(summary),
                   .tone = summary.wrong_status.empty() ? CellTone::kGood : CellTone::kBad,
                   .tooltip = absl::StrJoin(summary.wrong_status, "\n")});
  cells.push_back({.text = row.verdict,
                   .tone = row.holds ? CellTone::kGood : CellTone::kBad,
                   .tooltip = absl::StrJoin(summary.violations, "\n")});
  return cells;
}

std::string SpeedText(const std::optional<FittedSpeed>& speed) {
  return speed.has_value()
             ? absl::StrFormat("x %.3g, within %.2g %%", speed->value, 100 * speed->deviation)
             : "as the catalog has it";
}

}  // namespace

HtmlTable LargestTable(std::span<const MachineLargest> machines) {
  HtmlTable table{.caption = "Largest models with strategy horizon (all simulated)",
                  .header = Header({"machine", "state", "largest by depth"},
                                   {"parameters", "tokens/s", "days a billion tokens"})};
  for (const HtmlCell& cell : Header({"limit", "largest real size"}, {"tokens/s"})) {
    table.header.push_back(cell);
  }
  for (const MachineLargest& entry : machines) {
    const LargestModels& models = entry.models;
    std::vector<HtmlCell> cells = {TextCell(entry.machine),
                                   TextCell(std::string(ToString(entry.state_format)))};
    if (models.by_depth.has_value()) {
      const Prediction& prediction = models.by_depth->answer.search.prediction;
      cells.push_back(TextCell(models.by_depth->name));
      cells.push_back(NumberCell(BillionText(models.by_depth->parameters)));
      cells.push_back(NumberCell(FigureText(prediction.tokens_per_second)));
      cells.push_back(NumberCell(FigureText(models.by_depth->days_per_billion_tokens())));
    } else {
      cells.insert(cells.end(), {TextCell("none"), NumberCell(""), NumberCell(""), NumberCell("")});
    }
    cells.push_back(TextCell(models.limit));
    cells.push_back(TextCell(models.by_size.has_value() ? models.by_size->name : "none"));
    cells.push_back(
        NumberCell(models.by_size.has_value()
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
      .header = Header({"experiment"},
                       {"sound rows", "mean error", "worst error", "megatrain mean",
                        "megatrain worst", "worst host error", "worst of tier B", "worst fitted"})};
  table.header.push_back(TextCell("ran or not"));
  table.header.push_back(TextCell("verdict"));
  for (const SummaryRow& row : SummaryRows(runs)) table.rows.push_back(CellsOf(row));
  return table;
}

CsvTable SummaryCsv(std::span<const ExperimentRun> runs) {
  CsvTable table{.header = {"experiment", "sound_rows", "mean_error_percent", "worst_error_percent",
                            "megatrain_rows", "megatrain_mean_error_percent",
                            "megatrain_worst_error_percent", "host_rows",
                            "host_worst_error_percent", "tier_b_rows", "tier_b_mean_error_percent",
                            "tier_b_worst_error_percent", "fitted_rows",
                            "fitted_worst_error_percent", "wrong_status", "violations"}};
  for (const ExperimentRun& run : runs) {
    const ExperimentSummary& summary = run.summary;
    table.rows.push_back(
        {run.experiment.name, StrCat(summary.sound.rows), StrCat(100 * summary.sound.mean),
         StrCat(100 * summary.sound.worst), StrCat(summary.system.rows),
         StrCat(100 * summary.system.mean), StrCat(100 * summary.system.worst),
         StrCat(summary.host.rows), StrCat(100 * summary.host.worst), StrCat(summary.other.rows),
         StrCat(100 * summary.other.mean), StrCat(100 * summary.other.worst),
         StrCat(summary.fitted.rows), StrCat(100 * summary.fitted.worst),
         StrCat(summary.wrong_status.size()), absl::StrJoin(summary.violations, "; ")});
  }
  return table;
}

HtmlTable ClaimsTable(std::span<const Claim> claims) {
  HtmlTable table{.header = Header({"claim"}, {"claimed", "simulated", "error"})};
  table.header.push_back(TextCell("rows"));
  table.header.push_back(TextCell("remark"));
  for (const Claim& claim : claims) {
    CellTone tone = CellTone::kPlain;
    if (claim.error.has_value()) tone = ToneOf(*claim.error);
    if (claim.agrees.has_value()) tone = *claim.agrees ? CellTone::kGood : CellTone::kBad;
    table.rows.push_back({TextCell(claim.what), NumberCell(ClaimedText(claim)),
                          NumberCell(claim.simulated), NumberCell(claim.error_text, tone),
                          TextCell(claim.source), TextCell(claim.note)});
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
  machines.header.push_back(TextCell("fitted on"));
  for (const MachineCalibration& entry : calibration.machines) {
    machines.rows.push_back({TextCell(entry.machine), NumberCell(SpeedText(entry.gemm)),
                             NumberCell(SpeedText(entry.pack)), NumberCell(SpeedText(entry.adam)),
                             TextCell(absl::StrJoin(entry.fitted_on, "; "))});
  }
  HtmlTable strategies{
      .caption = "Strategies",
      .header = Header({"strategy"}, {"share of the link", "Adam", "process", "share of the device",
                                      "reserved on the device"})};
  strategies.header.push_back(TextCell("fitted on"));
  for (const StrategyCalibration& entry : calibration.strategies) {
    strategies.rows.push_back(
        {TextCell(std::string(ToString(entry.strategy))),
         NumberCell(absl::StrFormat("%.4g", entry.software.link_share)),
         NumberCell(absl::StrFormat("x %.4g", entry.software.adam_speed)),
         NumberCell(absl::StrFormat("%.3g GiB", static_cast<double>(entry.software.process_bytes) /
                                                    (1024.0 * 1024 * 1024))),
         NumberCell(absl::StrFormat("%.3f", entry.batch_share)),
         NumberCell(absl::StrFormat("%g bytes a parameter", entry.batch_reserve_bytes)),
         TextCell(absl::StrJoin(entry.fitted_on, "; "))});
  }
  return {std::move(machines), std::move(strategies)};
}

}  // namespace horizon
