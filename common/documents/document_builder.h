#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "common/documents/document.h"

namespace horizon {

// Puts the pieces a parser delivers, in order, together to a Document, and keeps what JSON and YAML
// have in common: the limits, unique keys, and how a number's literal becomes a value. The first
// error ends the parse: nothing may be called after it. Pieces in an impossible order (a value
// where a key belongs) are the parser's bug and a CHECK. Lines count from 1.
class DocumentBuilder {
 public:
  // `file` is for messages. Refuses a text above limits.text before a parser looks at it.
  static absl::Status CheckSize(std::string_view file, std::string_view text,
                                const DocumentLimits& limits);

  DocumentBuilder(std::string file, const DocumentLimits& limits);

  absl::Status BeginObject(int line) { return Begin(Value::Object(), line); }
  absl::Status EndObject();
  absl::Status BeginArray(int line) { return Begin(Value::Array(), line); }
  absl::Status EndArray();
  absl::Status Key(std::string_view key, int line);
  // null, a bool, or a string.
  absl::Status Scalar(Value::Storage scalar, int line);
  // A decimal literal [-+]digits[.digits][e[-+]digits]. Without point and exponent it is an
  // integer, or a double where int64 does not reach; refused when beyond double.
  absl::Status Number(std::string_view literal, int line);

  const std::string& file() const { return document_.file; }
  // InvalidArgument "FILE:LINE: MESSAGE".
  absl::Status ErrorOnLine(int line, std::string_view message) const;
  // The finished tree; every level must be closed.
  Document Finish() &&;

 private:
  struct Level {
    Value::Storage container;    // an Array or an Object
    std::vector<int> key_lines;  // of an object, one for each key
    int line = 0;
    bool awaits_value = false;  // a key stands without its value
  };
  absl::Status Begin(Value::Storage container, int line);
  absl::Status End();
  absl::Status Add(Value value);
  absl::Status CountOne(int line);
  absl::Status CheckKeysUnique(const Level& level) const;

  Document document_;
  DocumentLimits limits_;
  std::vector<Level> levels_;
  int64_t values_ = 0;
  bool has_root_ = false;
};

}  // namespace horizon
