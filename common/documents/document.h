#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/units.h"

namespace horizon {

// A value of a parsed JSON or YAML text. The values form a tree, and each one knows its line, so
// that an error found long after parsing can still say "plan.json:12: buffer_depth: ...". Both
// parsers (json.h, yaml.h) produce this tree, and only they use Boost.JSON and yaml-cpp.
class Value {
 public:
  using Array = std::vector<Value>;
  using Object = std::vector<std::pair<std::string, Value>>;  // in file order, keys unique
  // An integer literal outside the range of int64 is stored as double.
  using Storage = std::variant<std::nullptr_t, bool, int64_t, double, std::string, Array, Object>;

  Value() = default;
  Value(Storage storage, int line) : storage_(std::move(storage)), line_(line) {}

  int line() const { return line_; }
  // The value if it has type T (one of Storage's types), else null.
  template <typename T>
  const T* As() const {
    return std::get_if<T>(&storage_);
  }
  bool is_null() const { return std::holds_alternative<std::nullptr_t>(storage_); }
  // The member of that name; null if it is missing or this value is not an object.
  const Value* Find(std::string_view key) const;
  // The type in words: "null", "true or false", "an integer", "a number", "a string", "an array" or
  // "an object".
  std::string_view KindName() const;

 private:
  Storage storage_ = nullptr;
  int line_ = 0;
};

// A whole parsed text.
struct Document {
  std::string file;  // for messages only
  Value root;
};

// Limits that both parsers enforce on text size, nesting depth and number of values, so that even a
// hostile file cannot exhaust memory or the stack.
struct DocumentLimits {
  Bytes text = 16_MiB;
  int depth = 64;
  int64_t values = 1'000'000;
};

// The error InvalidArgument "FILE:LINE: PATH: MESSAGE" about a value; `path` may be empty.
absl::Status ErrorAt(const Document& document, const Value& value, std::string_view path,
                     std::string_view message);

// Reads one object field by field and reports keys that nobody asked for. The first error is kept
// and later reads do nothing, so the code is a plain list of fields followed by Finish():
//   ObjectReader reader(document, document.root);
//   reader.Required("sequence", &job.sequence);
//   reader.Optional("seed", &job.seed);
//   RETURN_IF_ERROR(reader.Finish());
// A field may be bool, int64_t, uint64_t, double (which accepts integers), std::string, Bytes (an
// integer or "1.5 GiB"), std::vector<int64_t> or std::vector<std::string>. Keys of a file that is
// not JSON match with '-' in place of '_'. The document must outlive the reader. Not thread-safe.
class ObjectReader {
 public:
  // `path` precedes the keys in messages: with "optimizer" they read "optimizer.beta1".
  ObjectReader(const Document& document, const Value& object, std::string path = "");

  // A missing key is an error.
  template <typename T>
  void Required(std::string_view key, T* out) {
    Read(key, out, Presence::kRequired);
  }
  // A missing key leaves *out as it is.
  template <typename T>
  void Optional(std::string_view key, T* out) {
    Read(key, out, Presence::kOptional);
  }
  // Like Optional, but an explicit null also leaves *out as it is (Hugging Face writes such nulls).
  template <typename T>
  void OptionalOrNull(std::string_view key, T* out) {
    Read(key, out, Presence::kOptionalOrNull);
  }
  // Reads an array of objects: calls `read` with a reader of each. Returns whether the key is
  // there; if not, nothing is read. Errors of the elements, also about unknown keys in them, are
  // kept as this reader's own.
  bool OptionalList(std::string_view key, const std::function<void(ObjectReader&)>& read);
  // The value of a key, for the caller to read itself; null if it is missing. Marks the key as
  // known.
  const Value* Take(std::string_view key);
  // Marks keys as known although nothing reads them.
  void Ignore(std::initializer_list<std::string_view> keys);
  // Reports an error about a key that was read: "FILE:LINE: PATH.KEY: MESSAGE". Only the first
  // error is kept.
  void Fail(std::string_view key, std::string_view message);
  bool ok() const { return status_.ok(); }
  // The key as messages name it: "optimizer.beta1".
  std::string PathOf(std::string_view key) const;

  // The first error; if there was none, an error about the first unknown key: "unknown key ...; did
  // you mean ...?".
  absl::Status Finish();
  // The first error. For files of other programs (config.json), in which unknown keys are expected.
  absl::Status FinishIgnoringUnknown() { return status_; }

 private:
  enum class Presence { kRequired, kOptional, kOptionalOrNull };
  template <typename T>
  void Read(std::string_view key, T* out, Presence presence);
  void FailElement(std::string_view key, size_t index, const Value& element,
                   std::string_view message);
  bool IsKnown(std::string_view key) const;

  const Document& document_;
  const Value& object_;
  std::string path_;
  std::vector<std::string> known_;
  std::string missing_;  // the required key whose absence is the error
  absl::Status status_;
};

}  // namespace horizon
