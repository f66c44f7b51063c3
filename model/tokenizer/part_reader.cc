#include "model/tokenizer/part_reader.h"

#include "common/status_macros.h"
#include "common/text/quote.h"
#include "common/text/str_cat.h"
#include "common/text/utf8.h"

namespace horizon {
namespace {

// The document's depth is bounded (64), and so is this.
absl::Status Collect(const Document& document, const Value& value, std::string path,
                     std::string_view list, std::vector<Part>& parts) {
  const Value* type = value.Find("type");
  const std::string* name = type == nullptr ? nullptr : type->As<std::string>();
  if (name == nullptr) {
    return ErrorAt(document, value, path, "needs an object with its \"type\"");
  }
  if (*name != "Sequence") {
    parts.push_back({document, value, std::move(path), *name});
    return absl::OkStatus();
  }
  const Value* members = value.Find(list);
  const Value::Array* array = members == nullptr ? nullptr : members->As<Value::Array>();
  if (array == nullptr) {
    return ErrorAt(document, value, path, StrCat("a Sequence needs the array ", Quoted(list)));
  }
  for (size_t i = 0; i < array->size(); ++i) {
    RETURN_IF_ERROR(Collect(document, (*array)[i], StrCat(path, "[", i, "]"), list, parts));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<Part>> ListParts(const Document& document, std::string_view section,
                                            std::string_view list) {
  std::vector<Part> parts;
  const Value* value = document.root.Find(section);
  if (value == nullptr || value->is_null()) return parts;
  RETURN_IF_ERROR(Collect(document, *value, std::string(section), list, parts));
  return parts;
}

absl::Status RefuseType(const Part& part, std::string_view known) {
  return part.Error(
      StrCat("the type ", Quoted(part.type), " is not supported; supported are ", known));
}

absl::StatusOr<Pattern> ReadPattern(const Part& part, std::string_view key) {
  const Value* pattern = part.value.Find(key);
  const Value::Object* object = pattern == nullptr ? nullptr : pattern->As<Value::Object>();
  if (object == nullptr || object->size() != 1) {
    return part.Error(StrCat(key, " needs {\"Regex\": ...} or {\"String\": ...}"));
  }
  const auto& [kind, value] = object->front();
  const std::string* text = value.As<std::string>();
  if (text == nullptr || (kind != "Regex" && kind != "String")) {
    return part.Error(StrCat(key, " needs {\"Regex\": ...} or {\"String\": ...}"));
  }
  if (kind == "String") {
    if (text->empty()) return part.Error(StrCat(key, " is an empty string"));
    return Pattern(*text);
  }
  absl::StatusOr<RegularExpression> expression = RegularExpression::Compile(*text);
  if (!expression.ok()) return part.Error(StrCat(expression.status().message()));
  return Pattern(*std::move(expression));
}

absl::StatusOr<std::string> ReadCharacter(const Part& part, std::string_view key) {
  const Value* value = part.value.Find(key);
  const std::string* text = value == nullptr ? nullptr : value->As<std::string>();
  if (text == nullptr || text->empty() || Utf8Length(*text) != text->size()) {
    return part.Error(StrCat(key, " needs a string of one character"));
  }
  return *text;
}

}  // namespace horizon
