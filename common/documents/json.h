#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/documents/document.h"
#include "common/units.h"

namespace horizon {

// Reading and writing JSON. json.cc is the only file that includes Boost.JSON.

// Receives the events of a JSON text one by one, so that large files need no tree in memory. The
// first non-OK Status stops the parse, which returns it. Keys and strings arrive whole and
// unescaped. A number arrives as the literal in the text ("-0", "1e3"), so the handler decides what
// it accepts.
class JsonHandler {
 public:
  virtual ~JsonHandler() = default;
  virtual absl::Status OnBeginObject() = 0;
  virtual absl::Status OnEndObject() = 0;
  virtual absl::Status OnBeginArray() = 0;
  virtual absl::Status OnEndArray() = 0;
  virtual absl::Status OnKey(std::string_view key) = 0;
  virtual absl::Status OnString(std::string_view text) = 0;
  virtual absl::Status OnNumber(std::string_view literal) = 0;
  virtual absl::Status OnBool(bool value) = 0;
  virtual absl::Status OnNull() = 0;
  // The line (from 1) of the current event; the parser sets it.
  int line = 1;
};

// Parses strict JSON (UTF-8, no comments, no trailing commas, only whitespace after the value) and
// calls the handler. InvalidArgument "FILE:LINE: ..." for bad syntax or nesting deeper than
// `max_depth`.
absl::Status ParseJsonEvents(std::string_view file, std::string_view text, int max_depth,
                             JsonHandler& handler);

// Parses strict JSON into a tree. InvalidArgument also for duplicate keys and for texts beyond
// `limits`. `file` is for messages.
absl::StatusOr<Document> ParseJson(std::string file, std::string_view text,
                                   const DocumentLimits& limits = {});

// Writes JSON, indented by two spaces a level or on one line:
//   JsonWriter json;
//   json.BeginObject().Key("steps").Integer(3).EndObject();
//   std::string text = std::move(json).Finish();
// A double is written as the shortest text that reads back to the same bits; a non-finite one
// becomes null. Misuse, such as a key outside an object, is a CHECK.
class JsonWriter {
 public:
  enum class Style { kPretty, kOneLine };
  explicit JsonWriter(Style style = Style::kPretty) : style_(style) {}

  JsonWriter& BeginObject();
  JsonWriter& EndObject();
  JsonWriter& BeginArray();
  JsonWriter& EndArray();
  JsonWriter& Key(std::string_view key);
  JsonWriter& String(std::string_view text);
  JsonWriter& Integer(int64_t value);
  JsonWriter& Unsigned(uint64_t value);
  JsonWriter& Unsigned(Bytes bytes) { return Unsigned(bytes.value()); }
  JsonWriter& Number(double value);
  JsonWriter& Bool(bool value);
  JsonWriter& Null();
  // Returns the text. It is complete once every object and array has been ended, and ends with a
  // newline in pretty style.
  std::string Finish() &&;

 private:
  void BeforeValue();
  void BeforeElement();
  void NewLine();
  struct Level {
    bool is_object = false;
    bool empty = true;
  };
  Style style_;
  std::string text_;
  std::vector<Level> levels_;
  bool after_key_ = false;
};

}  // namespace horizon
