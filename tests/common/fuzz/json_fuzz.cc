// Whatever the bytes, ParseJson answers; and what it accepts survives being written and read again.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "common/check.h"
#include "common/documents/document.h"
#include "common/documents/json.h"
#include "tests/common/documents/write_value.h"
#include "tests/common/fuzz/fuzz_driver.h"

namespace horizon {
namespace {

// Accepts everything, so that it sees syntax only.
class SyntaxOnly : public JsonHandler {
 public:
  absl::Status OnBeginObject() override { return absl::OkStatus(); }
  absl::Status OnEndObject() override { return absl::OkStatus(); }
  absl::Status OnBeginArray() override { return absl::OkStatus(); }
  absl::Status OnEndArray() override { return absl::OkStatus(); }
  absl::Status OnKey(std::string_view key) override { return absl::OkStatus(); }
  absl::Status OnString(std::string_view text) override { return absl::OkStatus(); }
  absl::Status OnNumber(std::string_view literal) override {
    CHECK(!literal.empty());
    CHECK(literal.find_first_not_of("0123456789+-.eE") == std::string_view::npos);
    return absl::OkStatus();
  }
  absl::Status OnBool(bool value) override { return absl::OkStatus(); }
  absl::Status OnNull() override { return absl::OkStatus(); }
};

std::string Written(const Value& value, JsonWriter::Style style) {
  JsonWriter writer(style);
  WriteValue(value, writer);
  return std::move(writer).Finish();
}

void TryJson(std::string_view text) {
  const absl::StatusOr<Document> document = ParseJson("fuzz.json", text);
  SyntaxOnly handler;
  const absl::Status syntax = ParseJsonEvents("fuzz.json", text, 64, handler);
  if (!document.ok()) {
    CHECK(document.status().code() == absl::StatusCode::kInvalidArgument);
    return;
  }
  CHECK(syntax.ok());
  const std::string pretty = Written(document->root, JsonWriter::Style::kPretty);
  const std::string line = Written(document->root, JsonWriter::Style::kOneLine);
  const absl::StatusOr<Document> from_pretty = ParseJson("pretty", pretty);
  const absl::StatusOr<Document> from_line = ParseJson("line", line);
  CHECK(from_pretty.ok() && from_line.ok());
  CHECK(Written(from_pretty->root, JsonWriter::Style::kOneLine) == line);
  CHECK(Written(from_line->root, JsonWriter::Style::kPretty) == pretty);
}

}  // namespace
}  // namespace horizon

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  horizon::TryJson({reinterpret_cast<const char*>(data), size});
  return 0;
}
