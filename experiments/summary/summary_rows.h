#pragma once

#include <span>
#include <string>
#include <vector>

#include "experiments/claims.h"
#include "experiments/run_experiments.h"

namespace horizon {

// What the summary says of one experiment, or of all: the terminal's table and the report's are
// both made from these rows.
struct SummaryRow {
  std::string experiment;  // its name; "all"
  ExperimentSummary summary;
  std::string verdict;  // "within bounds", "2 bounds violated"
  bool holds = true;    // no bound is violated
};
// One row for each experiment and, where there are several, one for all. Pure.
std::vector<SummaryRow> SummaryRows(std::span<const ExperimentRun> runs);

// An error of these statistics in percent, with one decimal; empty where they are of no rows.
std::string ErrorText(const ErrorStatistics& statistics, double error);
// Whether the rows ran where they ran in print: "as published", "2 wrong".
std::string StatusText(const ExperimentSummary& summary);
// The claimed figure; "-" where the paper claims none.
std::string ClaimedText(const Claim& claim);

// The same rows, and the claims, as tables for a terminal.
std::string SummaryText(std::span<const ExperimentRun> runs);
std::string ClaimsText(std::span<const Claim> claims);

}  // namespace horizon
