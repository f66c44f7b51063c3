#include "experiments/summary/summary_rows.h"

#include <utility>

#include "common/text/percent.h"
#include "common/text/str_cat.h"
#include "common/text/text_table.h"

namespace horizon {
namespace {

bool HasBounds(const ErrorBounds& bounds) {
  return bounds.mean || bounds.worst || bounds.worst_other || bounds.host_worst;
}

SummaryRow RowOf(const ExperimentRun& run) {
  SummaryRow row{.experiment = run.experiment.name,
                 .summary = run.summary,
                 .holds = run.summary.violations.empty()};
  const size_t violated = run.summary.violations.size();
  if (violated > 0) {
    row.verdict = StrCat(violated, violated == 1 ? " bound" : " bounds", " violated");
  } else {
    row.verdict = HasBounds(run.experiment.bounds) ? "within bounds" : "status as published";
  }
  return row;
}

SummaryRow RowOfAll(std::span<const ExperimentRun> runs) {
  const size_t violated = ViolationsOf(runs).size();
  return {.experiment = "all",
          .summary = SummarizeAll(runs),
          .verdict = violated == 0 ? "within bounds" : StrCat(violated, " violated"),
          .holds = violated == 0};
}

}  // namespace

std::vector<SummaryRow> SummaryRows(std::span<const ExperimentRun> runs) {
  std::vector<SummaryRow> rows;
  for (const ExperimentRun& run : runs) rows.push_back(RowOf(run));
  if (runs.size() > 1) rows.push_back(RowOfAll(runs));
  return rows;
}

std::string ErrorText(const ErrorStatistics& statistics, double error) {
  return statistics.rows == 0 ? "" : Percent(error, 1);
}

std::string StatusText(const ExperimentSummary& summary) {
  return summary.wrong_status.empty() ? "as published"
                                      : StrCat(summary.wrong_status.size(), " wrong");
}

std::string ClaimedText(const Claim& claim) { return claim.claimed.empty() ? "-" : claim.claimed; }

std::string SummaryText(std::span<const ExperimentRun> runs) {
  // The errors of all sound rows, and of those of the published system itself.
  TextTable table({"experiment", "rows", "mean", "worst", "megatrain", "worst", "host",
                   "ran or not", "verdict"});
  for (const SummaryRow& row : SummaryRows(runs)) {
    const ExperimentSummary& summary = row.summary;
    table.AddRow({row.experiment, StrCat(summary.sound.rows),
                  ErrorText(summary.sound, summary.sound.mean),
                  ErrorText(summary.sound, summary.sound.worst),
                  ErrorText(summary.system, summary.system.mean),
                  ErrorText(summary.system, summary.system.worst),
                  ErrorText(summary.host, summary.host.worst), StatusText(summary), row.verdict});
  }
  return std::move(table).Finish();
}

std::string ClaimsText(std::span<const Claim> claims) {
  TextTable table({"claim", "claimed", "simulated", "error"});
  for (const Claim& claim : claims) {
    table.AddRow({claim.what, ClaimedText(claim), claim.simulated, claim.error_text});
  }
  return std::move(table).Finish();
}

}  // namespace horizon
