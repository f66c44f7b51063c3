#pragma once

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "app/options/option.h"
#include "planner/run_length.h"

namespace horizon {

// The options that turn tokens/s into hours and money: --tokens and --price-per-hour. (A data file
// with a number of epochs would be another way to say how many tokens there are.)
struct RunLengthOptions {
  std::optional<std::string> tokens;
  std::optional<double> price_per_hour;

  void AddTo(OptionList& list);
  // InvalidArgument for a number of tokens that cannot be read.
  absl::StatusOr<RunLength> Read() const;
};

}  // namespace horizon
