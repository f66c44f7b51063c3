#include <algorithm>
#include <utility>

#include "common/text/str_cat.h"
#include "model/chat/jinja/filters/jinja_filters.h"
#include "model/chat/jinja/jinja_parameters.h"
#include "model/chat/jinja/python/python_characters.h"
#include "model/chat/jinja/python/python_text.h"
#include "model/chat/jinja/python/string_format.h"
#include "model/chat/jinja/python/string_split.h"
#include "model/tokenizer/text/unicode_text.h"

namespace horizon {
namespace {

using Kind = JinjaValue::Kind;

template <LetterCase kCase>
JinjaValue Case(JinjaRun& run, const JinjaValue& value, const JinjaArguments& arguments) {
  const JinjaParameters none(run, "upper", arguments, {}, 0);
  return run.MakeString(ChangeCase(PythonStr(run, value), kCase));
}

JinjaValue ToString(JinjaRun& run, const JinjaValue& value, const JinjaArguments& arguments) {
  const JinjaParameters none(run, "string", arguments, {}, 0);
  if (value.is_markup()) return value;
  return run.MakeString(PythonStr(run, value));
}

// Jinja begins words behind white space, "-" and opening brackets, unlike str.title.
JinjaValue Title(JinjaRun& run, const JinjaValue& value, const JinjaArguments& arguments) {
  const JinjaParameters none(run, "title", arguments, {}, 0);
  const TracedText text = PythonStr(run, value);
  JinjaTextBuilder out(run);
  const auto is_border = [](char32_t character) {
    return IsPythonSpace(character) || character == '-' || character == '(' || character == '{' ||
           character == '[' || character == '<';
  };
  for (size_t at = 0; at < text.size() && !run.failed();) {
    const size_t begin = at;
    const bool border = is_border(NextCharacter(text.text(), at));
    const size_t first_end = at;
    while (at < text.size()) {
      size_t next = at;
      if (is_border(NextCharacter(text.text(), next)) != border) break;
      at = next;
    }
    out.Append(ChangeCase(text.Slice(begin, first_end), LetterCase::kUpper));
    out.Append(ChangeCase(text.Slice(first_end, at), LetterCase::kLower));
  }
  return out.FinishString();
}

JinjaValue Trim(JinjaRun& run, const JinjaValue& value, const JinjaArguments& arguments) {
  const JinjaParameters given(run, "trim", arguments, {"chars"}, 0);
  const TracedText stripped = given.set(0) ? given.Text(0, "") : TracedText();
  const std::string_view characters = stripped.text();
  return run.MakeString(
      StripText(PythonStr(run, value), true, true, given.set(0) ? &characters : nullptr));
}

JinjaValue Replace(JinjaRun& run, const JinjaValue& value, const JinjaArguments& arguments) {
  const JinjaParameters given(run, "replace", arguments, {"old", "new", "count"}, 2);
  const int64_t count = given.set(2) ? given.Integer(2, -1) : -1;
  return run.MakeString(ReplaceText(run, PythonStr(run, value), PythonStr(run, given[0]),
                                    PythonStr(run, given[1]), count));
}

JinjaValue Center(JinjaRun& run, const JinjaValue& value, const JinjaArguments& arguments) {
  const JinjaParameters given(run, "center", arguments, {"width"}, 0);
  return run.MakeString(
      PadText(run, PythonStr(run, value), given.Integer(0, 80), '^', TracedText(" ", {})));
}

JinjaValue Format(JinjaRun& run, const JinjaValue& value, const JinjaArguments& arguments) {
  if (!arguments.positional.empty() && !arguments.named.empty()) {
    return run.Fail("can't handle positional and keyword arguments at the same time");
  }
  const TracedText format = PythonStr(run, value);
  if (arguments.named.empty()) {
    return FormatPercent(run, format, run.MakeTuple(arguments.positional));
  }
  JinjaValue::Entries entries;
  for (const auto& [name, item] : arguments.named) entries.emplace_back(run.MakeText(name), item);
  return FormatPercent(run, format, run.MakeDict(std::move(entries)));
}

JinjaValue Escape(JinjaRun& run, const JinjaValue& value, const JinjaArguments& arguments) {
  const JinjaParameters none(run, "escape", arguments, {}, 0);
  if (value.is_markup()) return value;
  return run.MakeString(EscapeHtml(run, PythonStr(run, value))).AsMarkup();
}

JinjaValue EscapeAgain(JinjaRun& run, const JinjaValue& value, const JinjaArguments& arguments) {
  const JinjaParameters none(run, "forceescape", arguments, {}, 0);
  return run.MakeString(EscapeHtml(run, PythonStr(run, value))).AsMarkup();
}

JinjaValue Safe(JinjaRun& run, const JinjaValue& value, const JinjaArguments& arguments) {
  const JinjaParameters none(run, "safe", arguments, {}, 0);
  return run.MakeString(PythonStr(run, value)).AsMarkup();
}

JinjaValue XmlAttributes(JinjaRun& run, const JinjaValue& value, const JinjaArguments& arguments) {
  const JinjaParameters given(run, "xmlattr", arguments, {"autospace"}, 0);
  if (!value.is(Kind::kDict)) return run.Fail("xmlattr takes a mapping");
  JinjaTextBuilder out(run);
  for (const auto& [key, item] : value.dict().entries) {
    if (item.is(Kind::kNone) || item.is(Kind::kUndefined)) continue;
    if (!key.is(Kind::kString)) return run.Fail("expected string or bytes-like object");
    if (key.string().text().find_first_of(" \t\n\r\f\v/>=") != std::string::npos) {
      return run.Fail(
          StrCat("Invalid character in attribute name: ", PythonRepr(key.string().text())));
    }
    if (out.size() > 0 || given.Truth(0, true)) out.Append(" ");
    out.Append(EscapeHtml(run, key.string()));
    out.Append("=\"");
    out.Append(EscapeHtml(run, PythonStr(run, item)));
    out.Append("\"");
  }
  return out.FinishString();
}

// Without comments and tags, white space as single blanks, and entities of XML resolved.
JinjaValue StripTags(JinjaRun& run, const JinjaValue& value, const JinjaArguments& arguments) {
  const JinjaParameters none(run, "striptags", arguments, {}, 0);
  TracedText text = PythonStr(run, value);
  for (const auto& [open, close] :
       {std::pair<std::string_view, std::string_view>{"<!--", "-->"}, {"<", ">"}}) {
    JinjaTextBuilder out(run);
    size_t at = 0;
    for (size_t begin = text.text().find(open); begin != std::string::npos;
         begin = text.text().find(open, at)) {
      const size_t end = text.text().find(close, begin);
      if (end == std::string::npos) break;
      out.AppendPart(text, at, begin);
      at = end + close.size();
    }
    out.AppendPart(text, at, text.size());
    text = out.Finish();
  }
  JinjaTextBuilder out(run);
  const JinjaValue words = CallSplit(run, run.MakeString(text), {});
  if (run.failed()) return {};
  for (const JinjaValue& word : words.items().items) {
    if (out.size() > 0) out.Append(" ");
    out.Append(word.string());
  }
  TracedText plain = out.Finish();
  for (const auto& [entity, meaning] : {std::pair<std::string_view, std::string_view>{"&lt;", "<"},
                                        {"&gt;", ">"},
                                        {"&#34;", "\""},
                                        {"&quot;", "\""},
                                        {"&#39;", "'"},
                                        {"&amp;", "&"}}) {
    plain = ReplaceText(run, plain, TracedText(entity, {}), TracedText(meaning, {}), -1);
  }
  return run.MakeString(std::move(plain));
}

void AppendQuotedUrl(const TracedText& text, bool in_query, JinjaTextBuilder& out) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  size_t at = 0;
  for (const TextRun& part : text.runs()) {
    std::string piece;
    for (; at < part.end; ++at) {
      const char byte = text.text()[at];
      const auto code = static_cast<unsigned char>(byte);
      const bool letter = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
                          (byte >= '0' && byte <= '9');
      if (letter || std::string_view("_.-~").find(byte) != std::string_view::npos ||
          (byte == '/' && !in_query)) {
        piece.push_back(byte);
      } else if (byte == ' ' && in_query) {
        piece.push_back('+');
      } else {
        piece += {'%', kHex[code >> 4], kHex[code & 15]};
      }
    }
    out.Append(piece, part.origin);
  }
}

JinjaValue UrlEncode(JinjaRun& run, const JinjaValue& value, const JinjaArguments& arguments) {
  const JinjaParameters none(run, "urlencode", arguments, {}, 0);
  JinjaTextBuilder out(run);
  if (value.is(Kind::kString) || value.is_number() || value.is(Kind::kNone)) {
    AppendQuotedUrl(PythonStr(run, value), false, out);
    return out.FinishString();
  }
  std::vector<JinjaValue> pairs;
  if (value.is(Kind::kDict)) {
    for (const auto& [key, item] : value.dict().entries)
      pairs.push_back(run.MakeTuple({key, item}));
  } else {
    pairs = TakeItems(run, value);
  }
  bool first = true;
  for (const JinjaValue& pair : pairs) {
    const std::vector<JinjaValue> parts = TakeItems(run, pair);
    if (parts.size() != 2) return run.Fail("urlencode takes a text, a mapping or pairs");
    if (!first) out.Append("&");
    first = false;
    AppendQuotedUrl(PythonStr(run, parts[0]), true, out);
    out.Append("=");
    AppendQuotedUrl(PythonStr(run, parts[1]), true, out);
  }
  return out.FinishString();
}

JinjaValue WordCount(JinjaRun& run, const JinjaValue& value, const JinjaArguments& arguments) {
  const JinjaParameters none(run, "wordcount", arguments, {}, 0);
  const TracedText text = PythonStr(run, value);
  int64_t words = 0;
  bool inside = false;
  for (size_t at = 0; at < text.size();) {
    const char32_t character = NextCharacter(text.text(), at);
    const bool part = IsPythonAlpha(character) || IsPythonNumeric(character) || character == '_';
    if (part && !inside) ++words;
    inside = part;
  }
  return JinjaValue::Integer(words);
}

JinjaValue ToJson(JinjaRun& run, const JinjaValue& value, const JinjaArguments& arguments) {
  const JinjaParameters given(run, "tojson", arguments,
                              {"ensure_ascii", "indent", "separators", "sort_keys"}, 0);
  PythonJsonOptions options;
  options.ensure_ascii = given.Truth(0, false);
  options.sort_keys = given.Truth(3, false);
  options.has_indent = given.set(1);
  if (options.has_indent) {
    if (given[1].is(Kind::kString)) {
      options.indent = given[1].string();
    } else {
      const int64_t width = given.Integer(1, 0);
      if (width > 1000) return run.Exhaust("tojson is asked to indent by more than 1000");
      options.indent =
          TracedText(std::string(static_cast<size_t>(std::max<int64_t>(0, width)), ' '), {});
    }
  }
  options.item_separator = TracedText(options.has_indent ? "," : ", ", {});
  options.key_separator = TracedText(": ", {});
  if (given.set(2)) {
    const std::vector<JinjaValue> separators = TakeItems(run, given[2]);
    if (separators.size() != 2 || !separators[0].is(Kind::kString) ||
        !separators[1].is(Kind::kString)) {
      return run.Fail("the separators of tojson are two texts");
    }
    options.item_separator = separators[0].string();
    options.key_separator = separators[1].string();
  }
  return run.failed() ? JinjaValue() : run.MakeString(PythonJson(run, value, options));
}

constexpr std::pair<std::string_view, JinjaMethod> kFilters[] = {
    {"capitalize", Case<LetterCase::kCapitalize>},
    {"center", Center},
    {"e", Escape},
    {"escape", Escape},
    {"forceescape", EscapeAgain},
    {"format", Format},
    {"lower", Case<LetterCase::kLower>},
    {"replace", Replace},
    {"safe", Safe},
    {"string", ToString},
    {"striptags", StripTags},
    {"title", Title},
    {"tojson", ToJson},
    {"trim", Trim},
    {"upper", Case<LetterCase::kUpper>},
    {"urlencode", UrlEncode},
    {"wordcount", WordCount},
    {"xmlattr", XmlAttributes},
};

}  // namespace

JinjaFilterTable TextFilters() { return kFilters; }

}  // namespace horizon
