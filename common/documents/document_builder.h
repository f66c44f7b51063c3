#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "common/documents/document.h"

namespace horizon {

// Builds a Document from the events of a parser, in the order of the text. It implements what JSON
// and YAML share: the limits, the check for duplicate keys, and the conversion of number literals.
//   BeginObject(1); Key("seed", 2); Number("7", 2); EndObject();   // {"seed": 7}
// After the first error nothing more may be called. Events in an impossible order (a value in place
// of a key) are a bug of the parser and a CHECK. Lines count from 1.
class DocumentBuilder {
 public:
  // InvalidArgument if the text is larger than limits.text. Call it before parsing. `file` is for
  // messages.
  static absl::Status CheckSize(std::string_view file, std::string_view text,
                                const DocumentLimits& limits);

  DocumentBuilder(std::string file, const DocumentLimits& limits);

  absl::Status BeginObject(int line) { return Begin(Value::Object(), line); }
  absl::Status EndObject();
  absl::Status BeginArray(int line) { return Begin(Value::Array(), line); }
  absl::Status EndArray();
  absl::Status Key(std::string_view key, int line);
  // Adds null, a bool or a string.
  absl::Status Scalar(Value::Storage scalar, int line);
  // Adds a number from its decimal literal [-+]digits[.digits][e[-+]digits]. Without point and
  // exponent it is an integer, or a double if int64 cannot hold it. InvalidArgument if double
  // cannot hold it either.
  absl::Status Number(std::string_view literal, int line);

  const std::string& file() const { return document_.file; }
  // The error InvalidArgument "FILE:LINE: MESSAGE".
  absl::Status ErrorOnLine(int line, std::string_view message) const;
  // Returns the finished tree. Every object and array must have been ended (CHECK).
  Document Finish() &&;

 private:
  struct Level {
    Value::Storage container;    // an Array or an Object
    std::vector<int> key_lines;  // of an object, one for each key
    int line = 0;
    bool awaits_value = false;  // the last key has no value yet
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
