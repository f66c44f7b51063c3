#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "common/documents/record.h"

namespace horizon {

// Reads a record (record.h) that people write: "in-backward" is the word "in_backward", as a key of
// YAML may have either sign too.
class EitherSpellingReader {
 public:
  explicit EitherSpellingReader(ObjectReader& reader) : reader_(reader), read_(reader) {}

  template <typename T>
  void operator()(std::string_view name, T& field, const FieldInfo& info) {
    if constexpr (HasWords<T>) {
      const Value* value = reader_.Take(name);
      const std::string* text = value == nullptr ? nullptr : value->As<std::string>();
      for (const EnumWord<T>& entry : WordsOf(T{})) {
        if (text == nullptr || Dashed(entry.word) != Dashed(*text)) continue;
        field = entry.value;
        return;
      }
    }
    read_(name, field, info);  // with its errors
  }

 private:
  static std::string Dashed(std::string_view word) {
    std::string dashed(word);
    std::replace(dashed.begin(), dashed.end(), '_', '-');
    return dashed;
  }

  ObjectReader& reader_;
  RecordReader read_;
};

}  // namespace horizon
