#include "experiments/accuracy/score.h"

namespace horizon {
namespace {

bool IsSpace(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

std::optional<int64_t> StatedResult(std::string_view answer) {
  constexpr std::string_view kBefore = "The answer is ";
  constexpr size_t kMostDigits = 18;  // any such number is an int64_t
  while (!answer.empty() && IsSpace(answer.back())) answer.remove_suffix(1);
  if (answer.empty() || answer.back() != '.') return std::nullopt;
  answer.remove_suffix(1);
  size_t begin = answer.size();
  while (begin > 0 && IsDigit(answer[begin - 1])) --begin;
  const std::string_view digits = answer.substr(begin);
  if (digits.empty() || digits.size() > kMostDigits || (digits.size() > 1 && digits[0] == '0')) {
    return std::nullopt;
  }
  if (!answer.substr(0, begin).ends_with(kBefore)) return std::nullopt;
  int64_t number = 0;
  for (const char c : digits) number = 10 * number + (c - '0');
  return number;
}

}  // namespace horizon
