#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "common/documents/document.h"

namespace horizon {

// The value at which a setting that we do not implement has no effect. null and a missing key count
// as neutral too.
enum class Neutral { kNull, kFalse, kZero, kOne, kEmpty, kSoftmax };

// Reads one object of a Hugging Face config.json, key by key. It is an ObjectReader with the checks
// that such files need, and it remembers which keys were asked for, so that the others can be
// reported:
//
//   ConfigFields fields(document, document.root);
//   const int64_t hidden = fields.Size("hidden_size", 4096);
//   RETURN_IF_ERROR(fields.status());
//
// The first error is kept ("FILE:LINE: KEY: ..."); later reads return defaults. The document and
// the object must outlive this. Keys must be string literals, or live as long as this object.
class ConfigFields {
 public:
  ConfigFields(const Document& document, const Value& object, std::string path = "");

  // Reads a size from 1 to 2^31 - 1, or returns `missing` when the key is absent. Refuses null, as
  // transformers does where a class declares a plain int.
  int64_t Size(std::string_view key, int64_t missing);
  // Like Size, but returns `null` for a null.
  int64_t SizeOrNull(std::string_view key, int64_t missing, int64_t null);
  // Reads any integer from -2^31 to 2^31 - 1; returns `null` for a null.
  int64_t IntegerOrNull(std::string_view key, int64_t missing, int64_t null);
  // Like Size, but 0 is allowed too.
  int64_t Count(std::string_view key, int64_t missing);
  // Reads a finite number above zero.
  double Positive(std::string_view key, double missing);
  // Reads a finite number that is zero or more; null counts as absent.
  double AtLeastZero(std::string_view key, double missing);
  bool Flag(std::string_view key, bool missing);
  std::string Text(std::string_view key, std::string_view missing);
  std::vector<int64_t> Integers(std::string_view key);
  std::vector<std::string> Texts(std::string_view key);
  // Reads a list of numbers, each finite and above zero; empty for null or a missing key.
  std::vector<double> PositiveNumbers(std::string_view key);

  // Whether the key is present with a value other than null. Marks the key as known.
  bool Has(std::string_view key);
  // The value of the key, or nullptr if it is absent. Marks the key as known.
  const Value* Take(std::string_view key);

  // Fails with the value if the key is present and its value is not the neutral one.
  void RefuseUnless(std::string_view key, Neutral neutral);
  // Marks as known a key that cannot change the arithmetic of training.
  void Ignore(std::string_view key) { known_.push_back(key); }
  void Fail(std::string_view key, std::string_view message) { reader_.Fail(key, message); }
  // Fails with the key's value and the reason: "KEY: 'gelu' is not supported; REASON".
  void Refuse(std::string_view key, std::string_view reason);

  // The key as messages name it: "text_config.rope_scaling".
  std::string PathOf(std::string_view key) const { return reader_.PathOf(key); }

  bool ok() const { return reader_.ok(); }
  absl::Status status() { return reader_.FinishIgnoringUnknown(); }
  // Whether the key was read or marked as known.
  bool IsKnown(std::string_view key) const;
  // The keys of the object that are not known, in file order.
  std::vector<std::string> UnknownKeys() const;

 private:
  std::string_view Known(std::string_view key);
  int64_t Integer(std::string_view key, int64_t missing, int64_t least);

  const Value& object_;
  ObjectReader reader_;
  std::vector<std::string_view> known_;  // literals: they live as long as the program
};

}  // namespace horizon
