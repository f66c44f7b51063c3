#include "app/options/run_length_options.h"

#include "common/status_macros.h"

namespace horizon {

void RunLengthOptions::AddTo(OptionList& list) {
  list.options.push_back({.name = "tokens",
                          .value = &tokens,
                          .unit = "number",
                          .help = "Tokens of the whole training (10M, 1.5B), to say how long it "
                                  "takes; not given: 1B"});
  list.options.push_back({.name = "price-per-hour",
                          .value = &price_per_hour,
                          .unit = "money",
                          .help = "What an hour of the machine costs, to say what that costs",
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
