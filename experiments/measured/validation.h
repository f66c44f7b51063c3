#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "experiments/measured/measured_run.h"

namespace horizon {

// How far predictions are off on this machine: a set of runs that differ in shape, depth of the
// ring, K, sequence, arena and link limit, each predicted and then made.

enum class ValidationSize { kQuick, kFull };
// 12 and more cases (full), or four of them.
std::vector<MeasuredCase> ValidationCases(ValidationSize size, int64_t threads);

struct ValidationRow {
  std::string name;
  MeasuredRun run;
};

struct StepErrors {
  double median = 0;
  double worst = 0;
};

struct Validation {
  std::vector<ValidationRow> rows;
  std::string other;  // whose predictions stand beside: a name; empty: nobody's

  // Of |measured / predicted - 1| of the steps: `of` is step_error, error_during or other_error.
  StepErrors errors(double (MeasuredRun::*of)() const) const;
  // Rows whose peak was above the prediction, or more than 3 % and 64 MiB below; whose arena was
  // not exact.
  std::vector<std::string> memory_misses() const;
  // Pairs of rows whose predicted steps differ by more than `apart` (a share), and those of them
  // that were measured in the other order.
  struct Order {
    int64_t pairs = 0;
    int64_t wrong = 0;
  };
  Order order(double apart) const;

  std::string Text() const;
  std::string Json() const;
};

// Runs the cases one after the other; `on_case` hears the name of each before it begins. The first
// error ends it.
absl::StatusOr<Validation> Validate(const std::vector<MeasuredCase>& cases,
                                    const MeasuredOptions& options,
                                    const std::function<void(const std::string&)>& on_case);

}  // namespace horizon
