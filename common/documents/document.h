#pragma once

#include <cstddef>
#include <cstdint>
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

// A parsed JSON or YAML text: a tree in which every value knows its line, so that an error found
// long after parsing still says "plan.json:12: buffer_depth: ...". Both parsers (json.h, yaml.h)
// make it; nothing else in the project touches Boost.JSON or yaml-cpp.
class Value {
 public:
  using Array = std::vector<Value>;
  using Object = std::vector<std::pair<std::string, Value>>;  // in file order, keys unique
  // An integer literal outside int64 is held as double.
  using Storage = std::variant<std::nullptr_t, bool, int64_t, double, std::string, Array, Object>;

  Value() = default;
  Value(Storage storage, int line) : storage_(std::move(storage)), line_(line) {}

  int line() const { return line_; }
  template <typename T>
  const T* As() const {
    return std::get_if<T>(&storage_);
  }
  bool is_null() const { return std::holds_alternative<std::nullptr_t>(storage_); }
  // The member of an object, or nullptr.
  const Value* Find(std::string_view key) const;
  // "null", "true or false", "an integer", "a number", "a string", "an array", "an object".
  std::string_view KindName() const;

 private:
  Storage storage_ = nullptr;
  int line_ = 0;
};

struct Document {
  std::string file;  // for messages only
  Value root;
};

// Bounds every parser keeps on text size, nesting and number of values, so that no file, however
// hostile, takes memory or stack out of proportion.
struct DocumentLimits {
  Bytes text = 16_MiB;
  int depth = 64;
  int64_t values = 1'000'000;
};

// InvalidArgument "FILE:LINE: PATH: MESSAGE".
absl::Status ErrorAt(const Document& document, const Value& value, std::string_view path,
                     std::string_view message);

// Reads one object field by field and refuses what it was not asked for. The first error is kept
// and later reads do nothing, so a reader is a plain list of fields followed by Finish().
//   ObjectReader reader(document, document.root);
//   reader.Required("sequence", &job.sequence);
//   reader.Optional("seed", &job.seed);
//   RETURN_IF_ERROR(reader.Finish());
// T: bool, int64_t, uint64_t, double (integers accepted), std::string, Bytes (an integer or
// "1.5 GiB"), std::vector<int64_t>, std::vector<std::string>. Not thread-safe.
class ObjectReader {
 public:
  // `path` is put before the keys in messages: "optimizer" gives "optimizer.beta1".
  ObjectReader(const Document& document, const Value& object, std::string path = "");

  template <typename T>
  void Required(std::string_view key, T* out) {
    Read(key, out, Presence::kRequired);
  }
  // A missing key leaves *out as it is.
  template <typename T>
  void Optional(std::string_view key, T* out) {
    Read(key, out, Presence::kOptional);
  }
  // As Optional, and an explicit null also leaves *out as it is (Hugging Face writes such nulls).
  template <typename T>
  void OptionalOrNull(std::string_view key, T* out) {
    Read(key, out, Presence::kOptionalOrNull);
  }
  // The value of a key (marking it known) for the caller to read by itself; nullptr if missing.
  const Value* Take(std::string_view key);
  // Marks keys as known though nothing reads them.
  void Ignore(std::initializer_list<std::string_view> keys);
  // Puts an error on a key that was read: "FILE:LINE: PATH.KEY: MESSAGE". The first error stays.
  void Fail(std::string_view key, std::string_view message);
  bool ok() const { return status_.ok(); }
  std::string PathOf(std::string_view key) const;

  // The first error; or, unless unknown keys were allowed, "unknown key ...; did you mean ...?".
  absl::Status Finish();
  // For files of others (config.json) in which unknown keys are expected.
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
