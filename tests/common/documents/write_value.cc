#include "tests/common/documents/write_value.h"

#include <cstdint>
#include <string>

namespace horizon {

void WriteValue(const Value& value, JsonWriter& writer) {
  if (value.is_null()) writer.Null();
  if (const auto* flag = value.As<bool>()) writer.Bool(*flag);
  if (const auto* integer = value.As<int64_t>()) writer.Integer(*integer);
  if (const auto* number = value.As<double>()) writer.Number(*number);
  if (const auto* text = value.As<std::string>()) writer.String(*text);
  if (const auto* elements = value.As<Value::Array>()) {
    writer.BeginArray();
    for (const Value& element : *elements) WriteValue(element, writer);
    writer.EndArray();
  }
  if (const auto* members = value.As<Value::Object>()) {
    writer.BeginObject();
    for (const auto& [key, member] : *members) {
      writer.Key(key);
      WriteValue(member, writer);
    }
    writer.EndObject();
  }
}

}  // namespace horizon
