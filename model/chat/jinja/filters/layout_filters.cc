#include <algorithm>
#include <utility>

#include "common/text/str_cat.h"
#include "model/chat/jinja/filters/jinja_filters.h"
#include "model/chat/jinja/jinja_parameters.h"
#include "model/chat/jinja/python/python_characters.h"
#include "model/chat/jinja/python/python_text.h"
#include "model/chat/jinja/python/string_split.h"

namespace horizon {
namespace {

using Kind = JinjaValue::Kind;

JinjaValue Indent(JinjaRun& run, const JinjaValue& value, const JinjaArguments& arguments) {
  const JinjaParameters given(run, "indent", arguments, {"width", "first", "blank"}, 0);
  TracedText indent;
  if (given.given(0) && given[0].is(Kind::kString)) {
    indent = given[0].string();
  } else {
    const int64_t width = std::max<int64_t>(0, given.Integer(0, 4));
    if (width > static_cast<int64_t>(run.max_text_bytes()))
      return run.Exhaust("an indent is too wide");
    indent = TracedText(std::string(static_cast<size_t>(width), ' '), {});
  }
  if (value.is(Kind::kUndefined)) return run.Fail(value.hint());
  if (!value.is(Kind::kString)) {
    return run.Fail(StrCat("indent takes a text, not ", PythonTypeName(value)));
  }
  TracedText text = value.string();
  text.Append("\n", {});
  const bool blank = given.Truth(2, false);
  JinjaTextBuilder out(run);
  if (given.Truth(1, false)) out.Append(indent);
  bool first = true;
  for (const TracedText& line : SplitLines(text, false)) {
    if (run.failed()) break;
    if (!first) {
      out.Append("\n");
      if (blank || !line.empty()) out.Append(indent);
    }
    first = false;
    out.Append(line);
  }
  return out.FinishString();
}

JinjaValue Truncate(JinjaRun& run, const JinjaValue& value, const JinjaArguments& arguments) {
  const JinjaParameters given(run, "truncate", arguments, {"length", "killwords", "end", "leeway"},
                              0);
  const int64_t length = given.Integer(0, 255);
  const TracedText end = given.Text(2, "...");
  const int64_t leeway = given.set(3) ? given.Integer(3, 5) : 5;
  const auto end_length = static_cast<int64_t>(CountCharacters(end.text()));
  if (length < end_length)
    return run.Fail(StrCat("expected length >= ", end_length, ", got ", length));
  if (leeway < 0) return run.Fail(StrCat("expected leeway >= 0, got ", leeway));
  const std::optional<int64_t> size = FindLength(value);
  if (size.has_value() && *size <= length + leeway) return value;
  if (!value.is(Kind::kString)) {
    return run.Fail(StrCat("truncate takes a text, not ", PythonTypeName(value)));
  }
  const TracedText& text = value.string();
  TracedText kept =
      text.Slice(0, PlaceOfCharacter(text.text(), static_cast<size_t>(length - end_length)));
  if (!given.Truth(1, false)) {
    const size_t blank = kept.text().rfind(' ');
    if (blank != std::string::npos) kept = kept.Slice(0, blank);
  }
  kept.Append(end);
  return run.MakeString(std::move(kept));
}

constexpr std::pair<std::string_view, JinjaMethod> kFilters[] = {
    {"indent", Indent},
    {"truncate", Truncate},
};

}  // namespace

JinjaFilterTable LayoutFilters() { return kFilters; }

}  // namespace horizon
