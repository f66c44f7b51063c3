#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>

#include "common/documents/document.h"
#include "common/documents/json.h"
#include "tests/common/documents/write_value.h"

namespace horizon {
namespace {

double AnyFinite() {
  const auto value = std::bit_cast<double>(*rc::gen::arbitrary<uint64_t>());
  return std::isfinite(value) ? value : 0.1;
}

// Valid UTF-8 with every kind of character: plain, to be escaped, NUL, two to four bytes.
std::string AnyText() {
  std::string text;
  const int length = *rc::gen::inRange(0, 8);
  for (int i = 0; i < length; ++i) {
    text += *rc::gen::element<std::string>("a", "Z", "\"", "\\", "/", "\n", "\t", "\x01", "\x7F",
                                           std::string(1, '\0'), "é", "€", "\xF0\x9F\x98\x80");
  }
  return text;
}

Value AnyTree(int depth) {
  const int kind = *rc::gen::inRange(0, depth > 0 ? 7 : 5);
  switch (kind) {
    case 0:
      return Value(nullptr, 0);
    case 1:
      return Value(*rc::gen::arbitrary<bool>(), 0);
    case 2:
      return Value(std::bit_cast<int64_t>(*rc::gen::arbitrary<uint64_t>()), 0);
    case 3:
      return Value(AnyFinite(), 0);
    case 4:
      return Value(AnyText(), 0);
    default:
      break;
  }
  const int length = *rc::gen::inRange(0, 5);
  Value::Array elements;
  Value::Object members;
  for (int i = 0; i < length; ++i) {
    if (kind == 5) {
      elements.push_back(AnyTree(depth - 1));
    } else {
      members.emplace_back(AnyText() + std::to_string(i), AnyTree(depth - 1));
    }
  }
  return kind == 5 ? Value(std::move(elements), 0) : Value(std::move(members), 0);
}

// Same bits, though a whole double may come back as an integer ("2").
bool SameNumber(double written, const Value& read) {
  const auto* integer = read.As<int64_t>();
  const auto* number = read.As<double>();
  if (integer == nullptr && number == nullptr) return false;
  const double value = number != nullptr ? *number : static_cast<double>(*integer);
  return std::bit_cast<uint64_t>(value) == std::bit_cast<uint64_t>(written);
}

bool Same(const Value& written, const Value& read) {
  if (const auto* number = written.As<double>()) return SameNumber(*number, read);
  if (written.KindName() != read.KindName()) return false;
  if (const auto* elements = written.As<Value::Array>()) {
    const auto& others = *read.As<Value::Array>();
    if (elements->size() != others.size()) return false;
    for (size_t i = 0; i < others.size(); ++i) {
      if (!Same((*elements)[i], others[i])) return false;
    }
    return true;
  }
  if (const auto* members = written.As<Value::Object>()) {
    const auto& others = *read.As<Value::Object>();
    if (members->size() != others.size()) return false;
    for (size_t i = 0; i < others.size(); ++i) {
      if ((*members)[i].first != others[i].first) return false;
      if (!Same((*members)[i].second, others[i].second)) return false;
    }
    return true;
  }
  if (const auto* flag = written.As<bool>()) return *flag == *read.As<bool>();
  if (const auto* integer = written.As<int64_t>()) return *integer == *read.As<int64_t>();
  if (const auto* text = written.As<std::string>()) return *text == *read.As<std::string>();
  return true;
}

RC_GTEST_PROP(JsonRoundTrip, WhatIsWrittenIsReadBack, ()) {
  const Value tree = AnyTree(4);
  const auto style = *rc::gen::element(JsonWriter::Style::kPretty, JsonWriter::Style::kOneLine);
  JsonWriter writer(style);
  WriteValue(tree, writer);
  const std::string text = std::move(writer).Finish();
  const absl::StatusOr<Document> document = ParseJson("f", text);
  RC_ASSERT(document.ok());
  RC_ASSERT(Same(tree, document->root));
}

RC_GTEST_PROP(JsonRoundTrip, EveryFiniteDoubleKeepsItsBits, ()) {
  const double value = AnyFinite();
  JsonWriter writer;
  writer.Number(value);
  const absl::StatusOr<Document> document = ParseJson("f", std::move(writer).Finish());
  RC_ASSERT(document.ok());
  RC_ASSERT(SameNumber(value, document->root));
}

TEST(JsonRoundTrip, NegativeZeroKeepsItsSign) {
  JsonWriter writer;
  writer.Number(-0.0);
  const absl::StatusOr<Document> document = ParseJson("f", std::move(writer).Finish());
  ASSERT_TRUE(document.ok());
  EXPECT_TRUE(SameNumber(-0.0, document->root));
  EXPECT_FALSE(SameNumber(0.0, document->root));
}

}  // namespace
}  // namespace horizon
