// Whatever the bytes, ParseYaml answers; and what it accepts is a tree that JSON can hold.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "common/check.h"
#include "common/documents/document.h"
#include "common/documents/json.h"
#include "common/documents/yaml.h"
#include "tests/common/documents/write_value.h"
#include "tests/common/fuzz/fuzz_driver.h"

namespace horizon {
namespace {

std::string Written(const Value& value) {
  JsonWriter writer;
  WriteValue(value, writer);
  return std::move(writer).Finish();
}

void TryYaml(std::string_view text) {
  const absl::StatusOr<Document> document = ParseYaml("fuzz.yaml", text);
  if (!document.ok()) {
    CHECK(document.status().code() == absl::StatusCode::kInvalidArgument);
    return;
  }
  const std::string json = Written(document->root);
  const absl::StatusOr<Document> again = ParseJson("again", json);
  CHECK(again.ok());
  CHECK(Written(again->root) == json);
}

}  // namespace
}  // namespace horizon

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  horizon::TryYaml({reinterpret_cast<const char*>(data), size});
  return 0;
}
