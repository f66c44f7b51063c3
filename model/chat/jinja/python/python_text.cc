#include "model/chat/jinja/python/python_text.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "common/text/str_cat.h"
#include "model/chat/jinja/jinja_object.h"
#include "model/chat/jinja/jinja_run.h"
#include "model/chat/jinja/python/python_characters.h"
#include "model/tokenizer/text/unicode_text.h"

namespace horizon {
namespace {

using Kind = JinjaValue::Kind;

std::string EscapeOf(char32_t character) {
  if (character == '\n') return "\\n";
  if (character == '\r') return "\\r";
  if (character == '\t') return "\\t";
  std::array<char, 16> text = {};
  const char* format = character < 0x100 ? "\\x%02x" : character < 0x10000 ? "\\u%04x" : "\\U%08x";
  std::snprintf(text.data(), text.size(), format, static_cast<unsigned>(character));
  return text.data();
}

// Single quotes, unless the text has those and no double ones.
char QuoteFor(std::string_view text) {
  return text.find('\'') != std::string_view::npos && text.find('"') == std::string_view::npos
             ? '"'
             : '\'';
}

void AppendStringRepr(const TracedText& text, JinjaTextBuilder& out) {
  const std::string& bytes = text.text();
  const std::string quote(1, QuoteFor(bytes));
  out.Append(quote);
  size_t at = 0;
  for (const TextRun& run : text.runs()) {
    std::string piece;
    while (at < run.end) {
      const size_t begin = at;
      const char32_t character = NextCharacter(bytes, at);
      if (character == '\\' || character == static_cast<char32_t>(quote[0])) {
        piece.push_back('\\');
        piece.push_back(static_cast<char>(character));
      } else if (!IsPythonPrintable(character)) {
        piece += EscapeOf(character);
      } else {
        piece.append(bytes, begin, at - begin);
      }
    }
    out.Append(piece, run.origin);
  }
  out.Append(quote);
}

void AppendRepr(JinjaRun& run, const JinjaValue& value, JinjaTextBuilder& out);

void AppendItems(JinjaRun& run, const std::vector<JinjaValue>& items, JinjaTextBuilder& out) {
  bool first = true;
  for (const JinjaValue& item : items) {
    if (run.failed()) return;
    if (!first) out.Append(", ");
    first = false;
    AppendRepr(run, item, out);
  }
}

void AppendDict(JinjaRun& run, const JinjaDict& dict, JinjaTextBuilder& out) {
  out.Append("{");
  bool first = true;
  for (const auto& [key, value] : dict.entries) {
    if (run.failed()) return;
    if (!first) out.Append(", ");
    first = false;
    AppendRepr(run, key, out);
    out.Append(": ");
    AppendRepr(run, value, out);
  }
  out.Append("}");
}

void AppendSequence(JinjaRun& run, const JinjaValue& value, JinjaTextBuilder& out) {
  const JinjaSequence& sequence = value.items();
  switch (value.kind()) {
    case Kind::kList:
      out.Append("[");
      AppendItems(run, sequence.items, out);
      out.Append("]");
      return;
    case Kind::kTuple:
      out.Append("(");
      AppendItems(run, sequence.items, out);
      out.Append(sequence.items.size() == 1 ? ",)" : ")");
      return;
    case Kind::kRange:
      out.Append(StrCat("range(", sequence.start, ", ", sequence.stop));
      if (sequence.step != 1) out.Append(StrCat(", ", sequence.step));
      out.Append(")");
      return;
    case Kind::kView:
      out.Append(StrCat(sequence.type, "(["));
      AppendItems(run, sequence.items, out);
      out.Append("])");
      return;
    default:
      run.Fail(StrCat("a ", sequence.type,
                      " has no text of its own; make a list or text of it with |list or |join"));
  }
}

void AppendRepr(JinjaRun& run, const JinjaValue& value, JinjaTextBuilder& out) {
  if (!run.Enter()) {
    run.Leave();
    return;
  }
  switch (value.kind()) {
    case Kind::kUndefined:
      out.Append("Undefined");
      break;
    case Kind::kNone:
      out.Append("None");
      break;
    case Kind::kBool:
      out.Append(value.integer() != 0 ? "True" : "False");
      break;
    case Kind::kInteger:
      out.Append(StrCat(value.integer()));
      break;
    case Kind::kFloat:
      out.Append(PythonFloat(value.real()));
      break;
    case Kind::kString:
      AppendStringRepr(value.string(), out);
      break;
    case Kind::kDict:
      AppendDict(run, value.dict(), out);
      break;
    case Kind::kObject:
      if (std::optional<TracedText> text = value.object().Repr(run); text.has_value()) {
        out.Append(*text);
      } else {
        run.Fail(StrCat("a ", value.object().TypeName(), " cannot be printed"));
      }
      break;
    default:
      AppendSequence(run, value, out);
  }
  run.Leave();
}

}  // namespace

std::string PythonTypeName(const JinjaValue& value) {
  switch (value.kind()) {
    case Kind::kUndefined:
      return "Undefined";
    case Kind::kNone:
      return "NoneType";
    case Kind::kBool:
      return "bool";
    case Kind::kInteger:
      return "int";
    case Kind::kFloat:
      return "float";
    case Kind::kString:
      return "str";
    case Kind::kList:
      return "list";
    case Kind::kTuple:
      return "tuple";
    case Kind::kRange:
      return "range";
    case Kind::kDict:
      return "dict";
    case Kind::kObject:
      return std::string(value.object().TypeName());
    default:
      return std::string(value.items().type);
  }
}

std::string PythonFloat(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  std::array<char, 64> written = {};
  const auto end = std::to_chars(written.data(), written.data() + written.size(), value,
                                 std::chars_format::scientific);
  const std::string_view text(written.data(), static_cast<size_t>(end.ptr - written.data()));
  const size_t mark = text.find('e');
  std::string_view exponent_text = text.substr(mark + 1);
  if (exponent_text.starts_with('+')) exponent_text.remove_prefix(1);
  int exponent = 0;
  std::from_chars(exponent_text.data(), exponent_text.data() + exponent_text.size(), exponent);
  std::string digits;
  for (const char byte : text.substr(0, mark)) {
    if (byte >= '0' && byte <= '9') digits.push_back(byte);
  }
  std::string result = text.starts_with('-') ? "-" : "";
  if (exponent < -4 || exponent >= 16) {
    result.push_back(digits[0]);
    if (digits.size() > 1) result += StrCat(".", digits.substr(1));
    const int size = exponent < 0 ? -exponent : exponent;
    return StrCat(result, "e", exponent < 0 ? "-" : "+", size < 10 ? "0" : "", size);
  }
  if (exponent < 0)
    return StrCat(result, "0.", std::string(static_cast<size_t>(-exponent - 1), '0'), digits);
  const size_t whole = static_cast<size_t>(exponent) + 1;
  if (digits.size() <= whole) {
    return StrCat(result, digits, std::string(whole - digits.size(), '0'), ".0");
  }
  return StrCat(result, digits.substr(0, whole), ".", digits.substr(whole));
}

TracedText PythonStr(JinjaRun& run, const JinjaValue& value) {
  if (value.is(Kind::kString)) return value.string();
  if (value.is(Kind::kUndefined)) return {};
  return PythonRepr(run, value);
}

TracedText PythonRepr(JinjaRun& run, const JinjaValue& value) {
  JinjaTextBuilder out(run);
  AppendRepr(run, value, out);
  return out.Finish();
}

std::string PythonRepr(std::string_view text) {
  const char quote = QuoteFor(text);
  std::string repr(1, quote);
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    const char32_t character = NextCharacter(text, at);
    if (character == '\\' || character == static_cast<char32_t>(quote)) {
      repr.push_back('\\');
      repr.push_back(static_cast<char>(character));
    } else if (!IsPythonPrintable(character)) {
      repr += EscapeOf(character);
    } else {
      repr.append(text, begin, at - begin);
    }
  }
  repr.push_back(quote);
  return repr;
}

TracedText EscapeHtml(JinjaRun& run, const TracedText& text) {
  JinjaTextBuilder out(run);
  size_t at = 0;
  for (const TextRun& part : text.runs()) {
    std::string piece;
    for (; at < part.end; ++at) {
      switch (text.text()[at]) {
        case '&':
          piece += "&amp;";
          break;
        case '<':
          piece += "&lt;";
          break;
        case '>':
          piece += "&gt;";
          break;
        case '"':
          piece += "&#34;";
          break;
        case '\'':
          piece += "&#39;";
          break;
        default:
          piece.push_back(text.text()[at]);
      }
    }
    out.Append(piece, part.origin);
  }
  return out.Finish();
}

}  // namespace horizon
