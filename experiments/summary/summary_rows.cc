#include "experiments/summary/summary_rows.h"

#include <algorithm>
#include <utility>

#include "common/text/percent.h"
#include "common/text/str_cat.h"
#include "common/text/text_table.h"

namespace horizon {
namespace {

// The largest error of the rows that do not hold.
double WorstOf(const ExperimentSummary& summary) {
  double worst = 0;
  for (const ErrorStatistics* statistics : {&summary.sound, &summary.host, &summary.other}) {
    worst = std::max(worst, statistics->worst);
  }
  return worst;
}

std::string VerdictOf(const ExperimentSummary& summary) {
  const std::string off = StrCat(" by up to ", Percent(WorstOf(summary), 1));
  std::string verdict;
  if (!summary.missed.empty()) {
    verdict = StrCat("misses ", summary.missed.size(), " of ", summary.judged(), " rows", off);
  } else if (summary.close > 0) {
    verdict = StrCat("close, ", summary.close, " of ", summary.judged(), " rows off", off);
  } else if (summary.judged() > 0) {
    verdict = "holds";
  }
  const size_t wrong = summary.wrong_status.size();
  if (wrong > 0) {
    verdict += StrCat(verdict.empty() ? "" : "; ", wrong, wrong == 1 ? " run ends" : " runs end",
                      " otherwise than published");
  }
  return verdict.empty() ? "runs as published" : verdict;
}

SummaryRow RowOf(const ExperimentRun& run) {
  return {.experiment = run.experiment.name,
          .title = run.experiment.title,
          .summary = run.summary,
          .verdict = VerdictOf(run.summary),
          .violations = run.summary.violations.size()};
}

SummaryRow RowOfAll(std::span<const ExperimentRun> runs) {
  SummaryRow row{.experiment = "all", .title = "All", .summary = SummarizeAll(runs)};
  row.verdict = VerdictOf(row.summary);
  row.violations = ViolationsOf(runs).size();
  return row;
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
                                      : StrCat(summary.wrong_status.size(), " differ");
}

std::string ClaimedText(const Claim& claim) { return claim.claimed.empty() ? "-" : claim.claimed; }

namespace {

// Every count in a column of its own.
std::string WholeSummary(std::span<const SummaryRow> rows) {
  TextTable table({"experiment", "judged", "hold", "close", "miss", "mean", "worst", "verdict"});
  for (const SummaryRow& row : rows) {
    const ExperimentSummary& summary = row.summary;
    const bool any = summary.judged() > 0;
    const auto count = [&](int64_t of) { return any ? StrCat(of) : ""; };
    table.AddRow({row.experiment, count(summary.judged()), count(summary.holding),
                  count(summary.close), count(static_cast<int64_t>(summary.missed.size())),
                  ErrorText(summary.sound, summary.sound.mean),
                  any ? Percent(WorstOf(summary), 1) : "", row.verdict});
  }
  return std::move(table).Finish();
}

// What the verdict says in words is left out of the columns.
std::string NarrowSummary(std::span<const SummaryRow> rows, size_t columns) {
  TextTable table({"experiment", "close", "mean", "verdict"});
  for (const SummaryRow& row : rows) {
    const ExperimentSummary& summary = row.summary;
    table.AddRow({row.experiment, summary.judged() > 0 ? StrCat(summary.close) : "",
                  ErrorText(summary.sound, summary.sound.mean), row.verdict});
  }
  return std::move(table).Finish(columns);
}

}  // namespace

std::string SummaryText(std::span<const ExperimentRun> runs, size_t columns) {
  const std::vector<SummaryRow> rows = SummaryRows(runs);
  std::string whole = WholeSummary(rows);
  const size_t rule = whole.find('\n') + 1;  // which is as wide as the table
  return whole.find('\n', rule) - rule <= columns ? whole : NarrowSummary(rows, columns);
}

std::string ClaimsText(std::span<const Claim> claims, size_t columns) {
  TextTable table({"claim", "paper", "simulated", "verdict"});
  for (const Claim& claim : claims) {
    table.AddRow({claim.what, ClaimedText(claim), claim.simulated, VerdictOf(claim)});
  }
  return std::move(table).Finish(columns);
}

}  // namespace horizon
