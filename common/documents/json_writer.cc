#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <utility>

#include "absl/strings/str_format.h"
#include "common/check.h"
#include "common/documents/json.h"
#include "common/text/str_cat.h"
#include "common/text/utf8.h"

namespace horizon {
namespace {

void AppendEscaped(char c, std::string* out) {
  switch (c) {
    case '"':
      out->append("\\\"");
      return;
    case '\\':
      out->append("\\\\");
      return;
    case '\n':
      out->append("\\n");
      return;
    case '\r':
      out->append("\\r");
      return;
    case '\t':
      out->append("\\t");
      return;
    default:
      break;
  }
  if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
    absl::StrAppendFormat(out, "\\u%04x", static_cast<unsigned>(c));
  } else {
    out->push_back(c);
  }
}

// A file name may hold bytes that are not UTF-8; the JSON text must not.
void AppendQuoted(std::string_view text, std::string* out) {
  out->push_back('"');
  while (!text.empty()) {
    const size_t length = Utf8Length(text);
    if (length == 0) {
      out->append("\uFFFD");
    } else if (length == 1) {
      AppendEscaped(text[0], out);
    } else {
      out->append(text.substr(0, length));
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  out->push_back('"');
}

}  // namespace

JsonWriter& JsonWriter::BeginObject() {
  BeforeValue();
  text_.push_back('{');
  levels_.push_back({.is_object = true});
  return *this;
}

JsonWriter& JsonWriter::EndObject() {
  CHECK(!levels_.empty() && levels_.back().is_object && !after_key_);
  const bool empty = levels_.back().empty;
  levels_.pop_back();
  if (!empty) NewLine();
  text_.push_back('}');
  return *this;
}

JsonWriter& JsonWriter::BeginArray() {
  BeforeValue();
  text_.push_back('[');
  levels_.push_back({.is_object = false});
  return *this;
}

JsonWriter& JsonWriter::EndArray() {
  CHECK(!levels_.empty() && !levels_.back().is_object);
  const bool empty = levels_.back().empty;
  levels_.pop_back();
  if (!empty) NewLine();
  text_.push_back(']');
  return *this;
}

JsonWriter& JsonWriter::Key(std::string_view key) {
  CHECK(!levels_.empty() && levels_.back().is_object && !after_key_);
  BeforeElement();
  AppendQuoted(key, &text_);
  text_.append(": ");
  after_key_ = true;
  return *this;
}

JsonWriter& JsonWriter::String(std::string_view text) {
  BeforeValue();
  AppendQuoted(text, &text_);
  return *this;
}

JsonWriter& JsonWriter::Integer(int64_t value) {
  BeforeValue();
  AppendPiece(text_, value);
  return *this;
}

JsonWriter& JsonWriter::Unsigned(uint64_t value) {
  BeforeValue();
  AppendPiece(text_, value);
  return *this;
}

JsonWriter& JsonWriter::Number(double value) {
  if (!std::isfinite(value)) return Null();
  BeforeValue();
  if (value == 0 && std::signbit(value)) {
    text_.append("-0.0");  // "-0" would read back as the integer 0
    return *this;
  }
  std::array<char, 32> digits{};
  const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  CHECK(error == std::errc());
  text_.append(digits.data(), end);
  return *this;
}

JsonWriter& JsonWriter::Bool(bool value) {
  BeforeValue();
  text_.append(value ? "true" : "false");
  return *this;
}

JsonWriter& JsonWriter::Null() {
  BeforeValue();
  text_.append("null");
  return *this;
}

std::string JsonWriter::Finish() && {
  CHECK(levels_.empty() && !text_.empty());
  if (style_ == Style::kPretty) text_.push_back('\n');
  return std::move(text_);
}

void JsonWriter::BeforeValue() {
  if (std::exchange(after_key_, false)) return;
  if (levels_.empty()) {
    CHECK(text_.empty());
    return;
  }
  CHECK(!levels_.back().is_object);
  BeforeElement();
}

void JsonWriter::BeforeElement() {
  if (!levels_.back().empty) text_.append(style_ == Style::kPretty ? "," : ", ");
  levels_.back().empty = false;
  NewLine();
}

void JsonWriter::NewLine() {
  if (style_ == Style::kOneLine) return;
  text_.push_back('\n');
  text_.append(2 * levels_.size(), ' ');
}

}  // namespace horizon
