#include "app/options/config_file.h"

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include "app/options/command_line.h"
#include "common/check.h"
#include "common/documents/document.h"
#include "common/documents/json.h"
#include "common/documents/yaml.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"

namespace horizon {
namespace {

template <typename T>
bool Holds(const Option& option) {
  return std::holds_alternative<T*>(option.value);
}

bool IsText(const Option& option) {
  return Holds<std::string>(option) || Holds<std::optional<std::string>>(option) ||
         Holds<std::vector<std::string>>(option);
}

absl::Status Refuse(std::string_view reason) { return absl::InvalidArgumentError(StrCat(reason)); }

// A number keeps its point, so that 3.0 is no whole number here either.
std::string NumberText(double number) {
  std::string text = StrCat(number);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

// The word that a person would type behind the flag.
absl::StatusOr<std::string> WordOf(const Option& option, const Value& value) {
  if (value.is_null()) return Refuse("has no value");
  if (value.As<Value::Object>() != nullptr) {
    return Refuse("nested keys are not accepted; every key is the name of a flag");
  }
  if (value.As<Value::Array>() != nullptr) return Refuse("takes one value, not a list");
  if (const auto* text = value.As<std::string>()) return *text;
  // YAML has already forgotten how a number or a word such as True was spelled. Where the words to
  // choose from are known, that does no harm.
  const bool spelling_matters = IsText(option) && option.choices.empty();
  if (spelling_matters || (IsText(option) && value.As<double>() != nullptr)) {
    return Refuse(StrCat("must be a string, not ", value.KindName(), "; put it in quotes"));
  }
  if (const auto* boolean = value.As<bool>()) return *boolean ? "true" : "false";
  if (const auto* integer = value.As<int64_t>()) return StrCat(*integer);
  return NumberText(*value.As<double>());
}

absl::Status ReadScalar(const Option& option, const Value& value) {
  if (bool* const* flag = std::get_if<bool*>(&option.value)) {
    const bool* given = value.As<bool>();
    if (given == nullptr) return Refuse("must be true or false");
    **flag = *given;
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const std::string word, WordOf(option, value));
  return ReadValue(option, word);
}

absl::Status ReadKey(const Document& document, const Option& option, const Value& value) {
  const auto at = [&](const Value& where, const std::string& path, const absl::Status& status) {
    return status.ok() ? status : ErrorAt(document, where, path, StrCat(status.message()));
  };
  if (!Holds<std::vector<std::string>>(option)) {
    return at(value, option.name, ReadScalar(option, value));
  }
  std::get<std::vector<std::string>*>(option.value)->clear();
  const auto* list = value.As<Value::Array>();
  if (list == nullptr) return at(value, option.name, ReadScalar(option, value));
  for (size_t i = 0; i < list->size(); ++i) {
    const Value& entry = (*list)[i];
    RETURN_IF_ERROR(at(entry, StrCat(option.name, "[", i, "]"), ReadScalar(option, entry)));
  }
  return absl::OkStatus();
}

absl::StatusOr<Document> Parse(Io& io, const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadTextFile(io, path));
  return path.ends_with(".json") ? ParseJson(path, text) : ParseYaml(path, text);
}

// The document with each key that is an option's former name replaced by the option's name.
// InvalidArgument when the document has both.
absl::StatusOr<Document> WithCurrentNames(Document document, std::span<const Option> options) {
  const auto* given = document.root.As<Value::Object>();
  if (given == nullptr) return document;
  Value::Object members = *given;
  for (auto& [key, value] : members) {
    for (const Option& option : options) {
      if (option.former_name.empty() || key != option.former_name) continue;
      if (document.root.Find(option.name) != nullptr) {
        return ErrorAt(document, value, "",
                       StrCat("\"", option.name, "\" is given twice, once with another spelling"));
      }
      key = option.name;
      break;
    }
  }
  document.root = Value(std::move(members), document.root.line());
  return document;
}

}  // namespace

absl::Status ReadConfigFile(Io& io, const std::string& path, std::span<Option> options) {
  ASSIGN_OR_RETURN(Document written, Parse(io, path));
  ASSIGN_OR_RETURN(const Document document, WithCurrentNames(std::move(written), options));
  ObjectReader reader(document, document.root);
  for (Option& option : options) {
    if (option.name == kConfigOption || option.answers_alone) continue;
    const Value* value = reader.Take(option.name);
    if (value == nullptr) continue;
    RETURN_IF_ERROR(ReadKey(document, option, *value));
    option.required = false;
  }
  return reader.Finish();
}

absl::StatusOr<std::string> ConfigFileValue(Io& io, const std::string& path,
                                            std::string_view option) {
  ASSIGN_OR_RETURN(const Document document, Parse(io, path));
  ObjectReader reader(document, document.root);
  const Value* value = reader.Take(option);
  const std::string* text = value == nullptr ? nullptr : value->As<std::string>();
  return text == nullptr ? std::string() : *text;
}

namespace {

// A value as a YAML file has it on its line; empty: there is none to be written.
struct YamlText {
  std::string operator()(const bool* value) const { return *value ? "true" : "false"; }
  std::string operator()(const int64_t* value) const { return StrCat(*value); }
  std::string operator()(const double* value) const { return StrCat(*value); }
  std::string operator()(const std::string* value) const {
    JsonWriter json(JsonWriter::Style::kOneLine);
    json.String(*value);
    return std::move(json).Finish();
  }
  std::string operator()(const Bytes* value) const { return StrCat("\"", value->value(), " B\""); }
  std::string operator()(const BytesPerSecond* value) const {
    // Quantities have no exponents; the shortest digits that read back to the same bits, of which
    // the least and the greatest number have 324 and 309.
    std::array<char, 400> digits{};
    const std::to_chars_result end = std::to_chars(digits.data(), digits.data() + digits.size(),
                                                   value->value, std::chars_format::fixed);
    CHECK(end.ec == std::errc());
    return StrCat("\"", std::string_view(digits.data(), end.ptr), " B/s\"");
  }
  std::string operator()(const std::vector<std::string>* words) const {
    JsonWriter json(JsonWriter::Style::kOneLine);
    json.BeginArray();
    for (const std::string& word : *words) json.String(word);
    json.EndArray();
    return std::move(json).Finish();
  }
  template <typename T>
  std::string operator()(const std::optional<T>* value) const {
    return value->has_value() ? (*this)(&**value) : "";
  }
};

}  // namespace

std::string ConfigFileText(std::span<const Option> options) {
  std::string text;
  for (const Option& option : options) {
    if (option.name == kConfigOption || option.name == "json") continue;
    // These two are said of one start; the run's job.json tells where a schedule began.
    if (option.name == "resume" || option.name == "restart-schedule") continue;
    if (option.answers_alone) continue;
    const std::string value = std::visit(YamlText(), option.value);
    if (!value.empty()) text += StrCat(option.name, ": ", value, "\n");
  }
  return text;
}

}  // namespace horizon
