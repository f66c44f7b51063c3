#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "common/documents/document.h"
#include "common/documents/enum_words.h"
#include "common/documents/json.h"
#include "common/text/str_cat.h"
#include "common/units.h"

namespace horizon {

// A record is a plain struct that declares its fields once, with unit, range and help:
//   template <typename Record, typename Visitor>   // Record is StreamPlan or const StreamPlan
//   void VisitFields(Record& plan, Visitor& visit) {
//     visit("buffer_depth", plan.buffer_depth, {.unit = "slots", .minimum = 1, .help = "..."});
//   }
// The visitors below read, write, check and document it, so a field cannot be read but not written,
// or documented under another name. To write a plan as JSON:
//   JsonWriter json;
//   json.BeginObject();
//   RecordWriter write(json);
//   VisitFields(plan, write);
//   json.EndObject();

// Whether a file may leave a field out.
enum class FieldPresence { kOptional, kRequired };

// What VisitFields declares about one field besides its name: unit, range, presence and help text.
struct FieldInfo {
  std::string_view unit = "";
  // Inclusive bounds for numbers and byte counts. A bound beyond the range of the type has no
  // effect.
  double minimum = -1e300;
  double maximum = 1e300;
  FieldPresence presence = FieldPresence::kOptional;
  std::string_view help = "";
};

// What is wrong with the value of a field: "needs a value from 1 to 8 slots, found 9". "" if the
// value is in range or the type has no range.
template <typename T>
std::string RangeProblem(const T& field, const FieldInfo& info) {
  double value = 0;
  if constexpr (std::is_same_v<T, Bytes>) {
    value = static_cast<double>(field.value());
  } else if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
    value = static_cast<double>(field);
  } else {
    return "";
  }
  if (value >= info.minimum && value <= info.maximum) return "";
  return StrCat("needs a value from ", info.minimum, " to ", info.maximum,
                info.unit.empty() ? "" : " ", info.unit, ", found ", value);
}

// Whether T is a list of records: a vector of a type E that declares its fields by a function
// VisitFields(E&, Visitor&) beside it. In a file it is an array of objects, in which each field of
// an element must be there. A list without elements is not written.
struct AnyVisitor {
  template <typename T>
  void operator()(std::string_view, T&, const FieldInfo&) {}
};
template <typename T>
inline constexpr bool kIsRecordList = false;
template <typename E>
requires requires(E& element, AnyVisitor& visit) { VisitFields(element, visit); }
inline constexpr bool kIsRecordList<std::vector<E>> = true;

// Checks the ranges of a record that was built in code rather than read from a file.
class RecordChecker {
 public:
  explicit RecordChecker(std::string path = "") : path_(std::move(path)) {}

  template <typename T>
  void operator()(std::string_view name, const T& field, const FieldInfo& info) {
    if constexpr (kIsRecordList<T>) {
      for (size_t i = 0; status_.ok() && i < field.size(); ++i) {
        RecordChecker element(StrCat(path_, name, "[", i, "]."));
        VisitFields(field[i], element);
        status_ = element.status();
      }
    }
    const std::string problem = RangeProblem(field, info);
    if (status_.ok() && !problem.empty()) {
      status_ = absl::InvalidArgumentError(StrCat(path_, name, ": ", problem));
    }
  }
  // InvalidArgument "FIELD: needs a value from ..." for the first field out of range.
  const absl::Status& status() const { return status_; }

 private:
  const std::string path_;  // before the names of fields
  absl::Status status_;
};

// Reads the fields from an object and checks each against its range or choices. Errors are kept by
// the ObjectReader.
class RecordReader {
 public:
  // With kRequired every field must be there, whatever it declares.
  explicit RecordReader(ObjectReader& reader, FieldPresence presence = FieldPresence::kOptional)
      : reader_(reader), presence_(presence) {}

  template <typename T>
  void operator()(std::string_view name, T& field, const FieldInfo& info) {
    if constexpr (kIsRecordList<T>) {
      T list;
      const bool is_there = reader_.OptionalList(name, [&](ObjectReader& element) {
        RecordReader read(element, FieldPresence::kRequired);
        VisitFields(list.emplace_back(), read);
      });
      if (is_there) field = std::move(list);
    } else if constexpr (HasWords<T>) {
      std::string word(ToString(field));
      Take(name, &word, info);
      if (!reader_.ok()) return;
      absl::StatusOr<T> value = ParseWord<T>(word);
      if (value.ok()) {
        field = *value;
      } else {
        reader_.Fail(name, std::string(value.status().message()));
      }
    } else {
      Take(name, &field, info);
      if (!reader_.ok()) return;
      const std::string problem = RangeProblem(field, info);
      if (!problem.empty()) reader_.Fail(name, problem);
    }
  }

