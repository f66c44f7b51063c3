#include "model/config_fields.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "common/text/quote.h"
#include "common/text/str_cat.h"

namespace horizon {
namespace {

constexpr int64_t kMaxSize = (int64_t{1} << 31) - 1;

bool IsNumber(const Value& value, int64_t number) {
  if (const auto* integer = value.As<int64_t>()) return *integer == number;
  const auto* real = value.As<double>();
  return real != nullptr && *real == static_cast<double>(number);
}

bool IsNeutral(const Value& value, Neutral neutral) {
  if (value.is_null()) return true;
  switch (neutral) {
    case Neutral::kNull:
      return false;
    case Neutral::kFalse:
      return value.As<bool>() != nullptr && !*value.As<bool>();
    case Neutral::kZero:
      return IsNumber(value, 0);
    case Neutral::kOne:
      return IsNumber(value, 1);
    case Neutral::kEmpty:
      return (value.As<Value::Array>() != nullptr && value.As<Value::Array>()->empty()) ||
             (value.As<Value::Object>() != nullptr && value.As<Value::Object>()->empty());
    case Neutral::kSoftmax:
      return value.As<std::string>() != nullptr && *value.As<std::string>() == "softmax";
  }
  return false;
}

std::string_view TextOf(Neutral neutral) {
  switch (neutral) {
    case Neutral::kNull:
      return "null";
    case Neutral::kFalse:
      return "false";
    case Neutral::kZero:
      return "0";
    case Neutral::kOne:
      return "1";
    case Neutral::kEmpty:
      return "an empty one";
    case Neutral::kSoftmax:
      return "softmax";
  }
  return "";
}

std::string TextOf(const Value& value) {
  if (const auto* flag = value.As<bool>()) return *flag ? "true" : "false";
  if (const auto* integer = value.As<int64_t>()) return StrCat(*integer);
  if (const auto* number = value.As<double>()) return StrCat(*number);
  if (const auto* text = value.As<std::string>()) return Quoted(*text);
  return std::string(value.KindName());
}

}  // namespace

ConfigFields::ConfigFields(const Document& document, const Value& object, std::string path)
    : object_(object), reader_(document, object, std::move(path)) {}

std::string_view ConfigFields::Known(std::string_view key) {
  known_.push_back(key);
  return key;
}

const Value* ConfigFields::Take(std::string_view key) { return reader_.Take(Known(key)); }

bool ConfigFields::Has(std::string_view key) {
  const Value* value = Take(key);
  return value != nullptr && !value->is_null();
}

int64_t ConfigFields::Integer(std::string_view key, int64_t missing, int64_t least) {
  if (Take(key) == nullptr) return missing;
  int64_t value = missing;
  reader_.Optional(key, &value);
  if (ok() && (value < least || value > kMaxSize)) {
    Fail(key, StrCat("is ", value, "; it must be ", least, " to ", kMaxSize));
  }
  return ok() ? value : missing;
}

int64_t ConfigFields::Size(std::string_view key, int64_t missing) {
  return Integer(key, missing, 1);
}

int64_t ConfigFields::SizeOrNull(std::string_view key, int64_t missing, int64_t null) {
  const Value* value = Take(key);
  return value != nullptr && value->is_null() ? null : Size(key, missing);
}

int64_t ConfigFields::IntegerOrNull(std::string_view key, int64_t missing, int64_t null) {
  const Value* value = Take(key);
  if (value != nullptr && value->is_null()) return null;
  return Integer(key, missing, std::numeric_limits<int32_t>::min());
}

int64_t ConfigFields::Count(std::string_view key, int64_t missing) {
  return Integer(key, missing, 0);
}

double ConfigFields::Positive(std::string_view key, double missing) {
  double number = missing;
  reader_.Optional(Known(key), &number);
  if (!std::isfinite(number) || number <= 0) {
    Fail(key, StrCat("is ", number, "; it must be a finite number above 0"));
  }
  return ok() ? number : missing;
}

double ConfigFields::AtLeastZero(std::string_view key, double missing) {
  double number = missing;
  reader_.OptionalOrNull(Known(key), &number);
  if (!std::isfinite(number) || number < 0) {
    Fail(key, StrCat("is ", number, "; it must be a finite number of at least 0"));
  }
  return ok() ? number : missing;
}

bool ConfigFields::Flag(std::string_view key, bool missing) {
  bool flag = missing;
  reader_.Optional(Known(key), &flag);
  return flag;
}

std::string ConfigFields::Text(std::string_view key, std::string_view missing) {
  std::string text(missing);
  reader_.Optional(Known(key), &text);
  return text;
}

std::vector<int64_t> ConfigFields::Integers(std::string_view key) {
  std::vector<int64_t> integers;
  reader_.OptionalOrNull(Known(key), &integers);
  return integers;
}

std::vector<std::string> ConfigFields::Texts(std::string_view key) {
  std::vector<std::string> texts;
  reader_.OptionalOrNull(Known(key), &texts);
  return texts;
}

std::vector<double> ConfigFields::PositiveNumbers(std::string_view key) {
  std::vector<double> numbers;
  const Value* value = Take(key);
  if (value == nullptr || value->is_null()) return numbers;
  const auto* array = value->As<Value::Array>();
  if (array == nullptr) {
    Fail(key, StrCat("needs an array of numbers, found ", value->KindName()));
    return numbers;
  }
  for (const Value& element : *array) {
    const auto* integer = element.As<int64_t>();
    const auto* real = element.As<double>();
    const double number =
        integer != nullptr ? static_cast<double>(*integer) : (real != nullptr ? *real : 0.0);
    if (!std::isfinite(number) || number <= 0) {
      Fail(key, StrCat("number ", numbers.size(), " is ", TextOf(element),
                       "; it must be a finite number above 0"));
      return {};
    }
    numbers.push_back(number);
  }
  return numbers;
}

void ConfigFields::RefuseUnless(std::string_view key, Neutral neutral) {
  const Value* value = Take(key);
  if (value == nullptr || IsNeutral(*value, neutral)) return;
  Refuse(key, StrCat("only ", TextOf(neutral), ", or leaving it out, is"));
}

void ConfigFields::Refuse(std::string_view key, std::string_view reason) {
  const Value* value = Take(key);
  Fail(key, StrCat(value == nullptr ? "a missing value" : TextOf(*value), " is not supported; ",
                   reason));
}

bool ConfigFields::IsKnown(std::string_view key) const {
  return std::find(known_.begin(), known_.end(), key) != known_.end();
}

std::vector<std::string> ConfigFields::UnknownKeys() const {
  std::vector<std::string> unknown;
  const auto* members = object_.As<Value::Object>();
  if (members == nullptr) return unknown;
  for (const auto& [key, value] : *members) {
    if (!IsKnown(key)) unknown.push_back(key);
  }
  return unknown;
}

}  // namespace horizon
