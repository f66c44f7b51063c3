#include "model/tokenizer/text/rust_number.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "common/text/str_cat.h"

namespace horizon {
namespace {

constexpr int64_t kLargestPower = 308;
constexpr int64_t kLargestExponent = int64_t{1} << 31;

// The double nearest to 10^exponent, 0 to 308.
double PowerOfTen(int64_t exponent) {
  const std::string literal = StrCat("1e", exponent);
  double power = 0;
  std::from_chars(literal.data(), literal.data() + literal.size(), power);
  return power;
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Reads digits from the front of `rest` into `significand` until one does not fit, and passes over
// the others. How many were read, and how many there were.
struct Digits {
  int64_t taken = 0;
  int64_t all = 0;
};
Digits TakeDigits(std::string_view& rest, uint64_t& significand, bool& is_full) {
  Digits digits;
  for (; !rest.empty() && IsDigit(rest[0]); rest.remove_prefix(1)) {
    const auto digit = static_cast<uint64_t>(rest[0] - '0');
    is_full = is_full || significand > (std::numeric_limits<uint64_t>::max() - digit) / 10;
    ++digits.all;
    if (is_full) continue;
    significand = significand * 10 + digit;
    ++digits.taken;
  }
  return digits;
}

int64_t TakeExponent(std::string_view rest) {
  const bool is_negative = rest.starts_with("-");
  if (is_negative || rest.starts_with("+")) rest.remove_prefix(1);
  int64_t exponent = 0;
  for (; !rest.empty() && IsDigit(rest[0]); rest.remove_prefix(1)) {
    exponent = std::min(exponent * 10 + (rest[0] - '0'), kLargestExponent);
  }
  return is_negative ? -exponent : exponent;
}

}  // namespace

std::optional<double> ReadLikeSerde(std::string_view literal) {
  const bool is_negative = literal.starts_with("-");
  if (is_negative) literal.remove_prefix(1);
  uint64_t significand = 0;
  bool is_full = false;
  const Digits whole = TakeDigits(literal, significand, is_full);
  int64_t exponent = whole.all - whole.taken;
  if (literal.starts_with(".")) {
    literal.remove_prefix(1);
    // Behind whole digits that did not fit, the library goes on with those that do.
    bool is_fraction_full = false;
    exponent -= TakeDigits(literal, significand, is_fraction_full).taken;
  }
  if (literal.starts_with("e") || literal.starts_with("E")) {
    exponent += TakeExponent(literal.substr(1));
  }
  auto value = static_cast<double>(significand);
  while (value != 0 && exponent < -kLargestPower) {
    value /= PowerOfTen(kLargestPower);
    exponent += kLargestPower;
  }
  if (value != 0) {
    if (exponent > kLargestPower) return std::nullopt;
    value = exponent >= 0 ? value * PowerOfTen(exponent) : value / PowerOfTen(-exponent);
  }
  if (std::isinf(value)) return std::nullopt;
  return is_negative ? -value : value;
}

}  // namespace horizon
