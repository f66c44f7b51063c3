#pragma once

#include <span>
#include <string>
#include <vector>

#include "common/text/wrap.h"
#include "experiments/claims.h"
#include "experiments/run_experiments.h"

namespace horizon {

// One row of the summary: of one experiment, or of all. The tables of the terminal and of the
// report are both made from these rows.
struct SummaryRow {
  std::string experiment;  // its name, or "all"
  std::string title;       // for people: "Depth scaling on GH200"
  ExperimentSummary summary;
  // How the judged figures agree with the published ones: "holds", "close, 1 of 8 rows off by up to
  // 11.4 %", "misses 4 of 7 rows by up to 90.2 %"; "runs as published" where no figure is judged.
  std::string verdict;
  size_t violations = 0;  // of the bounds that catch a drift of the simulator
};
// One row for each experiment and, if there are several, one for all of them. Pure.
std::vector<SummaryRow> SummaryRows(std::span<const ExperimentRun> runs);

// `error`, one of the errors of `statistics`, in percent with one decimal; empty if the statistics
// have no rows.
std::string ErrorText(const ErrorStatistics& statistics, double error);
// Whether the simulated runs fit or run out of memory as published: "as published", "2 differ".
std::string StatusText(const ExperimentSummary& summary);
// The claimed figure; "-" if the paper claims none.
std::string ClaimedText(const Claim& claim);

// The same rows, and the claims, as tables for a terminal.
// In a terminal of `columns` columns, or kAnyWidth: one that is too narrow for all counts shows
// those that the verdict does not repeat.
std::string SummaryText(std::span<const ExperimentRun> runs, size_t columns = kAnyWidth);
std::string ClaimsText(std::span<const Claim> claims, size_t columns = kAnyWidth);

}  // namespace horizon
