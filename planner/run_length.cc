#include "planner/run_length.h"

#include <cmath>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "common/text/quote.h"
#include "common/text/str_cat.h"
#include "common/units.h"

namespace horizon {
namespace {

constexpr double kUsualTokens = 1e9;

struct Suffix {
  char letter;
  double factor;
};
constexpr Suffix kSuffixes[] = {{'T', 1e12}, {'B', 1e9}, {'G', 1e9},
                                {'M', 1e6},  {'k', 1e3}, {'K', 1e3}};

std::string Counted(int64_t count, std::string_view what) {
  return StrCat(WithCommas(static_cast<uint64_t>(count)), " ", what, count == 1 ? "" : "s");
}

}  // namespace

double RunLength::seconds(double tokens_per_second) const {
  return tokens.value_or(kUsualTokens) / tokens_per_second;
}

std::optional<double> RunLength::price(double tokens_per_second) const {
  if (!price_per_hour.has_value()) return std::nullopt;
  return seconds(tokens_per_second) / 3600 * *price_per_hour;
}

absl::StatusOr<double> ParseTokens(std::string_view text) {
  std::string_view number = text;
  double factor = 1;
  for (const Suffix& suffix : kSuffixes) {
    if (number.empty() || number.back() != suffix.letter) continue;
    factor = suffix.factor;
    number.remove_suffix(1);
    break;
  }
  double value = 0;
  const bool is_number = !number.empty() && absl::SimpleAtod(std::string(number), &value);
  // A number of tokens that no machine will ever see is a slip too.
  if (!is_number || !(value * factor >= 1) || value * factor > 1e18) {
    return absl::InvalidArgumentError(
        StrCat("--tokens needs a number of tokens such as 10M, 1.5B or 250000; found ",
               Quoted(std::string(text))));
  }
  return value * factor;
}

std::string RunDurationText(double seconds) {
  if (seconds < 60) return StrCat(ShortNumber(seconds), " seconds");
  if (seconds < 2 * 3600) return StrCat(ShortNumber(seconds / 60), " minutes");
  if (seconds < 48 * 3600) return StrCat(ShortNumber(seconds / 3600), " hours");
  return StrCat(ShortNumber(seconds / 86400), " days");
}

std::string TokensText(double tokens) {
  for (const Suffix& suffix : kSuffixes) {
    const double count = tokens / suffix.factor;
    // As many digits as were meant, and no more: 1500000 is 1.5M, 1234567 stays as it is.
    if (count >= 1 && count * 100 == std::floor(count * 100)) {
      return absl::StrFormat("%g%c", count, suffix.letter);
    }
  }
  return absl::StrFormat("%.0f", tokens);
}

std::string RunLengthTitle(const RunLength& length) {
  if (!length.data.has_value()) {
    return StrCat(TokensText(length.tokens.value_or(kUsualTokens)), " tokens");
  }
  return StrCat(Counted(length.data->epochs, "epoch"), " of ",
                Counted(length.data->samples, "sample"));
}

std::string RunLengthText(const RunLength& length, double tokens_per_second) {
  std::string text = StrCat(RunDurationText(length.seconds(tokens_per_second)), " for ");
  if (length.data.has_value()) {
    text += StrCat(Counted(length.data->steps, "step"), " (", RunLengthTitle(length), " in ",
                   Counted(length.data->rows, "row"), ")");
  } else {
    text += RunLengthTitle(length);
  }
  if (const std::optional<double> price = length.price(tokens_per_second)) {
    text +=
        StrCat(", ", ShortNumber(*price), " at ", ShortNumber(*length.price_per_hour), " an hour");
  }
  return text;
}

void WriteRunLength(const RunLength& length, double tokens_per_second, JsonWriter& writer) {
  if (!length.tokens.has_value() && !length.price_per_hour.has_value()) return;
  writer.Key("run").BeginObject();
  writer.Key("tokens").Number(length.tokens.value_or(kUsualTokens));
  if (length.data.has_value()) {
    writer.Key("epochs").Integer(length.data->epochs);
    writer.Key("samples").Integer(length.data->samples);
    writer.Key("rows").Integer(length.data->rows);
    writer.Key("steps").Integer(length.data->steps);
  }
  writer.Key("seconds").Number(length.seconds(tokens_per_second));
  if (const std::optional<double> price = length.price(tokens_per_second)) {
    writer.Key("price").Number(*price);
  }
  writer.EndObject();
}

}  // namespace horizon
