#include "experiments/summary/report_tables.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "common/text/percent.h"
#include "common/text/str_cat.h"
#include "experiments/agreement.h"
#include "experiments/row_table.h"
#include "experiments/summary/report_cells.h"
#include "experiments/summary/summary_rows.h"

namespace horizon {
namespace {

std::string BillionText(uint64_t parameters) {
  return absl::StrFormat("%.1f B", static_cast<double>(parameters) * 1e-9);
}

// A title where one is known, else the name of a file or a rate with spaces.
std::string Spaced(std::string_view name) {
  return absl::StrReplaceAll(std::string(name), {{"_", " "}});
}

std::vector<HtmlCell> CellsOf(const SummaryRow& row) {
  const ExperimentSummary& summary = row.summary;
  const bool any = summary.judged() > 0;
  std::vector<HtmlCell> cells = {
      TextCell(row.title),
      {.text = row.verdict,
       .tone =
           any || !summary.wrong_status.empty() ? ToneOf(summary.agreement()) : CellTone::kPlain,
       .tooltip = absl::StrJoin(summary.wrong_status, "\n")}};
  const auto count = [&](int64_t rows) { cells.push_back(NumberCell(any ? StrCat(rows) : "")); };
  count(summary.holding);
  count(summary.close);
  count(static_cast<int64_t>(summary.missed.size()));
  const auto add = [&](const ErrorStatistics& statistics, double error) {
    cells.push_back(NumberCell(ErrorText(statistics, error)));
    cells.back().tooltip = error == statistics.worst ? Spaced(statistics.worst_row) : "";
  };
  add(summary.sound, summary.sound.mean);
  add(summary.sound, summary.sound.worst);
  add(summary.host, summary.host.worst);
  cells.push_back(row.violations == 0
                      ? TextCell("unchanged")
                      : HtmlCell{.text = StrCat(row.violations, " exceeded"),
                                 .tone = CellTone::kBad,
                                 .tooltip = absl::StrJoin(summary.violations, "\n")});
  return cells;
}

std::string SpeedText(const std::optional<FittedSpeed>& speed) {
  return speed.has_value()
             ? absl::StrFormat("x %.3g, within %.0f %%", speed->value, 100 * speed->deviation)
             : "as the catalog has it";
}

}  // namespace

HtmlTable LargestTable(std::span<const MachineLargest> machines) {
  HtmlTable table{.caption = "Largest models with strategy horizon (all simulated)",
                  .header = Header({"machine", "optimizer state", "largest by depth"},
                                   {"parameters", "tokens/s", "days per billion tokens"})};
  for (const HtmlCell& cell : Header({"limit", "largest published model"}, {"tokens/s"})) {
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
      .header = Header({"experiment", "verdict"},
                       {"hold", "close", "miss", "mean error", "worst error", "host memory"})};
  table.header.push_back(TextCell("drift"));
  for (const SummaryRow& row : SummaryRows(runs)) table.rows.push_back(CellsOf(row));
  return table;
}

CsvTable SummaryCsv(std::span<const ExperimentRun> runs) {
  CsvTable table{.header = {"experiment",
                            "sound_rows",
                            "mean_error_percent",
                            "worst_error_percent",
                            "megatrain_rows",
                            "megatrain_mean_error_percent",
                            "megatrain_worst_error_percent",
                            "host_rows",
                            "host_worst_error_percent",
                            "tier_b_rows",
                            "tier_b_mean_error_percent",
                            "tier_b_worst_error_percent",
                            "fitted_rows",
                            "fitted_worst_error_percent",
                            "judged_rows",
                            "holding_rows",
                            "close_rows",
                            "missed_rows",
                            "wrong_status",
                            "violations"}};
  for (const ExperimentRun& run : runs) {
    const ExperimentSummary& summary = run.summary;
    table.rows.push_back({run.experiment.name,
                          StrCat(summary.sound.rows),
                          StrCat(100 * summary.sound.mean),
                          StrCat(100 * summary.sound.worst),
                          StrCat(summary.system.rows),
                          StrCat(100 * summary.system.mean),
                          StrCat(100 * summary.system.worst),
                          StrCat(summary.host.rows),
                          StrCat(100 * summary.host.worst),
                          StrCat(summary.other.rows),
                          StrCat(100 * summary.other.mean),
                          StrCat(100 * summary.other.worst),
                          StrCat(summary.fitted.rows),
                          StrCat(100 * summary.fitted.worst),
                          StrCat(summary.judged()),
                          StrCat(summary.holding),
                          StrCat(summary.close),
                          StrCat(summary.missed.size()),
                          StrCat(summary.wrong_status.size()),
                          absl::StrJoin(summary.violations, "; ")});
  }
  return table;
}

std::vector<MissGroup> GroupMisses(std::span<const ExperimentRun> runs) {
  std::vector<MissGroup> groups;
  for (const ExperimentRun& run : runs) {
    // The groups of this experiment, one for each reason.
    const auto first = static_cast<std::ptrdiff_t>(groups.size());
    for (const MissedRow& missed : run.summary.missed) {
      auto group = std::find_if(groups.begin() + first, groups.end(),
                                [&](const MissGroup& one) { return one.reason == missed.reason; });
      if (group == groups.end()) {
        group =
            groups.insert(group, {.experiment = run.experiment.title,
                                  .reason = missed.reason,
                                  .table = {.header = Header({"row", "system", "figure"},
                                                             {"paper", "simulated", "off by"})}});
      }
      const RowResult& result = run.rows[missed.row].result;
      group->table.rows.push_back({TextCell(RowTitle(result.row)),
                                   TextCell(SystemTitle(result.row.system)),
                                   TextCell(std::string(UnitOf(result.row.metric))),
                                   NumberCell(StrCat(result.row.lower_bound ? "> " : "",
                                                     FigureText(result.row.published.value_or(0)))),
                                   NumberCell(FigureText(result.simulated.value_or(0))),
                                   NumberCell(SignedPercent(missed.error), CellTone::kBad)});
    }
  }
  return groups;
}

HtmlTable ClaimsTable(std::span<const Claim> claims) {
  HtmlTable table{.header = Header({"claim", "verdict"}, {"paper", "simulated"})};
  table.header.push_back(TextCell("remark"));
  // What the paper does not claim has no verdict and stands last.
  for (const bool is_claimed : {true, false}) {
    for (const Claim& claim : claims) {
      if (claim.agreement.has_value() != is_claimed) continue;
      HtmlCell verdict = TextCell(is_claimed ? VerdictOf(claim) : "not claimed");
      verdict.tone = !is_claimed || claim.is_fitted ? CellTone::kMuted : ToneOf(*claim.agreement);
      table.rows.push_back({{.text = claim.what, .tooltip = Spaced(claim.source)},
                            std::move(verdict),
                            NumberCell(ClaimedText(claim)),
                            NumberCell(claim.simulated),
                            TextCell(claim.note)});
    }
  }
  return table;
}

CsvTable ClaimsCsv(std::span<const Claim> claims) {
  CsvTable table{.header = {"claim", "claimed", "simulated", "error", "verdict", "rows", "remark"}};
  for (const Claim& claim : claims) {
    table.rows.push_back({claim.what, claim.claimed, claim.simulated, claim.error_text,
                          VerdictOf(claim), claim.source, claim.note});
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
                             TextCell(Spaced(absl::StrJoin(entry.fitted_on, "; ")))});
  }
  HtmlTable strategies{
      .caption = "Strategies",
      .header = Header({"strategy"}, {"share of the link", "Adam", "process", "share of the device",
                                      "reserved on the device"})};
  strategies.header.push_back(TextCell("fitted on"));
  for (const StrategyCalibration& entry : calibration.strategies) {
    strategies.rows.push_back(
        {TextCell(SystemTitle(std::string(ToString(entry.strategy)))),
         NumberCell(absl::StrFormat("%.4g", entry.software.link_share)),
         NumberCell(absl::StrFormat("x %.4g", entry.software.adam_speed)),
         NumberCell(absl::StrFormat("%.3g GiB", static_cast<double>(entry.software.process_bytes) /
                                                    (1024.0 * 1024 * 1024))),
         NumberCell(absl::StrFormat("%.3f", entry.batch_share)),
         NumberCell(absl::StrFormat("%g bytes per parameter", entry.batch_reserve_bytes)),
         TextCell(Spaced(absl::StrJoin(entry.fitted_on, "; ")))});
  }
  return {std::move(machines), std::move(strategies)};
}

}  // namespace horizon
