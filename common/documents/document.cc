#include "common/documents/document.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <type_traits>

#include "common/text/nearest_word.h"
#include "common/text/quote.h"
#include "common/text/str_cat.h"

namespace horizon {
namespace {

constexpr double kTwoTo63 = 0x1p63;

// "a string \"two\"", "an integer 7", "null", "an array".
std::string Describe(const Value& value) {
  if (const auto* flag = value.As<bool>()) return *flag ? "true" : "false";
  if (const auto* integer = value.As<int64_t>()) return StrCat("an integer ", *integer);
  if (const auto* number = value.As<double>()) return StrCat("a number ", *number);
  if (const auto* text = value.As<std::string>()) return StrCat("a string ", Quoted(*text));
  return std::string(value.KindName());
}

std::string Needs(std::string_view wanted, const Value& value) {
  return StrCat("needs ", wanted, ", found ", Describe(value));
}

// Each Convert sets *out and returns "", or leaves it and returns what is wrong.

template <typename T>
std::string ConvertPlain(const Value& value, std::string_view wanted, T* out) {
  const T* found = value.As<T>();
  if (found == nullptr) return Needs(wanted, value);
  *out = *found;
  return "";
}

std::string Convert(const Value& value, bool* out) {
  return ConvertPlain(value, "true or false", out);
}

std::string Convert(const Value& value, std::string* out) {
  return ConvertPlain(value, "a string", out);
}

std::string Convert(const Value& value, int64_t* out) {
  const auto* number = value.As<double>();
  if (number != nullptr && std::abs(*number) >= kTwoTo63) {
    return StrCat("out of range: needs an integer from ", std::numeric_limits<int64_t>::min(),
                  " to ", std::numeric_limits<int64_t>::max(), ", found ", Describe(value));
  }
  return ConvertPlain(value, "an integer", out);
}

std::string Convert(const Value& value, uint64_t* out) {
  int64_t integer = 0;
  std::string error = Convert(value, &integer);
  if (!error.empty()) return error;
  if (integer < 0) return Needs("an integer of zero or more", value);
  *out = static_cast<uint64_t>(integer);
  return "";
}

std::string Convert(const Value& value, double* out) {
  if (const auto* integer = value.As<int64_t>()) {
    *out = static_cast<double>(*integer);
    return "";
  }
  return ConvertPlain(value, "a number", out);
}

std::string Convert(const Value& value, Bytes* out) {
  if (const auto* text = value.As<std::string>()) {
    const absl::StatusOr<Bytes> bytes = ParseBytes(*text);
    if (!bytes.ok()) return std::string(bytes.status().message());
    *out = *bytes;
    return "";
  }
  const auto* integer = value.As<int64_t>();
  if (integer == nullptr || *integer < 0) {
    return Needs("a size such as 1048576 or \"1 MiB\"", value);
  }
  *out = Bytes(CheckedU64::FromSigned(*integer));
  return "";
}

// Whether two keys are one word, with '-' or '_' between its parts.
bool SameWord(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char left, char right) {
    return (left == '_' ? '-' : left) == (right == '_' ? '-' : right);
  });
}

// People write YAML, in which '-' and '_' are one; JSON is written by programs.
bool TakesEither(const Document& document) { return !document.file.ends_with(".json"); }

const Value* FindKey(const Document& document, const Value& object, std::string_view key) {
  const Value* exact = object.Find(key);
  const auto* members = object.As<Value::Object>();
  if (exact != nullptr || members == nullptr || !TakesEither(document)) return exact;
  const auto found = std::find_if(members->begin(), members->end(), [key](const auto& member) {
    return SameWord(member.first, key);
  });
  return found == members->end() ? nullptr : &found->second;
}

}  // namespace

const Value* Value::Find(std::string_view key) const {
  const auto* members = As<Object>();
  if (members == nullptr) return nullptr;
  const auto found = std::find_if(members->begin(), members->end(),
                                  [key](const auto& member) { return member.first == key; });
  return found == members->end() ? nullptr : &found->second;
}

std::string_view Value::KindName() const {
  constexpr std::string_view kNames[] = {"null",     "true or false", "an integer", "a number",
                                         "a string", "an array",      "an object"};
  static_assert(std::variant_size_v<Storage> == std::size(kNames));
  return kNames[storage_.index()];
}

absl::Status ErrorAt(const Document& document, const Value& value, std::string_view path,
                     std::string_view message) {
  return absl::InvalidArgumentError(
      StrCat(document.file, ":", value.line(), ": ", path, path.empty() ? "" : ": ", message));
}

ObjectReader::ObjectReader(const Document& document, const Value& object, std::string path)
    : document_(document), object_(object), path_(std::move(path)) {
  if (object_.As<Value::Object>() == nullptr) {
    status_ = ErrorAt(document_, object_, path_, Needs("an object", object_));
  }
}

