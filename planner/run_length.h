#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "common/documents/json.h"

namespace horizon {

// Turns tokens/s into days and money, given the length of a training and the price of an hour. For
// example, 10M tokens at 581 tokens/s take 4.78 hours, and cost 12.0 at 2.5 an hour.
// Of a training that is given by its data, the steps are known: 132 steps of 2 x 8 x 1024 tokens.

// The data of such a training, as training/count_steps.h counts it.
struct RunData {
  int64_t epochs = 1;
  int64_t samples = 0;  // of one epoch
  int64_t rows = 0;     // of all epochs
  int64_t steps = 0;    // that train on them; the last one may be filled up with padding
};

struct RunLength {
  // Of the whole training; none: 10^9 stand for it. With `data`, what its steps compute, padding
  // included.
  std::optional<double> tokens;
  std::optional<RunData> data;           // none: only the number of tokens is known
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
// "4.78 hours for 10M tokens, 12.0 at 2.5 an hour", or "4.78 hours for 132 steps (3 epochs of 1,000
// samples in 2,100 rows)".
std::string RunLengthText(const RunLength& length, double tokens_per_second);
// "10M", "1.5B", "250000": what ParseTokens reads back; 10^9 is "1B".
std::string TokensText(double tokens);
// What is behind "time for" in the heading of a table: "10M tokens", "3 epochs of 1,000 samples".
std::string RunLengthTitle(const RunLength& length);
// The member "run": {"tokens", "epochs", "samples", "rows", "steps", "seconds", "price"} of the
// JSON object that is open. Writes nothing where `length` is empty.
void WriteRunLength(const RunLength& length, double tokens_per_second, JsonWriter& writer);

}  // namespace horizon
