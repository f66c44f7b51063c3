#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/text/wrap.h"
#include "experiments/accuracy/accuracy.h"
#include "experiments/summary/write_report.h"

namespace horizon {

// Shows the results of the accuracy experiment, for people and programs. Our figures and the
// published ones are in separate tables, since model and data are not the same.

// Share of right answers over the seeds of a row.
struct AccuracySpread {
  double mean = 0;
  double least = 0;
  double most = 0;
};
AccuracySpread SpreadOf(const AccuracyRow& row, int64_t held_out);

// Whether run i of both rows ended with the same bits and gave the same answers, for all i.
bool SameRuns(const AccuracyRow& streamed, const AccuracyRow& resident);

// The requirements that the results violate; empty if there are none. Required: `horizon` equals
// `resident` bit for bit, and with every seed a trained model answers more problems correctly than
// before training.
std::vector<std::string> AccuracyViolations(const AccuracyResult& result);

// The published table (experiments/accuracy/published.csv, part of the program).
struct PublishedAccuracy {
  std::string model;
  std::string dataset;
  std::string system;
  std::optional<double> percent;  // exact match; empty: not published
  std::string note;
};
absl::StatusOr<std::vector<PublishedAccuracy>> LoadPublishedAccuracy();

// The answer of the command, as text or JSON; `report` is the page's path, `columns` the width of
// the terminal, or kAnyWidth.
std::string AccuracyText(const AccuracyResult& result,
                         const std::vector<PublishedAccuracy>& published, std::string_view report,
                         size_t columns = kAnyWidth);
std::string AccuracyJson(const AccuracyResult& result, std::string_view report);

// The files accuracy.csv (one line for each run), accuracy_published.csv and accuracy.html.
std::vector<ReportFile> AccuracyFiles(const AccuracyResult& result,
                                      const std::vector<PublishedAccuracy>& published);

}  // namespace horizon
