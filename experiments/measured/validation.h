#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "experiments/measured/measured_run.h"

namespace horizon {

// Measures how far predictions are off on this machine, with a set of runs that differ in shape,
// buffer depth, checkpoint interval K, sequence, arena, optimizer state and link limit, four of
// them mixtures of experts and two with the shapes of published models. Each run is predicted, then
// made.

// How many cases are run.
enum class ValidationSize { kQuick, kFull };
// At least 12 cases (full), or four of them (quick).
std::vector<MeasuredCase> ValidationCases(ValidationSize size, int64_t threads);

// One case with its run.
struct ValidationRow {
  std::string name;
  MeasuredRun run;
};

// Errors of the step time over all rows, as fractions.
struct StepErrors {
  double median = 0;
  double worst = 0;
};

// All rows of a validation.
struct Validation {
  std::vector<ValidationRow> rows;
  // The cases that need more memory than the process may use, each with the reason.
  std::vector<std::string> left_out;
  std::string other;  // name of the second profile that predictions were made from; empty: none

  // Median and maximum of the absolute error of the step time. `of` is step_error, error_during or
  // other_error.
  StepErrors errors(double (MeasuredRun::*of)() const) const;
  // The rows whose peak of host memory was above the prediction, or below it by more than 3 % and
  // 64 MiB, and the rows whose arena was not exact.
  std::vector<std::string> memory_misses() const;
  // Counts the pairs of rows whose predicted step times differ by more than `apart` (a fraction),
  // and those of them that were measured in the opposite order.
  struct Order {
    int64_t pairs = 0;
    int64_t wrong = 0;
  };
  Order order(double apart) const;

  std::string Text() const;
  std::string Json() const;
};

// Runs the cases one after the other and calls `on_case` with the name of each before it begins. A
// case that needs more memory than there is is left out. Returns the first other error.
absl::StatusOr<Validation> Validate(const std::vector<MeasuredCase>& cases,
                                    const MeasuredOptions& options,
                                    const std::function<void(const std::string&)>& on_case);

}  // namespace horizon
