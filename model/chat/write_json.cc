#include "model/chat/write_json.h"

#include <cstdint>
#include <string>

namespace horizon {

void WriteJson(const Value& value, JsonWriter& json) {
  if (const bool* truth = value.As<bool>()) {
    json.Bool(*truth);
  } else if (const int64_t* integer = value.As<int64_t>()) {
    json.Integer(*integer);
  } else if (const double* number = value.As<double>()) {
    json.Number(*number);
  } else if (const std::string* text = value.As<std::string>()) {
    json.String(*text);
  } else if (const Value::Array* array = value.As<Value::Array>()) {
    json.BeginArray();
    for (const Value& element : *array) WriteJson(element, json);
    json.EndArray();
  } else if (const Value::Object* object = value.As<Value::Object>()) {
    json.BeginObject();
    for (const auto& [key, member] : *object) {
      json.Key(key);
      WriteJson(member, json);
    }
    json.EndObject();
  } else {
    json.Null();
  }
}

}  // namespace horizon
