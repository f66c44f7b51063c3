// What transformers makes of more than a thousand small templates (oracle/make_goldens.py).
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "common/documents/document.h"
#include "common/documents/json.h"
#include "common/files/io.h"
#include "model/chat/jinja/jinja_template.h"

namespace horizon {
namespace {

TEST(GoldenTemplates, AreRenderedAsByTransformers) {
  const std::unique_ptr<Io> io = MakePosixIo();
  const absl::StatusOr<std::string> file =
      ReadTextFile(*io, "tests/model/chat/jinja/goldens/templates.json");
  ASSERT_TRUE(file.ok()) << file.status();
  const absl::StatusOr<Document> goldens = ParseJson("templates.json", *file);
  ASSERT_TRUE(goldens.ok()) << goldens.status();
  JinjaVariables variables;
  for (const auto& [name, value] : *goldens->root.Find("variables")->As<Value::Object>()) {
    variables.emplace(name, JinjaValue::FromDocument(value, -1));
  }
  int64_t count = 0;
  for (const Value& golden : *goldens->root.Find("cases")->As<Value::Array>()) {
    const std::string& source = *golden.Find("template")->As<std::string>();
    absl::StatusOr<TracedText> text = TracedText();
    if (const absl::StatusOr<JinjaTemplate> parsed = JinjaTemplate::Parse(source, "case");
        parsed.ok()) {
      text = parsed->Render(variables, {});
    } else {
      text = parsed.status();
    }
    if (const Value* expected = golden.Find("text"); expected != nullptr) {
      ASSERT_TRUE(text.ok()) << source << "\n" << text.status();
      EXPECT_EQ(text->text(), *expected->As<std::string>()) << source;
    } else {
      EXPECT_FALSE(text.ok()) << source << "\ngives " << text->text() << "\ninstead of "
                              << *golden.Find("error")->As<std::string>();
      EXPECT_TRUE(text.status().message().substr(0, 5) == "case:") << text.status();
    }
    ++count;
  }
  EXPECT_GT(count, 1000);
}

}  // namespace
}  // namespace horizon
