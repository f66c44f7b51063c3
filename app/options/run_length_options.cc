#include "app/options/run_length_options.h"

#include "common/status_macros.h"

namespace horizon {

void RunLengthOptions::AddTo(OptionList& list) {
  list.options.push_back({.name = "tokens",
                          .value = &tokens,
                          .unit = "number",
                          .help = "Length of the training in tokens, such as 10M or 1.5B, to show "
                                  "how long it takes (default 1B)"});
  list.options.push_back({.name = "price-per-hour",
                          .value = &price_per_hour,
                          .unit = "money",
                          .help = "Price of the machine per hour, to show what the training costs",
                          .minimum = 0});
}

absl::StatusOr<RunLength> RunLengthOptions::Read() const {
  RunLength length{.price_per_hour = price_per_hour};
  if (tokens.has_value()) {
    ASSIGN_OR_RETURN(length.tokens, ParseTokens(*tokens));
  }
  return length;
}

}  // namespace horizon
