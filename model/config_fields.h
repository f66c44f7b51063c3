#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "common/documents/document.h"

namespace horizon {

// The one value (besides null and absence) under which a setting we do not honour changes nothing.
enum class Neutral { kNull, kFalse, kZero, kOne, kEmpty };

// An object of a Hugging Face config.json, read key by key: an ObjectReader that knows what such
// files need. The first error is kept ("FILE:LINE: KEY: ...") and later reads return defaults.
// Refers to document and object, which must outlive it.
class ConfigFields {
 public:
  ConfigFields(const Document& document, const Value& object, std::string path = "");

  // A size of 1 to 2^31 - 1; `missing` when the key is absent. A null is refused, as transformers
  // does where a class declares a plain int.
  int64_t Size(std::string_view key, int64_t missing);
  // The same, but null is a value of its own.
  int64_t SizeOrNull(std::string_view key, int64_t missing, int64_t null);
  // Any integer of 32 bits; null is a value of its own.
  int64_t IntegerOrNull(std::string_view key, int64_t missing, int64_t null);
  // 0 or more.
  int64_t Count(std::string_view key, int64_t missing);
  // Finite and above zero.
  double Positive(std::string_view key, double missing);
  // Finite and at least zero; null is like absence.
  double AtLeastZero(std::string_view key, double missing);
  bool Flag(std::string_view key, bool missing);
  std::string Text(std::string_view key, std::string_view missing);
  std::vector<int64_t> Integers(std::string_view key);
  std::vector<std::string> Texts(std::string_view key);
  // A list of numbers, each finite and above zero.
  std::vector<double> PositiveNumbers(std::string_view key);

  // Whether the key is there with a value other than null; marks it known.
  bool Has(std::string_view key);
  const Value* Take(std::string_view key);

  // Refuses, with its value, a key whose value is not the neutral one.
  void RefuseUnless(std::string_view key, Neutral neutral);
  // Marks a key known that cannot change the arithmetic of training.
  void Ignore(std::string_view key) { known_.push_back(key); }
  void Fail(std::string_view key, std::string_view message) { reader_.Fail(key, message); }
  // Refuses a value by name: "KEY: 'gelu' is not supported (...)".
  void Refuse(std::string_view key, std::string_view reason);

  // "text_config.rope_scaling": the key as messages name it.
  std::string PathOf(std::string_view key) const { return reader_.PathOf(key); }

  bool ok() const { return reader_.ok(); }
  absl::Status status() { return reader_.FinishIgnoringUnknown(); }
  // Whether anybody asked for the key or marked it known.
  bool IsKnown(std::string_view key) const;
  // Keys of the object that are not known, in file order.
  std::vector<std::string> UnknownKeys() const;

 private:
  std::string_view Known(std::string_view key);
  int64_t Integer(std::string_view key, int64_t missing, int64_t least);

  const Value& object_;
  ObjectReader reader_;
  std::vector<std::string_view> known_;  // literals: they live as long as the program
};

}  // namespace horizon
