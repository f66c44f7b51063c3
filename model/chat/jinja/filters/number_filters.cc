#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>
#include <optional>
#include <utility>

#include "common/text/str_cat.h"
#include "model/chat/jinja/filters/jinja_filters.h"
#include "model/chat/jinja/jinja_operators.h"
#include "model/chat/jinja/jinja_parameters.h"
#include "model/chat/jinja/python/python_characters.h"
#include "model/chat/jinja/python/python_text.h"

namespace horizon {
namespace {

using Kind = JinjaValue::Kind;

std::string_view Stripped(std::string_view text) {
  text = text.substr(0, SkipRight(text, nullptr));
  return text.substr(SkipLeft(text, nullptr));
}

// Digits without "_", which may stand between two of them; nothing if one stands elsewhere.
std::optional<std::string> WithoutUnderscores(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      plain.push_back(text[i]);
      continue;
    }
    const auto is_digit = [](char byte) {
      const char lower = static_cast<char>(byte | 0x20);
      return (byte >= '0' && byte <= '9') || (lower >= 'a' && lower <= 'z');
    };
    if (i == 0 || i + 1 >= text.size() || !is_digit(text[i - 1]) || !is_digit(text[i + 1])) {
      return std::nullopt;
    }
  }
  return plain;
}

// int(text, base).
std::optional<JinjaValue> ReadInteger(JinjaRun& run, std::string_view text, int64_t base) {
  text = Stripped(text);
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (base != 10 && text.size() > 2 && text[0] == '0') {
    const char letter = static_cast<char>(text[1] | 0x20);
    const int64_t named = letter == 'x' ? 16 : letter == 'o' ? 8 : letter == 'b' ? 2 : 0;
    if (named != 0 && (base == named || base == 0)) {
      text.remove_prefix(2);
      base = named;
    }
  }
  if (base == 0) base = 10;
  const std::optional<std::string> digits = WithoutUnderscores(text);
  if (base < 2 || base > 36 || !digits.has_value() || digits->empty()) return std::nullopt;
  uint64_t size = 0;
  const auto read = std::from_chars(digits->data(), digits->data() + digits->size(), size,
                                    static_cast<int>(base));
  if (read.ptr != digits->data() + digits->size() || read.ec == std::errc::invalid_argument) {
    return std::nullopt;
  }
  const uint64_t most =
      static_cast<uint64_t>(std::numeric_limits<int64_t>::max()) + (negative ? 1 : 0);
  if (read.ec != std::errc() || size > most) return run.Fail("an integer does not fit 64 bits");
  return JinjaValue::Integer(static_cast<int64_t>(negative ? 0 - size : size));
}

// float(text).
std::optional<double> ReadFloat(std::string_view text) {
  text = Stripped(text);
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  const std::optional<std::string> plain = WithoutUnderscores(text);
  if (!plain.has_value() || plain->empty() || (*plain)[0] == '-' || (*plain)[0] == '+')
    return std::nullopt;
  if (plain->find('(') != std::string::npos) return std::nullopt;
  double value = 0;
  const auto read = std::from_chars(plain->data(), plain->data() + plain->size(), value);
  if (read.ptr != plain->data() + plain->size() || read.ec == std::errc::invalid_argument) {
    return std::nullopt;
  }
  if (read.ec == std::errc::result_out_of_range) {
    value = plain->find("e-") != std::string::npos || plain->find("E-") != std::string::npos
                ? 0
                : std::numeric_limits<double>::infinity();
  }
  return negative ? -value : value;
}

std::optional<JinjaValue> Truncated(JinjaRun& run, double value) {
  if (!std::isfinite(value)) return std::nullopt;
  if (std::fabs(value) >= 9223372036854775808.0) return run.Fail("an integer does not fit 64 bits");
  return JinjaValue::Integer(static_cast<int64_t>(value));
}