 private:
  template <typename T>
  void Take(std::string_view name, T* out, const FieldInfo& info) {
    if (info.presence == FieldPresence::kRequired || presence_ == FieldPresence::kRequired) {
      reader_.Required(name, out);
    } else {
      reader_.Optional(name, out);
    }
  }

  ObjectReader& reader_;
  const FieldPresence presence_;
};

// Writes every field in declaration order, except an empty list of records. Byte counts are written
// as integers, so that reading returns the same value.
class RecordWriter {
 public:
  explicit RecordWriter(JsonWriter& writer) : writer_(writer) {}

  template <typename T>
  void operator()(std::string_view name, const T& field, const FieldInfo&) {
    if constexpr (kIsRecordList<T>) {
      if (field.empty()) return;
    }
    writer_.Key(name);
    if constexpr (kIsRecordList<T>) {
      writer_.BeginArray();
      for (const auto& element : field) {
        writer_.BeginObject();
        VisitFields(element, *this);
        writer_.EndObject();
      }
      writer_.EndArray();
    } else if constexpr (HasWords<T>) {
      writer_.String(ToString(field));
    } else if constexpr (std::is_same_v<T, bool>) {
      writer_.Bool(field);
    } else if constexpr (std::is_same_v<T, int64_t>) {
      writer_.Integer(field);
    } else if constexpr (std::is_same_v<T, uint64_t>) {
      writer_.Unsigned(field);
    } else if constexpr (std::is_same_v<T, double>) {
      writer_.Number(field);
    } else if constexpr (std::is_same_v<T, Bytes>) {
      writer_.Unsigned(field.value());
    } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
      writer_.BeginArray();
      for (const std::string& element : field) writer_.String(element);
      writer_.EndArray();
    } else {
      writer_.String(field);
    }
  }

 private:
  JsonWriter& writer_;
};

// Makes the table of fields in Markdown: | field | unit and range, or choices | default | meaning
// |.
class RecordTable {
 public:
  template <typename T>
  void operator()(std::string_view name, const T& field, const FieldInfo& info) {
    std::string unit(info.unit);
    std::string fallback;
    if constexpr (HasWords<T>) {
      for (const std::string& word : AllWords<T>()) {
        unit += StrCat(unit.empty() ? "" : ", ", "`", word, "`");
      }
      fallback = ToString(field);
    } else if constexpr (std::is_same_v<T, bool>) {
      unit = "`true`, `false`";
      fallback = field ? "true" : "false";
    } else if constexpr (std::is_same_v<T, Bytes>) {
      fallback = ToString(field);
    } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
      unit = "list of texts";
      fallback = "[]";
    } else if constexpr (kIsRecordList<T>) {
      FieldList fields;
      typename T::value_type element;
      VisitFields(element, fields);
      unit = StrCat("list of {", fields.text, "}");
      fallback = "[]";
    } else {
      fallback = StrCat(field);
    }
    const bool has_minimum = info.minimum > -1e300;
    const bool has_maximum = info.maximum < 1e300;
    if (has_minimum || has_maximum) unit += unit.empty() ? "" : ", ";
    if (has_minimum && has_maximum) {
      unit += StrCat(info.minimum, " to ", info.maximum);
    } else if (has_minimum) {
      unit += StrCat("at least ", info.minimum);
    } else if (has_maximum) {
      unit += StrCat("at most ", info.maximum);
    }
    if (info.presence == FieldPresence::kRequired) fallback = "required";
    text_ += StrCat("| `", name, "` | ", unit, " | ", fallback, " | ", info.help, " |\n");
  }
  const std::string& text() const { return text_; }

 private:
  // The fields of an element of a list: "`length`: 1 to 10 tokens, `samples`: ...".
  struct FieldList {
    template <typename T>
    void operator()(std::string_view name, const T&, const FieldInfo& info) {
      text += StrCat(text.empty() ? "" : ", ", "`", name, "`: ", info.minimum, " to ", info.maximum,
                     info.unit.empty() ? "" : " ", info.unit);
    }
    std::string text;
  };

  std::string text_ =
      "| field | unit and range, or choices | default | meaning |\n|---|---|---|---|\n";
};

}  // namespace horizon
