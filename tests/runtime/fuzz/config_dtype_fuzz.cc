// Whatever the text, the type of its weights is set and quantization_config is gone, or it is
// refused, and nothing else in it has changed; and the text part of a multimodal model is a config
// of its own, or refused.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "common/check.h"
#include "common/documents/document.h"
#include "common/documents/json.h"
#include "model/model_spec.h"
#include "runtime/export/config_dtype.h"
#include "runtime/export/text_part_config.h"
#include "tests/common/documents/write_value.h"
#include "tests/common/fuzz/fuzz_driver.h"

namespace horizon {
namespace {

bool IsType(const std::string& key) { return key == "torch_dtype" || key == "dtype"; }

// The members of the outermost object and of its text_config but for the two names of the type and
// the outermost quantization_config, each on a line.
enum class Level { kOuter, kText };
std::string Others(const Value& root, Level level) {
  std::string lines;
  for (const auto& [key, value] : *root.As<Value::Object>()) {
    if (IsType(key) || (level == Level::kOuter && key == "quantization_config")) continue;
    if (level == Level::kOuter && key == "text_config" && value.As<Value::Object>() != nullptr) {
      lines += "text_config:\n" + Others(value, Level::kText) + "end\n";
      continue;
    }
    JsonWriter writer(JsonWriter::Style::kOneLine);
    writer.BeginArray().String(key);
    WriteValue(value, writer);
    writer.EndArray();
    lines += std::move(writer).Finish() + "\n";
  }
  return lines;
}

// How many of the two names an object has; their values are what they were set to.
int CountTypes(const Value& object) {
  int types = 0;
  for (const char* key : {"torch_dtype", "dtype"}) {
    const Value* type = object.Find(key);
    if (type == nullptr) continue;
    CHECK(type->As<std::string>() != nullptr && *type->As<std::string>() == "float32");
    ++types;
  }
  return types;
}

void TryConfig(std::string_view text) {
  const absl::StatusOr<std::string> changed = WithDtype(text, "float32");
  const absl::StatusOr<Document> before = ParseJson("before", text);
  if (!changed.ok()) {
    CHECK(absl::IsInvalidArgument(changed.status()));
    return;
  }
  CHECK(before.ok());
  const absl::StatusOr<Document> after = ParseJson("after", *changed);
  CHECK(after.ok());
  CHECK(Others(after->root, Level::kOuter) == Others(before->root, Level::kOuter));
  CHECK(CountTypes(after->root) >= 1);
  CHECK(after->root.Find("quantization_config") == nullptr);
  const Value* text_before = before->root.Find("text_config");
  if (text_before == nullptr || text_before->As<Value::Object>() == nullptr) return;
  const Value& text_after = *after->root.Find("text_config");
  const int types = CountTypes(text_after);
  CHECK((types == 0) ==
        (text_before->Find("torch_dtype") == nullptr && text_before->Find("dtype") == nullptr));
}

// The text part by itself is a config, whatever stands around it.
void TryTextPart(std::string_view text) {
  ModelSpec spec;
  spec.family = "gemma3_text";
  spec.wrapper = "gemma3";
  const absl::StatusOr<std::string> part = TextPartConfig(text, spec);
  if (!part.ok()) {
    CHECK(absl::IsInvalidArgument(part.status()));
    return;
  }
  const absl::StatusOr<Document> document = ParseJson("part", *part);
  CHECK(document.ok());
  CHECK(!*document->root.Find("tie_word_embeddings")->As<bool>());
  CHECK(document->root.Find("model_type") != nullptr);
}

}  // namespace
}  // namespace horizon

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  horizon::TryConfig(text);
  horizon::TryTextPart(text);
  return 0;
}