JinjaValue ToInteger(JinjaRun& run, const JinjaValue& value, const JinjaArguments& arguments) {
  const JinjaParameters given(run, "int", arguments, {"default", "base"}, 0);
  std::optional<JinjaValue> result;
  if (value.is(Kind::kUndefined)) return run.Fail(value.hint());
  if (value.is_integral()) {
    result = JinjaValue::Integer(value.integer());
  } else if (value.is(Kind::kFloat)) {
    if (std::isinf(value.real())) return run.Fail("cannot convert float infinity to integer");
    result = Truncated(run, value.real());
  } else if (value.is(Kind::kString)) {
    const std::string& text = value.string().text();
    result = ReadInteger(run, text, given.Integer(1, 10));
    if (!result.has_value()) {
      if (const std::optional<double> real = ReadFloat(text)) result = Truncated(run, *real);
    }
  }
  return result.has_value() ? *result : given.Or(0, JinjaValue::Integer(0));
}

JinjaValue ToFloat(JinjaRun& run, const JinjaValue& value, const JinjaArguments& arguments) {
  const JinjaParameters given(run, "float", arguments, {"default"}, 0);
  if (value.is(Kind::kUndefined)) return run.Fail(value.hint());
  if (value.is_number()) return JinjaValue::Float(value.real());
  if (value.is(Kind::kString)) {
    if (const std::optional<double> real = ReadFloat(value.string().text())) {
      return JinjaValue::Float(*real);
    }
  }
  return given.Or(0, JinjaValue::Float(0));
}

JinjaValue Absolute(JinjaRun& run, const JinjaValue& value, const JinjaArguments& arguments) {
  const JinjaParameters none(run, "abs", arguments, {}, 0);
  if (value.is(Kind::kFloat)) return JinjaValue::Float(std::fabs(value.real()));
  if (value.is_integral()) {
    return value.integer() < 0 ? ApplyUnary(run, JinjaOperator::kNegate, value)
                               : JinjaValue::Integer(value.integer());
  }
  if (value.is(Kind::kUndefined)) return run.Fail(value.hint());
  return run.Fail(StrCat("bad operand type for abs(): '", PythonTypeName(value), "'"));
}

// round(value, digits): to even where the decimal lies exactly between.
double RoundTo(double value, int64_t digits) {
  if (!std::isfinite(value)) return value;
  if (digits > 320) return value;
  if (digits < 0) {
    const double unit = std::pow(10.0, static_cast<double>(-std::max<int64_t>(digits, -400)));
    return std::isinf(unit) ? 0.0 : std::nearbyint(value / unit) * unit;
  }
  std::array<char, 800> text = {};
  const int length =
      std::snprintf(text.data(), text.size(), "%.*f", static_cast<int>(digits), value);
  double rounded = value;
  std::from_chars(text.data(), text.data() + length, rounded);
  return rounded;
}

JinjaValue Round(JinjaRun& run, const JinjaValue& value, const JinjaArguments& arguments) {
  const JinjaParameters given(run, "round", arguments, {"precision", "method"}, 0);
  const int64_t digits = given.Integer(0, 0);
  const std::string method = given.Text(1, "common").text();
  if (method != "common" && method != "ceil" && method != "floor") {
    return run.Fail("method must be common, ceil or floor");
  }
  if (value.is(Kind::kUndefined)) return run.Fail(value.hint());
  if (!value.is_number()) {
    return run.Fail(StrCat("type ", PythonTypeName(value), " doesn't define __round__ method"));
  }
  if (method == "common") {
    if (value.is(Kind::kFloat)) return JinjaValue::Float(RoundTo(value.real(), digits));
    if (digits >= 0) return JinjaValue::Integer(value.integer());
    return JinjaValue::Integer(static_cast<int64_t>(RoundTo(value.real(), digits)));
  }
  const double unit = std::pow(10.0, static_cast<double>(digits));
  const double scaled = value.real() * unit;
  if (!std::isfinite(scaled)) return run.Fail("cannot convert float infinity or NaN to integer");
  return JinjaValue::Float((method == "ceil" ? std::ceil(scaled) : std::floor(scaled)) / unit);
}

constexpr std::pair<std::string_view, JinjaMethod> kFilters[] = {
    {"abs", Absolute},
    {"float", ToFloat},
    {"int", ToInteger},
    {"round", Round},
};

}  // namespace

JinjaFilterTable NumberFilters() { return kFilters; }

}  // namespace horizon
