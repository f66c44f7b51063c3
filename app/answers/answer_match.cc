#include "app/answers/answer_match.h"

#include <cstdlib>
#include <string>

namespace horizon {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsSpace(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool IsWord(char c) {
  return IsDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (static_cast<unsigned char>(c) & 0x80U) != 0;
}

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && IsSpace(text.front())) text.remove_prefix(1);
  while (!text.empty() && IsSpace(text.back())) text.remove_suffix(1);
  return text;
}

// Without the reasoning in front of it.
std::string_view Answer(std::string_view text) {
  constexpr std::string_view kBegin = "<think>";
  constexpr std::string_view kEnd = "</think>";
  text = Trimmed(text);
  if (text.substr(0, kBegin.size()) != kBegin) return text;
  const size_t end = text.find(kEnd);
  return end == std::string_view::npos ? text : Trimmed(text.substr(end + kEnd.size()));
}

// The digits that end before `end`.
size_t DigitsBefore(std::string_view text, size_t end) {
  size_t begin = end;
  while (begin > 0 && IsDigit(text[begin - 1])) --begin;
  return begin;
}

}  // namespace

bool SameText(std::string_view answer, std::string_view expected) {
  return Answer(answer) == Answer(expected);
}

// From behind: digits, before them maybe a point and more digits, or commas and groups.
std::optional<double> LastNumber(std::string_view text) {
  size_t end = text.size();
  while (end > 0 && !IsDigit(text[end - 1])) --end;
  if (end == 0) return std::nullopt;
  size_t begin = DigitsBefore(text, end);
  size_t whole_end = end;
  if (begin >= 2 && text[begin - 1] == '.' && IsDigit(text[begin - 2])) {
    whole_end = begin - 1;
    begin = DigitsBefore(text, whole_end);
  }
  while (whole_end - begin >= 3 && begin >= 2 && text[begin - 1] == ',' &&
         IsDigit(text[begin - 2])) {
    const size_t group = text.find_first_of(",.", begin);
    const size_t group_end =
        group == std::string_view::npos || group > whole_end ? whole_end : group;
    if (group_end - begin != 3) break;
    begin = DigitsBefore(text, begin - 1);
  }
  std::string digits;
  if (begin > 0 && text[begin - 1] == '-' && (begin == 1 || !IsWord(text[begin - 2]))) {
    digits.push_back('-');
  }
  for (const char c : text.substr(begin, end - begin)) {
    if (c != ',') digits += c;
  }
  return std::strtod(digits.c_str(), nullptr);
}

}  // namespace horizon
