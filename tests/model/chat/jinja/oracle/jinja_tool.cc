// Renders templates for differential.py: reads lines {"template", "variables"} and answers each
// with a line {"text"} or {"error"}.
#include <iostream>
#include <string>

#include "common/documents/document.h"
#include "common/documents/json.h"
#include "model/chat/jinja/jinja_template.h"

namespace horizon {
namespace {

absl::StatusOr<TracedText> Render(const std::string& line) {
  const absl::StatusOr<Document> request = ParseJson("request", line);
  if (!request.ok()) return request.status();
  const Value* source = request->root.Find("template");
  const Value* given = request->root.Find("variables");
  if (source == nullptr || source->As<std::string>() == nullptr) {
    return absl::InvalidArgumentError("no template");
  }
  const absl::StatusOr<JinjaTemplate> parsed =
      JinjaTemplate::Parse(*source->As<std::string>(), "case");
  if (!parsed.ok()) return parsed.status();
  JinjaVariables variables;
  if (given != nullptr && given->As<Value::Object>() != nullptr) {
    for (const auto& [name, value] : *given->As<Value::Object>()) {
      variables.emplace(name, JinjaValue::FromDocument(value, -1));
    }
  }
  return parsed->Render(variables, {});
}

}  // namespace
}  // namespace horizon

int main() {
  std::string line;
  while (std::getline(std::cin, line)) {
    const absl::StatusOr<horizon::TracedText> text = horizon::Render(line);
    horizon::JsonWriter answer(horizon::JsonWriter::Style::kOneLine);
    answer.BeginObject();
    if (text.ok()) {
      answer.Key("text").String(text->text());
    } else {
      answer.Key("error").String(std::string(text.status().message()));
    }
    answer.EndObject();
    std::cout << std::move(answer).Finish() << std::endl;
  }
  return 0;
}
