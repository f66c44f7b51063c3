#include "common/documents/document_builder.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>

#include "absl/strings/numbers.h"
#include "common/check.h"
#include "common/status_macros.h"
#include "common/text/quote.h"
#include "common/text/str_cat.h"

namespace horizon {

absl::Status DocumentBuilder::CheckSize(std::string_view file, std::string_view text,
                                        const DocumentLimits& limits) {
  if (text.size() <= limits.text.value()) return absl::OkStatus();
  return absl::InvalidArgumentError(StrCat(file, ": the text has ", text.size(),
                                           " bytes, more than the ", limits.text.value(),
                                           " a file of this kind may have"));
}

DocumentBuilder::DocumentBuilder(std::string file, const DocumentLimits& limits)
    : document_{.file = std::move(file)}, limits_(limits) {}

absl::Status DocumentBuilder::EndObject() {
  CHECK(!levels_.empty() && std::holds_alternative<Value::Object>(levels_.back().container));
  CHECK(!levels_.back().awaits_value);
  RETURN_IF_ERROR(CheckKeysUnique(levels_.back()));
  return End();
}

absl::Status DocumentBuilder::EndArray() {
  CHECK(!levels_.empty() && std::holds_alternative<Value::Array>(levels_.back().container));
  return End();
}

absl::Status DocumentBuilder::Key(std::string_view key, int line) {
  CHECK(!levels_.empty() && !levels_.back().awaits_value);
  Level& level = levels_.back();
  auto* members = std::get_if<Value::Object>(&level.container);
  CHECK(members != nullptr);
  members->emplace_back(key, Value());
  level.key_lines.push_back(line);
  level.awaits_value = true;
  return absl::OkStatus();
}

absl::Status DocumentBuilder::Scalar(Value::Storage scalar, int line) {
  RETURN_IF_ERROR(CountOne(line));
  return Add(Value(std::move(scalar), line));
}

absl::Status DocumentBuilder::Number(std::string_view literal, int line) {
  const bool is_integer = literal.find_first_of(".eE") == std::string_view::npos;
  int64_t integer = 0;
  if (is_integer && absl::SimpleAtoi(absl::string_view(literal.data(), literal.size()), &integer))
    return Scalar(integer, line);
  double number = 0;
  if (!absl::SimpleAtod({literal.data(), literal.size()}, &number) || !std::isfinite(number)) {
    return ErrorOnLine(
        line, StrCat("the number ", Quoted(literal), " is out of range: no double is that large"));
  }
  return Scalar(number, line);
}

absl::Status DocumentBuilder::ErrorOnLine(int line, std::string_view message) const {
  return absl::InvalidArgumentError(StrCat(document_.file, ":", line, ": ", message));
}

Document DocumentBuilder::Finish() && {
  CHECK(levels_.empty() && has_root_);
  return std::move(document_);
}

absl::Status DocumentBuilder::Begin(Value::Storage container, int line) {
  RETURN_IF_ERROR(CountOne(line));
  if (levels_.size() >= static_cast<size_t>(limits_.depth)) {
    return ErrorOnLine(line, StrCat("nested deeper than ", limits_.depth, " levels"));
  }
  levels_.push_back({.container = std::move(container), .line = line});
  return absl::OkStatus();
}

absl::Status DocumentBuilder::End() {
  Value value(std::move(levels_.back().container), levels_.back().line);
  levels_.pop_back();
  return Add(std::move(value));
}

absl::Status DocumentBuilder::Add(Value value) {
  if (levels_.empty()) {
    CHECK(!has_root_);
    has_root_ = true;
    document_.root = std::move(value);
    return absl::OkStatus();
  }
  Level& level = levels_.back();
  if (auto* elements = std::get_if<Value::Array>(&level.container)) {
    elements->push_back(std::move(value));
    return absl::OkStatus();
  }
  CHECK(level.awaits_value);
  std::get<Value::Object>(level.container).back().second = std::move(value);
  level.awaits_value = false;
  return absl::OkStatus();
}

absl::Status DocumentBuilder::CountOne(int line) {
  if (++values_ <= limits_.values) return absl::OkStatus();
  return ErrorOnLine(line, StrCat("more than ", limits_.values, " values in one file"));
}

// By sorting, once an object is whole: 10^6 keys stay quick whatever they are, which neither a
// search for each key nor a hash table with known weak inputs would promise.
absl::Status DocumentBuilder::CheckKeysUnique(const Level& level) const {
  const auto& members = std::get<Value::Object>(level.container);
  std::vector<size_t> order(members.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&members](size_t a, size_t b) {
    const int compared = members[a].first.compare(members[b].first);
    return compared != 0 ? compared < 0 : a < b;
  });
  const auto same = std::adjacent_find(order.begin(), order.end(), [&members](size_t a, size_t b) {
    return members[a].first == members[b].first;
  });
  if (same == order.end()) return absl::OkStatus();
  return ErrorOnLine(level.key_lines[same[1]],
                     StrCat("the key ", Quoted(members[same[0]].first), " is already on line ",
                            level.key_lines[same[0]]));
}

}  // namespace horizon
