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

// JSON in and out. json.cc is the only file that includes Boost.JSON.

// Receives a JSON text piece by piece, without a tree in memory. The first non-OK Status stops the
// parse and is returned by it. Keys and strings arrive whole and unescaped; a number arrives as the
// literal that stands in the text ("-0", "1e3"), so the handler decides what it accepts.
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
  // The line (from 1) of the piece being delivered; set by the parser.
  int line = 1;
};

// Strict JSON: UTF-8, no comments, no trailing commas, nothing but spaces after the value.
// InvalidArgument "FILE:LINE: ..." on bad syntax; depth above `max_depth` is refused.
absl::Status ParseJsonEvents(std::string_view file, std::string_view text, int max_depth,
                             JsonHandler& handler);

// Parses into a tree. Duplicate keys are refused. `file` is for messages.
absl::StatusOr<Document> ParseJson(std::string file, std::string_view text,
                                   const DocumentLimits& limits = {});

// Writes JSON, two spaces a level (or on one line). Doubles are the shortest text that reads back
// to the same bits; non-finite ones become null. Misuse (a key outside an object) is a CHECK.
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
  // The text so far; whole once every level is closed. Ends with a newline in pretty style.
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