const Value* ObjectReader::Take(std::string_view key) {
  if (!IsKnown(key)) known_.emplace_back(key);
  return FindKey(document_, object_, key);
}

bool ObjectReader::OptionalList(std::string_view key,
                                const std::function<void(ObjectReader&)>& read) {
  const Value* value = Take(key);
  if (value == nullptr || !status_.ok()) return false;
  const auto* elements = value->As<Value::Array>();
  if (elements == nullptr) {
    Fail(key, Needs("an array", *value));
    return false;
  }
  for (size_t i = 0; i < elements->size() && status_.ok(); ++i) {
    ObjectReader element(document_, (*elements)[i], StrCat(PathOf(key), "[", i, "]"));
    read(element);
    status_ = element.Finish();
  }
  return true;
}

void ObjectReader::Ignore(std::initializer_list<std::string_view> keys) {
  known_.insert(known_.end(), keys.begin(), keys.end());
}

void ObjectReader::Fail(std::string_view key, std::string_view message) {
  if (!status_.ok()) return;
  const Value* value = FindKey(document_, object_, key);
  status_ = ErrorAt(document_, value == nullptr ? object_ : *value, PathOf(key), message);
}

std::string ObjectReader::PathOf(std::string_view key) const {
  return StrCat(path_, path_.empty() ? "" : ".", key);
}

bool ObjectReader::IsKnown(std::string_view key) const {
  return std::find(known_.begin(), known_.end(), key) != known_.end();
}

absl::Status ObjectReader::Finish() {
  const auto* members = object_.As<Value::Object>();
  if (members == nullptr || (!status_.ok() && missing_.empty())) return status_;
  for (const auto& [key, value] : *members) {
    if (IsKnown(key)) continue;
    const auto other = std::find_if(known_.begin(), known_.end(), [&key = key](const auto& known) {
      return SameWord(known, key);
    });
    if (other != known_.end() && TakesEither(document_)) {
      // Taken as the other spelling, unless that is there too.
      if (FindKey(document_, object_, *other) == &value) continue;
      if (status_.ok()) {
        status_ = ErrorAt(document_, value, path_,
                          StrCat(Quoted(key), " is given twice, once with another spelling"));
      }
      return status_;
    }
    if (status_.ok()) {
      status_ = ErrorAt(document_, value, path_,
                        StrCat("unknown key ", Quoted(key), DidYouMean(key, known_)));
      return status_;
    }
    // A required key was missing: a misspelled one is the likely reason.
    if (NearestWord(key, std::span(&missing_, 1)).empty()) continue;
    status_ = ErrorAt(document_, value, path_,
                      StrCat("unknown key ", Quoted(key), "; did you mean '", missing_,
                             "', which is required and missing?"));
    return status_;
  }
  return status_;
}

void ObjectReader::FailElement(std::string_view key, size_t index, const Value& element,
                               std::string_view message) {
  if (!status_.ok()) return;
  status_ = ErrorAt(document_, element, StrCat(PathOf(key), "[", index, "]"), message);
}

template <typename T>
void ObjectReader::Read(std::string_view key, T* out, Presence presence) {
  const Value* value = Take(key);
  if (!status_.ok()) return;
  if (value == nullptr) {
    if (presence != Presence::kRequired) return;
    Fail(key, "required and missing");
    missing_ = key;
    return;
  }
  if (presence == Presence::kOptionalOrNull && value->is_null()) return;
  if constexpr (std::is_same_v<T, std::vector<int64_t>> ||
                std::is_same_v<T, std::vector<std::string>>) {
    const auto* elements = value->As<Value::Array>();
    if (elements == nullptr) return Fail(key, Needs("an array", *value));
    T converted(elements->size());
    for (size_t i = 0; i < elements->size(); ++i) {
      const std::string error = Convert((*elements)[i], &converted[i]);
      if (!error.empty()) return FailElement(key, i, (*elements)[i], error);
    }
    *out = std::move(converted);
  } else {
    const std::string error = Convert(*value, out);
    if (!error.empty()) Fail(key, error);
  }
}

template void ObjectReader::Read(std::string_view, bool*, Presence);
template void ObjectReader::Read(std::string_view, int64_t*, Presence);
template void ObjectReader::Read(std::string_view, uint64_t*, Presence);
template void ObjectReader::Read(std::string_view, double*, Presence);
template void ObjectReader::Read(std::string_view, std::string*, Presence);
template void ObjectReader::Read(std::string_view, Bytes*, Presence);
template void ObjectReader::Read(std::string_view, std::vector<int64_t>*, Presence);
template void ObjectReader::Read(std::string_view, std::vector<std::string>*, Presence);

}  // namespace horizon
