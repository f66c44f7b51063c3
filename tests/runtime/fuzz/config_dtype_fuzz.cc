// Whatever the text, the type of its weights is set or it is refused; and nothing else in it has
// changed.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "common/check.h"
#include "common/document.h"
#include "common/json.h"
#include "runtime/config_dtype.h"
#include "tests/common/fuzz/fuzz_driver.h"
#include "tests/common/write_value.h"

namespace horizon {
namespace {

// The members of the outermost object but for the two names of the type, each on a line.
std::string Others(const Value& root) {
  std::string lines;
  for (const auto& [key, value] : *root.As<Value::Object>()) {
    if (key == "torch_dtype" || key == "dtype") continue;
    JsonWriter writer(JsonWriter::Style::kOneLine);
    writer.BeginArray().String(key);
    WriteValue(value, writer);
    writer.EndArray();
    lines += std::move(writer).Finish() + "\n";
  }
  return lines;
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
  CHECK(Others(after->root) == Others(before->root));
  int types = 0;
  for (const char* key : {"torch_dtype", "dtype"}) {
    const Value* type = after->root.Find(key);
    if (type == nullptr) continue;
    CHECK(type->As<std::string>() != nullptr && *type->As<std::string>() == "float32");
    ++types;
  }
  CHECK(types >= 1);
}

}  // namespace
}  // namespace horizon

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  horizon::TryConfig({reinterpret_cast<const char*>(data), size});
  return 0;
}
