#include <algorithm>
#include <charconv>
#include <utility>

#include "common/text/str_cat.h"
#include "model/chat/jinja/jinja_attributes.h"
#include "model/chat/jinja/python/python_characters.h"
#include "model/chat/jinja/python/python_text.h"
#include "model/chat/jinja/python/string_format.h"
#include "model/tokenizer/text/unicode_text.h"

namespace horizon {
namespace {

using Kind = JinjaValue::Kind;

bool IsDigit(char byte) { return byte >= '0' && byte <= '9'; }

bool IsNumber(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), IsDigit);
}

bool ReadNumber(std::string_view& text, int64_t& number) {
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  text.remove_prefix(static_cast<size_t>(read.ptr - text.data()));
  return read.ec == std::errc() && number < (int64_t{1} << 31);
}

// [[fill]align][sign][z][#][0][width][grouping][.precision][type]
FormatSpec ReadSpec(JinjaRun& run, const TracedText& written) {
  FormatSpec spec;
  std::string_view text = written.text();
  constexpr std::string_view kAligns = "<>^=";
  if (!text.empty()) {
    size_t first = 0;
    NextCharacter(text, first);
    if (first < text.size() && kAligns.find(text[first]) != std::string_view::npos) {
      spec.fill = written.Slice(0, first);
      spec.align = text[first];
      text.remove_prefix(first + 1);
    } else if (kAligns.find(text[0]) != std::string_view::npos) {
      spec.align = text[0];
      text.remove_prefix(1);
    }
  }
  const auto skip = [&text](char byte) {
    if (!text.starts_with(byte)) return false;
    text.remove_prefix(1);
    return true;
  };
  for (const char sign : {'+', '-', ' '}) {
    if (skip(sign)) {
      spec.sign = sign;
      break;
    }
  }
  spec.alternate = skip('#');
  const bool had_fill = spec.align != '\0';
  spec.zero = skip('0') && !had_fill;
  bool valid = true;
  if (!text.empty() && IsDigit(text[0])) valid = ReadNumber(text, spec.width);
  for (const char grouping : {',', '_'}) {
    if (skip(grouping)) spec.grouping = grouping;
  }
  if (valid && skip('.')) {
    if (text.empty() || !IsDigit(text[0])) {
      run.Fail("Format specifier missing precision");
      return spec;
    }
    valid = ReadNumber(text, spec.precision);
  }
  if (valid && text.size() == 1) {
    spec.type = text[0];
    text.remove_prefix(1);
  }
  if (!valid || !text.empty() ||
      (spec.type != '\0' &&
       std::string_view("bcdeEfFgGnosxX%").find(spec.type) == std::string_view::npos)) {
    run.Fail(StrCat("Invalid format specifier ", PythonRepr(written.text())));
  }
  return spec;
}

class BraceFormatter {
 public:
  BraceFormatter(JinjaRun& run, const JinjaArguments& arguments, const JinjaValue* mapping)
      : run_(run), arguments_(arguments), mapping_(mapping) {}

  TracedText FormatText(const TracedText& format, int depth) {
    if (depth < 0) {
      run_.Fail("Max string recursion exceeded");
      return {};
    }
    JinjaTextBuilder out(run_);
    const std::string& text = format.text();
    size_t at = 0;
    while (at < text.size() && !run_.failed()) {
      const size_t brace = std::min(text.find_first_of("{}", at), text.size());
      out.AppendPart(format, at, brace);
      if (brace >= text.size()) break;
      const bool doubled = brace + 1 < text.size() && text[brace + 1] == text[brace];
      if (doubled) {
        out.AppendPart(format, brace, brace + 1);
        at = brace + 2;
      } else if (text[brace] == '}') {
        run_.Fail("Single '}' encountered in format string");
      } else {
        at = AppendField(format, brace + 1, depth, out);
      }
    }
    return out.Finish();
  }

 private:
  // A field that begins behind its brace; returns where the text behind it begins.
  size_t AppendField(const TracedText& format, size_t begin, int depth, JinjaTextBuilder& out) {
    const std::string& text = format.text();
    size_t end = begin;
    int open = 1;
    size_t colon = std::string::npos;
    size_t mark = std::string::npos;
    int brackets = 0;
    for (; end < text.size(); ++end) {
      const char byte = text[end];
      if (byte == '{') ++open;
      if (byte == '}' && --open == 0) break;
      if (open == 1 && colon == std::string::npos) {
        if (byte == '[') ++brackets;
        if (byte == ']') brackets = 0;
        if (brackets == 0 && byte == ':') colon = end;
        if (brackets == 0 && byte == '!' && mark == std::string::npos) mark = end;
      }
    }
    if (end >= text.size()) {
      run_.Fail(begin >= text.size() ? "Single '{' encountered in format string"
                                     : "expected '}' before end of string");
      return end;
    }
    const size_t name_end = std::min({mark, colon, end});
    JinjaValue value = Lookup(std::string_view(text).substr(begin, name_end - begin));
    if (run_.failed()) return end;
    const size_t conversion_end = std::min(colon, end);
    if (mark != std::string::npos)
      value = Convert(value, text.substr(mark + 1, conversion_end - mark - 1));
    TracedText spec_text;
    if (colon != std::string::npos) spec_text = FormatText(format.Slice(colon + 1, end), depth - 1);
    if (run_.failed()) return end;
    out.Append(FormatField(value, spec_text));
    return end + 1;
  }

