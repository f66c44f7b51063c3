#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "common/documents/json.h"

namespace horizon {

// Turns tokens/s into days and money, given the length of a training and the price of an hour. For
// example, 10M tokens at 581 tokens/s take 4.78 hours, and cost 12.0 at 2.5 an hour.
struct RunLength {
  std::optional<double> tokens;          // of the whole training; none: 10^9 stand for it
  std::optional<double> price_per_hour;  // in any currency

  double seconds(double tokens_per_second) const;
  std::optional<double> price(double tokens_per_second) const;
};

// Reads a number of tokens: "250000", "10M", "1.5B", "2e9". k, M, B (or G) and T stand for
// thousand, million, billion and trillion. InvalidArgument, with an example, for anything else and
// for less than one token.
absl::StatusOr<double> ParseTokens(std::string_view text);

// "4.78 hours" or "19.9 days": minutes below two hours, days from two days on.
std::string RunDurationText(double seconds);
// "4.78 hours for 10M tokens, 12.0 at 2.5 an hour".
std::string RunLengthText(const RunLength& length, double tokens_per_second);
// "10M", "1.5B", "250000": what ParseTokens reads back; 10^9 is "1B".
std::string TokensText(double tokens);
// The members "run": {"tokens", "seconds", "price"} of the JSON object that is open. Writes nothing
// where neither number of `length` is given.
void WriteRunLength(const RunLength& length, double tokens_per_second, JsonWriter& writer);

}  // namespace horizon
