#include <algorithm>
#include <utility>

#include "common/text/str_cat.h"
#include "model/chat/jinja/jinja_attributes.h"
#include "model/chat/jinja/jinja_parameters.h"
#include "model/chat/jinja/python/python_characters.h"
#include "model/chat/jinja/python/python_text.h"
#include "model/chat/jinja/python/string_format.h"
#include "model/chat/jinja/python/string_split.h"
#include "model/tokenizer/text/unicode_text.h"

namespace horizon {
namespace {

using Kind = JinjaValue::Kind;
using Character = bool (*)(char32_t);

template <LetterCase kCase>
JinjaValue Case(JinjaRun& run, const JinjaValue& self, const JinjaArguments& arguments) {
  const JinjaParameters none(run, "str.upper", arguments, {}, 0);
  return run.MakeString(ChangeCase(self.string(), kCase));
}

template <bool kLeft, bool kRight>
JinjaValue Strip(JinjaRun& run, const JinjaValue& self, const JinjaArguments& arguments) {
  const JinjaParameters given(run, "strip", arguments, {"chars"}, 0);
  const TracedText stripped = given.set(0) ? given.Text(0, "") : TracedText();
  const std::string_view characters = stripped.text();
  return run.MakeString(
      StripText(self.string(), kLeft, kRight, given.set(0) ? &characters : nullptr));
}

// The part of a text that find, count, startswith and so on look at, in bytes.
struct Window {
  size_t begin = 0;
  size_t end = 0;
  bool valid = true;
};

Window FindWindow(JinjaRun& run, const std::string& text, const JinjaParameters& given) {
  Window window{0, text.size(), true};
  if (!given.set(1) && !given.set(2)) return window;
  const std::vector<size_t> places = CharacterPlaces(text);
  const auto size = static_cast<int64_t>(places.size()) - 1;
  const auto resolve = [size](int64_t bound) {
    return bound < 0 ? std::max<int64_t>(0, bound + size) : bound;
  };
  const int64_t begin = given.set(1) ? resolve(given.Integer(1, 0)) : 0;
  const int64_t end = given.set(2) ? std::min(size, resolve(given.Integer(2, size))) : size;
  if (begin > end) {
    window.valid = false;
    return window;
  }
  window.begin = places[static_cast<size_t>(begin)];
  window.end = places[static_cast<size_t>(end)];
  return window;
}

template <bool kFromRight, bool kRaises>
JinjaValue Find(JinjaRun& run, const JinjaValue& self, const JinjaArguments& arguments) {
  const JinjaParameters given(run, "find", arguments, {"sub", "start", "end"}, 1);
  const TracedText sub = given.Text(0, "");
  const std::string& text = self.string().text();
  const Window window = FindWindow(run, text, given);
  run.Work(text.size());
  size_t found = std::string::npos;
  if (window.valid) {
    const std::string_view part =
        std::string_view(text).substr(window.begin, window.end - window.begin);
    found = kFromRight ? part.rfind(sub.text()) : part.find(sub.text());
  }
  if (found == std::string::npos) {
    return kRaises ? run.Fail("substring not found") : JinjaValue::Integer(-1);
  }
  return JinjaValue::Integer(static_cast<int64_t>(
      CountCharacters(std::string_view(text).substr(0, window.begin + found))));
}

JinjaValue Count(JinjaRun& run, const JinjaValue& self, const JinjaArguments& arguments) {
  const JinjaParameters given(run, "count", arguments, {"sub", "start", "end"}, 1);
  const TracedText sub = given.Text(0, "");
  const std::string& text = self.string().text();
  const Window window = FindWindow(run, text, given);
  run.Work(text.size());
  if (!window.valid) return JinjaValue::Integer(0);
  const std::string_view part =
      std::string_view(text).substr(window.begin, window.end - window.begin);
  if (sub.empty()) return JinjaValue::Integer(static_cast<int64_t>(CountCharacters(part)) + 1);
  int64_t count = 0;
  for (size_t at = part.find(sub.text()); at != std::string_view::npos;
       at = part.find(sub.text(), at + sub.size())) {
    ++count;
  }
  return JinjaValue::Integer(count);
}

template <bool kEnd>
JinjaValue StartsOrEnds(JinjaRun& run, const JinjaValue& self, const JinjaArguments& arguments) {
  const std::string_view name = kEnd ? "endswith" : "startswith";
  const JinjaParameters given(run, name, arguments, {"prefix", "start", "end"}, 1);
  std::vector<JinjaValue> wanted = {given[0]};
  if (given[0].is(Kind::kTuple)) wanted = given[0].items().items;
  const std::string& text = self.string().text();
  const Window window = FindWindow(run, text, given);
  for (const JinjaValue& one : wanted) {
    if (!one.is(Kind::kString)) {
      return run.Fail(
          StrCat(name, " first arg must be str or a tuple of str, not ", PythonTypeName(one)));
    }
    if (!window.valid) continue;
    const std::string_view part =
        std::string_view(text).substr(window.begin, window.end - window.begin);
    if (kEnd ? part.ends_with(one.string().text()) : part.starts_with(one.string().text())) {
      return JinjaValue::Bool(true);
    }
  }
  return JinjaValue::Bool(false);
}

JinjaValue Replace(JinjaRun& run, const JinjaValue& self, const JinjaArguments& arguments) {
  const JinjaParameters given(run, "replace", arguments, {"old", "new", "count"}, 2);
  return run.MakeString(
      ReplaceText(run, self.string(), given.Text(0, ""), given.Text(1, ""), given.Integer(2, -1)));
}

JinjaValue Join(JinjaRun& run, const JinjaValue& self, const JinjaArguments& arguments) {
  const JinjaParameters given(run, "join", arguments, {"iterable"}, 1);
  JinjaTextBuilder text(run);
  bool first = true;
  int64_t index = 0;
  if (given[0].is(Kind::kUndefined) || given[0].is(Kind::kNone) || given[0].is_number()) {
    if (!given[0].is(Kind::kUndefined)) return run.Fail("can only join an iterable");
  }
  for (const JinjaValue& item : TakeItems(run, given[0])) {
    if (!first) text.Append(self.string());
    first = false;
    if (!item.is(Kind::kString)) {
      return run.Fail(StrCat("sequence item ", index, ": expected str instance, ",
                             PythonTypeName(item), " found"));
    }
    text.Append(item.string());
    ++index;
  }
  return text.FinishString();
}

template <bool kRight>
JinjaValue Partition(JinjaRun& run, const JinjaValue& self, const JinjaArguments& arguments) {
  const JinjaParameters given(run, "partition", arguments, {"sep"}, 1);
  const TracedText separator = given.Text(0, "");
  if (separator.empty()) return run.Fail("empty separator");
  const TracedText& text = self.string();
  const size_t at =
      kRight ? text.text().rfind(separator.text()) : text.text().find(separator.text());
  if (at == std::string::npos) {
    const JinjaValue empty = run.MakeText("");
    return run.MakeTuple(kRight ? std::vector<JinjaValue>{empty, empty, self}
                                : std::vector<JinjaValue>{self, empty, empty});
  }
  const size_t end = at + separator.size();
  return run.MakeTuple({run.MakeString(text.Slice(0, at)), run.MakeString(text.Slice(at, end)),
                        run.MakeString(text.Slice(end, text.size()))});
}

template <bool kPrefix>
JinjaValue Remove(JinjaRun& run, const JinjaValue& self, const JinjaArguments& arguments) {
  const JinjaParameters given(run, "removeprefix", arguments, {"prefix"}, 1);
  const TracedText part = given.Text(0, "");
  const TracedText& text = self.string();
  const bool has =
      kPrefix ? text.text().starts_with(part.text()) : text.text().ends_with(part.text());
  if (!has || part.empty()) return self;
  return run.MakeString(kPrefix ? text.Slice(part.size(), text.size())
                                : text.Slice(0, text.size() - part.size()));
}

template <Character kTest>
JinjaValue All(JinjaRun& run, const JinjaValue& self, const JinjaArguments& arguments) {
  const std::string& text = self.string().text();
  run.Work(text.size());
  for (size_t at = 0; at < text.size();) {
    if (!kTest(NextCharacter(text, at))) return JinjaValue::Bool(false);
  }
  return JinjaValue::Bool(!text.empty());
}

bool IsAlphaNumeric(char32_t character) {
  return IsPythonAlpha(character) || IsPythonNumeric(character);
}

// Some letter has case, and none has the other one.
template <bool kUpper>
JinjaValue IsCase(JinjaRun& run, const JinjaValue& self, const JinjaArguments& arguments) {
  const std::string& text = self.string().text();
  run.Work(text.size());
  bool cased = false;
  for (size_t at = 0; at < text.size();) {
    const char32_t character = NextCharacter(text, at);
    const bool other = kUpper ? IsPythonLower(character) : IsPythonUpper(character);
    if (other || IsPythonTitle(character)) return JinjaValue::Bool(false);
    cased = cased || (kUpper ? IsPythonUpper(character) : IsPythonLower(character));
  }
  return JinjaValue::Bool(cased);
}

JinjaValue IsTitle(JinjaRun& run, const JinjaValue& self, const JinjaArguments& arguments) {
  const std::string& text = self.string().text();
  bool cased = false;
  bool after_cased = false;
  for (size_t at = 0; at < text.size();) {
    const char32_t character = NextCharacter(text, at);
    const bool upper = IsPythonUpper(character) || IsPythonTitle(character);
    const bool lower = IsPythonLower(character);
    if ((upper && after_cased) || (lower && !upper && !after_cased)) return JinjaValue::Bool(false);
    after_cased = upper || lower;
    cased = cased || after_cased;
  }
  return JinjaValue::Bool(cased);
}

JinjaValue IsAsciiText(JinjaRun& run, const JinjaValue& self, const JinjaArguments& arguments) {
  return JinjaValue::Bool(IsAscii(self.string().text()));
}

JinjaValue IsPrintable(JinjaRun& run, const JinjaValue& self, const JinjaArguments& arguments) {
  return self.string().empty() ? JinjaValue::Bool(true)
                               : All<IsPythonPrintable>(run, self, arguments);
}

JinjaValue IsIdentifier(JinjaRun& run, const JinjaValue& self, const JinjaArguments& arguments) {
  const std::string& text = self.string().text();
  for (size_t at = 0; at < text.size();) {
    const bool first = at == 0;
    const char32_t character = NextCharacter(text, at);
    if (first ? !IsIdentifierStart(character) : !IsIdentifierPart(character)) {
      return JinjaValue::Bool(false);
    }
  }
  return JinjaValue::Bool(!text.empty());
}

template <char kSide>
JinjaValue Pad(JinjaRun& run, const JinjaValue& self, const JinjaArguments& arguments) {
  const JinjaParameters given(run, "center", arguments, {"width", "fillchar"}, 1);
  const TracedText fill = given.Text(1, " ");
  if (CountCharacters(fill.text()) != 1) {
    return run.Fail("The fill character must be exactly one character long");
  }
  return run.MakeString(PadText(run, self.string(), given.Integer(0, 0), kSide, fill));
}

JinjaValue ZeroFill(JinjaRun& run, const JinjaValue& self, const JinjaArguments& arguments) {
  const JinjaParameters given(run, "zfill", arguments, {"width"}, 1);
  const TracedText& text = self.string();
  const bool sign = text.text().starts_with('-') || text.text().starts_with('+');
  const int64_t width = given.Integer(0, 0) - (sign ? 1 : 0);
  JinjaTextBuilder filled(run);
  if (sign) filled.AppendPart(text, 0, 1);
  filled.Append(
      PadText(run, text.Slice(sign ? 1 : 0, text.size()), width, '>', TracedText("0", {})));
  return filled.FinishString();
}

JinjaValue ExpandTabs(JinjaRun& run, const JinjaValue& self, const JinjaArguments& arguments) {
  const JinjaParameters given(run, "expandtabs", arguments, {"tabsize"}, 0);
  const int64_t width = given.Integer(0, 8);
  const TracedText& text = self.string();
  JinjaTextBuilder out(run);
  int64_t column = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    const char32_t character = NextCharacter(text.text(), at);
    if (character == '\t') {
      const int64_t blanks = width > 0 ? width - column % width : 0;
      if (blanks > static_cast<int64_t>(run.max_text_bytes()))
        return run.Exhaust("a tab is too wide");
      out.Append(std::string(static_cast<size_t>(blanks), ' '), text.OriginAt(begin));
      column += blanks;
    } else {
      out.AppendPart(text, begin, at);
      column = character == '\n' || character == '\r' ? 0 : column + 1;
    }
  }
  return out.FinishString();
}

JinjaValue Refuse(JinjaRun& run, const JinjaValue& self, const JinjaArguments& arguments) {
  return run.Fail("the methods encode, maketrans and translate of str are not supported");
}

constexpr std::pair<std::string_view, JinjaMethod> kMethods[] = {
    {"capitalize", Case<LetterCase::kCapitalize>},
    {"casefold", Case<LetterCase::kFold>},
    {"center", Pad<'^'>},
    {"count", Count},
    {"encode", Refuse},
    {"endswith", StartsOrEnds<true>},
    {"expandtabs", ExpandTabs},
    {"find", Find<false, false>},
    {"format", CallFormat},
    {"format_map", CallFormatMap},
    {"index", Find<false, true>},
    {"isalnum", All<IsAlphaNumeric>},
    {"isalpha", All<IsPythonAlpha>},
    {"isascii", IsAsciiText},
    {"isdecimal", All<IsPythonDecimal>},
    {"isdigit", All<IsPythonDigit>},
    {"isidentifier", IsIdentifier},
    {"islower", IsCase<false>},
    {"isnumeric", All<IsPythonNumeric>},
    {"isprintable", IsPrintable},
    {"isspace", All<IsPythonSpace>},
    {"istitle", IsTitle},
    {"isupper", IsCase<true>},
    {"join", Join},
    {"ljust", Pad<'<'>},
    {"lower", Case<LetterCase::kLower>},
    {"lstrip", Strip<true, false>},
    {"maketrans", Refuse},
    {"partition", Partition<false>},
    {"removeprefix", Remove<true>},
    {"removesuffix", Remove<false>},
    {"replace", Replace},
    {"rfind", Find<true, false>},
    {"rindex", Find<true, true>},
    {"rjust", Pad<'>'>},
    {"rpartition", Partition<true>},
    {"rsplit", CallRsplit},
    {"rstrip", Strip<false, true>},
    {"split", CallSplit},
    {"splitlines", CallSplitlines},
    {"startswith", StartsOrEnds<false>},
    {"strip", Strip<true, true>},
    {"swapcase", Case<LetterCase::kSwap>},
    {"title", Case<LetterCase::kTitle>},
    {"translate", Refuse},
    {"upper", Case<LetterCase::kUpper>},
    {"zfill", ZeroFill},
};

}  // namespace

JinjaMethod FindStringMethod(std::string_view name) {
  for (const auto& [known, method] : kMethods) {
    if (known == name) return method;
  }
  return nullptr;
}

}  // namespace horizon