  TracedText FormatField(const JinjaValue& value, const TracedText& spec) {
    if (spec.empty()) return PythonStr(run_, value);
    if (!value.is_number() && !value.is(Kind::kString)) {
      run_.Fail(
          StrCat("unsupported format string passed to ", PythonTypeName(value), ".__format__"));
      return {};
    }
    const FormatSpec read = ReadSpec(run_, spec);
    return run_.failed() ? TracedText() : FormatValue(run_, value, read);
  }

  JinjaValue Convert(const JinjaValue& value, const std::string& conversion) {
    if (conversion == "s") return run_.MakeString(PythonStr(run_, value));
    if (conversion == "r") return run_.MakeString(PythonRepr(run_, value));
    return run_.Fail(StrCat("Unknown conversion specifier ", PythonRepr(conversion)));
  }

  JinjaValue First(std::string_view name) {
    if (name.empty() || IsNumber(name)) {
      int64_t index = 0;
      if (!name.empty()) {
        if (automatic_ > 0)
          return run_.Fail(
              "cannot switch from automatic field numbering to manual field specification");
        std::from_chars(name.data(), name.data() + name.size(), index);
        manual_ = true;
      } else {
        if (manual_)
          return run_.Fail(
              "cannot switch from manual field specification to automatic field numbering");
        index = automatic_++;
      }
      if (index < 0 || static_cast<size_t>(index) >= arguments_.positional.size()) {
        return run_.Fail(
            StrCat("Replacement index ", index, " out of range for positional args tuple"));
      }
      return arguments_.positional[static_cast<size_t>(index)];
    }
    if (mapping_ != nullptr) {
      if (const JinjaValue* found = mapping_->dict().Find(name)) return *found;
    }
    for (const auto& [known, value] : arguments_.named) {
      if (known == name) return value;
    }
    return run_.Fail(PythonRepr(name));
  }

  JinjaValue Lookup(std::string_view name) {
    const size_t first_end = std::min(name.find_first_of(".["), name.size());
    JinjaValue value = First(name.substr(0, first_end));
    name.remove_prefix(first_end);
    while (!name.empty() && !run_.failed()) {
      if (name[0] == '.') {
        const size_t end = std::min(name.find_first_of(".[", 1), name.size());
        value = GetAttribute(run_, value, name.substr(1, end - 1));
        name.remove_prefix(end);
      } else if (name[0] == '[') {
        const size_t end = name.find(']');
        if (end == std::string_view::npos) return run_.Fail("Missing ']' in format string");
        const std::string_view key = name.substr(1, end - 1);
        int64_t index = 0;
        const bool is_number = IsNumber(key) && ReadIndex(key, index);
        value = GetItem(run_, value, is_number ? JinjaValue::Integer(index) : run_.MakeText(key));
        name.remove_prefix(end + 1);
      } else {
        return run_.Fail("Only '.' or '[' may follow ']' in format field specifier");
      }
    }
    return value;
  }

  static bool ReadIndex(std::string_view text, int64_t& index) {
    return std::from_chars(text.data(), text.data() + text.size(), index).ec == std::errc();
  }

  JinjaRun& run_;
  const JinjaArguments& arguments_;
  const JinjaValue* mapping_;
  int64_t automatic_ = 0;
  bool manual_ = false;
};

}  // namespace

JinjaValue CallFormat(JinjaRun& run, const JinjaValue& self, const JinjaArguments& arguments) {
  return run.MakeString(BraceFormatter(run, arguments, nullptr).FormatText(self.string(), 2));
}

JinjaValue CallFormatMap(JinjaRun& run, const JinjaValue& self, const JinjaArguments& arguments) {
  if (arguments.positional.size() != 1 || !arguments.named.empty() ||
      !arguments.positional[0].is(Kind::kDict)) {
    return run.Fail("format_map() takes exactly one mapping");
  }
  const JinjaValue mapping = arguments.positional[0];
  const JinjaArguments none;
  return run.MakeString(BraceFormatter(run, none, &mapping).FormatText(self.string(), 2));
}

}  // namespace horizon
