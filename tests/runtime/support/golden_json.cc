#include "tests/runtime/support/golden_json.h"

#include <memory>

#include "common/check.h"
#include "common/documents/json.h"
#include "common/files/io.h"
#include "common/text/str_cat.h"

namespace horizon {

Document ReadGoldenJson(const std::string& file) {
  const std::unique_ptr<Io> io = MakePosixIo();
  const absl::StatusOr<std::string> text =
      ReadTextFile(*io, StrCat("tests/goldens/", file), 16_MiB);
  CHECK(text.ok());
  absl::StatusOr<Document> document = ParseJson(file, *text);
  CHECK(document.ok());
  return *std::move(document);
}

const Value& Member(const Value& object, const std::string& key) {
  const Value* value = object.Find(key);
  CHECK(value != nullptr);
  return *value;
}

double Number(const Value& value) {
  if (const int64_t* integer = value.As<int64_t>()) return static_cast<double>(*integer);
  CHECK(value.As<double>() != nullptr);
  return *value.As<double>();
}

std::vector<double> Numbers(const Value& array) {
  std::vector<double> numbers;
  for (const Value& value : *array.As<Value::Array>()) numbers.push_back(Number(value));
  return numbers;
}

std::vector<std::string> Words(const Value& array) {
  std::vector<std::string> words;
  for (const Value& value : *array.As<Value::Array>()) words.push_back(*value.As<std::string>());
  return words;
}

}  // namespace horizon
