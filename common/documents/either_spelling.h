#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "common/documents/record.h"

namespace horizon {

// Reads a record (record.h) from a file that people write, such as YAML. It accepts the words of an
// enumeration with '-' or '_' between their parts: "in-backward" is the word "in_backward". Keys of
// YAML may be spelled either way too (ObjectReader). Otherwise it reads as RecordReader does, with
// the same errors:
//   EitherSpellingReader read(reader);
//   VisitFields(plan, read);
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
    read_(name, field, info);  // reports the errors
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
