#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "common/text/str_cat.h"
#include "model/chat/jinja/python/python_characters.h"
#include "model/chat/jinja/python/python_text.h"
#include "model/chat/jinja/python/string_format.h"
#include "model/chat/jinja/python/string_split.h"
#include "model/tokenizer/text/unicode_text.h"

namespace horizon {
namespace {

// The side that PadText takes for an alignment.
char Side(char align, char otherwise) {
  if (align == '\0') return otherwise;
  return align == '^' ? '=' : align;
}

using Kind = JinjaValue::Kind;

// Of a number; more is refused.
constexpr int64_t kMostDigits = 1000;

std::string IntegerDigits(int64_t value, const FormatSpec& spec) {
  std::array<char, 72> digits = {};
  const int base = spec.type == 'x' || spec.type == 'X' ? 16
                   : spec.type == 'o'                   ? 8
                   : spec.type == 'b'                   ? 2
                                                        : 10;
  const uint64_t size = value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), size, base);
  std::string text(digits.data(), end.ptr);
  if (spec.type == 'X') {
    for (char& byte : text) byte = static_cast<char>(byte >= 'a' ? byte - 32 : byte);
  }
  return text;
}

std::string FloatDigits(double value, const FormatSpec& spec) {
  const double size = std::fabs(value);
  if (std::isnan(value))
    return spec.type == 'F' || spec.type == 'E' || spec.type == 'G' ? "NAN" : "nan";
  if (std::isinf(value))
    return spec.type == 'F' || spec.type == 'E' || spec.type == 'G' ? "INF" : "inf";
  if (spec.type == '\0' && spec.precision < 0) return PythonFloat(size);
  const int precision =
      spec.precision < 0 ? 6 : static_cast<int>(std::min(spec.precision, kMostDigits));
  const char type = spec.type == '\0' || spec.type == 'n' ? 'g'
                    : spec.type == '%'                    ? 'f'
                                                          : spec.type;
  const std::string format = StrCat("%", spec.alternate ? "#" : "", ".*", type);
  std::array<char, 1400> text = {};
  const int length = std::snprintf(text.data(), text.size(), format.c_str(), precision,
                                   spec.type == '%' ? size * 100 : size);
  std::string digits(text.data(), static_cast<size_t>(length));
  // Without a type, a float keeps a point.
  if (spec.type == '\0' && digits.find_first_of(".en") == std::string::npos) digits += ".0";
  return digits;
}

std::string Grouped(const std::string& digits, const FormatSpec& spec) {
  if (spec.grouping == '\0') return digits;
  const size_t whole = std::min(digits.find_first_not_of("0123456789abcdefABCDEF"), digits.size());
  const size_t step =
      spec.type == 'x' || spec.type == 'X' || spec.type == 'o' || spec.type == 'b' ? 4 : 3;
  std::string grouped;
  for (size_t i = 0; i < whole; ++i) {
    if (i > 0 && (whole - i) % step == 0) grouped.push_back(spec.grouping);
    grouped.push_back(digits[i]);
  }
  return grouped + digits.substr(whole);
}

std::string Prefix(const FormatSpec& spec) {
  if (!spec.alternate) return "";
  if (spec.type == 'x' || spec.type == 'X' || spec.type == 'o' || spec.type == 'b') {
    return StrCat("0", spec.type);
  }
  return "";
}

TracedText FormatNumber(JinjaRun& run, const JinjaValue& value, const FormatSpec& spec) {
  constexpr std::string_view kFloatTypes = "eEfFgG%";
  const bool as_float =
      value.is(Kind::kFloat) || kFloatTypes.find(spec.type) != std::string_view::npos;
  if (as_float && spec.type != '\0' && spec.type != 'n' &&
      kFloatTypes.find(spec.type) == std::string_view::npos) {
    run.Fail(StrCat("Unknown format code '", spec.type, "' for object of type 'float'"));
    return {};
  }
  if (spec.type == 's') {
    run.Fail(StrCat("Unknown format code 's' for object of type '", PythonTypeName(value), "'"));
    return {};
  }
  if (!as_float && spec.precision >= 0) {
    run.Fail("Precision not allowed in integer format specifier");
    return {};
  }
  const bool negative =
      as_float ? std::signbit(value.real()) && !std::isnan(value.real()) : value.integer() < 0;
  std::string digits =
      as_float ? FloatDigits(value.real(), spec) : IntegerDigits(value.integer(), spec);
  digits = Grouped(digits, spec);
  if (spec.type == '%') digits.push_back('%');
  const std::string front = StrCat(negative           ? "-"
                                   : spec.sign == '+' ? "+"
                                   : spec.sign == ' ' ? " "
                                                      : "",
                                   Prefix(spec));
  const char align = spec.align != '\0' ? spec.align : spec.zero ? '=' : '>';
  if (align != '=') {
    return PadText(run, TracedText(front + digits, {}), spec.width, Side(align, '>'),
                   spec.zero && spec.align == '\0' ? TracedText("0", {}) : spec.fill);
  }
  TracedText text(front, {});
  const TracedText fill = spec.zero ? TracedText("0", {}) : spec.fill;
  const TracedText padded = PadText(run, TracedText(digits, {}),
                                    spec.width - static_cast<int64_t>(front.size()), '>', fill);
  text.Append(padded);
  return text;
}

}  // namespace

TracedText FormatValue(JinjaRun& run, const JinjaValue& value, const FormatSpec& spec) {
  if (run.failed()) return {};
  if (value.is_number()) {
    if (spec.type == 'c') {
      std::string character;
      const int64_t code = value.is_integral() ? value.integer() : -1;
      if (code < 0 || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) {
        run.Fail("%c arg not in range(0x110000)");
        return {};
      }
      AppendCharacter(static_cast<char32_t>(code), character);
      return PadText(run, TracedText(character, {}), spec.width, Side(spec.align, '<'), spec.fill);
    }
    return FormatNumber(run, value, spec);
  }
  if (spec.type != '\0' && spec.type != 's') {
    run.Fail(StrCat("Unknown format code '", spec.type, "' for object of type '",
                    PythonTypeName(value), "'"));
    return {};
  }
  if (spec.align == '=') {
    run.Fail("'=' alignment not allowed in string format specifier");
    return {};
  }
  TracedText text = PythonStr(run, value);
  if (spec.precision >= 0) {
    text = text.Slice(0, PlaceOfCharacter(text.text(), static_cast<size_t>(spec.precision)));
  }
  return PadText(run, text, spec.width, Side(spec.align, '<'),
                 spec.zero && spec.align == '\0' ? TracedText("0", {}) : spec.fill);
}

}  // namespace horizon
