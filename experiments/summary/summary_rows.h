#pragma once

#include <span>
#include <string>
#include <vector>

#include "experiments/claims.h"
#include "experiments/run_experiments.h"

namespace horizon {

// One row of the summary: of one experiment, or of all. The tables of the terminal and of the
// report are both made from these rows.
struct SummaryRow {
  std::string experiment;  // its name, or "all"
  ExperimentSummary summary;
  std::string verdict;  // "within bounds", "2 bounds violated"
  bool holds = true;    // no bound is violated
};
// One row for each experiment and, if there are several, one for all of them. Pure.
std::vector<SummaryRow> SummaryRows(std::span<const ExperimentRun> runs);

// `error`, one of the errors of `statistics`, in percent with one decimal; empty if the statistics
// have no rows.
std::string ErrorText(const ErrorStatistics& statistics, double error);
// Whether the simulated runs fit or run out of memory as published: "as published", "2 wrong".
std::string StatusText(const ExperimentSummary& summary);
// The claimed figure; "-" if the paper claims none.
std::string ClaimedText(const Claim& claim);

// The same rows, and the claims, as tables for a terminal.
std::string SummaryText(std::span<const ExperimentRun> runs);
std::string ClaimsText(std::span<const Claim> claims);

}  // namespace horizon
