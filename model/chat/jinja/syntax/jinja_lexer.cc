#include "model/chat/jinja/syntax/jinja_lexer.h"

#include <algorithm>
#include <array>

#include "common/status_macros.h"
#include "common/text/quote.h"
#include "common/text/utf8.h"
#include "model/chat/jinja/jinja_error.h"
#include "model/chat/jinja/python/python_characters.h"
#include "model/chat/jinja/syntax/string_escapes.h"
#include "model/tokenizer/text/unicode_text.h"

namespace horizon {
namespace {

using Kind = JinjaToken::Kind;

// Longest first, so that "//" is not two divisions.
constexpr std::array<std::string_view, 26> kOperators = {
    "//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[",
    "]",  "(",  ")",  "{",  "}",  ">",  "<", "=", ".", ":", "|", ",", ";"};

bool IsDigit(char byte) { return byte >= '0' && byte <= '9'; }

// Newlines of any kind as "\n", and without one at the end.
std::string NormalizeSource(std::string_view source) {
  std::string text;
  text.reserve(source.size());
  for (size_t at = 0; at < source.size(); ++at) {
    if (source[at] != '\r') {
      text.push_back(source[at]);
      continue;
    }
    text.push_back('\n');
    if (at + 1 < source.size() && source[at + 1] == '\n') ++at;
  }
  if (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

class Lexer {
 public:
  Lexer(std::string source, std::string_view name) : source_(std::move(source)), name_(name) {}

  absl::StatusOr<std::vector<JinjaToken>> ReadTokens() {
    while (at_ < source_.size()) RETURN_IF_ERROR(LexRoot());
    Add(Kind::kEnd, "");
    return std::move(tokens_);
  }

 private:
  std::string_view Rest() const { return std::string_view(source_).substr(at_); }
  bool Sees(std::string_view text) const { return Rest().starts_with(text); }

  void Add(Kind kind, std::string text) { tokens_.push_back({kind, std::move(text), line_}); }

  absl::Status Error(std::string_view reason) const { return JinjaError(name_, line_, reason); }

  void Advance(size_t count) {
    const std::string_view passed = Rest().substr(0, count);
    line_ += static_cast<int>(std::count(passed.begin(), passed.end(), '\n'));
    at_ += count;
    if (!passed.empty()) line_starts_ = passed.back() == '\n';
  }

  void SkipSpace() { Advance(SkipLeft(Rest(), nullptr)); }

  // Text up to a tag that begins with `sign` behind its two characters.
  void AddData(std::string_view text, char sign, bool is_variable) {
    const size_t whole = text.size();
    if (sign == '-') {
      text = text.substr(0, SkipRight(text, nullptr));
    } else if (sign != '+' && !is_variable) {
      const size_t line_begin = text.rfind('\n') + 1;  // 0 if there is none
      const std::string_view tail = text.substr(line_begin);
      if ((line_begin > 0 || line_starts_) && SkipLeft(tail, nullptr) == tail.size()) {
        text = text.substr(0, line_begin);
      }
    }
    if (!text.empty()) Add(Kind::kData, std::string(text));
    const bool starts = line_starts_;
    Advance(whole);
    line_starts_ = starts;
  }

  static char SignAt(std::string_view text) {
    return !text.empty() && (text[0] == '-' || text[0] == '+') ? text[0] : '\0';
  }

  // The end of a block or comment at the front of the rest: how long "-%}" with the white space
  // behind it, "+%}" or "%}" with a newline is; 0 if none is here.
  size_t EndLength(std::string_view end, bool trims) const {
    const std::string_view rest = Rest();
    if (rest.starts_with('-') && rest.substr(1).starts_with(end)) {
      return 3 + SkipLeft(rest.substr(3), nullptr);
    }
    if (trims && rest.starts_with('+') && rest.substr(1).starts_with(end)) return 3;
    if (!rest.starts_with(end)) return 0;
    return trims && rest.substr(2).starts_with('\n') ? 3 : 2;
  }

  absl::Status LexRoot() {
    const std::string_view rest = Rest();
    size_t tag = 0;
    while ((tag = rest.find('{', tag)) != std::string_view::npos) {
      if (tag + 1 < rest.size() && std::string_view("%{#").find(rest[tag + 1]) < 3) break;
      ++tag;
    }
    if (tag == std::string_view::npos) {
      Add(Kind::kData, std::string(rest));
      Advance(rest.size());
      return absl::OkStatus();
    }
    const char type = rest[tag + 1];
    const char sign = SignAt(rest.substr(tag + 2));
    AddData(rest.substr(0, tag), sign, type == '{');
    if (type == '%' && RawLength() > 0) return LexRaw();
    const int begin_line = line_;
    if (type != '#') Add(type == '%' ? Kind::kBlockBegin : Kind::kVariableBegin, "");
    Advance(sign == '\0' ? 2 : 3);
    if (type == '#') return LexComment(begin_line);
    return LexTag(type == '%');
  }

  absl::Status LexComment(int begin_line) {
    while (at_ < source_.size()) {
      const size_t length = EndLength("#}", true);
      Advance(std::max<size_t>(length, 1));
      if (length > 0) return absl::OkStatus();
    }
    return JinjaError(name_, begin_line, "the comment has no end \"#}\"");
  }

  // How long "{% raw %}" (or with another word) is here, with what belongs to it; 0 if it is not.
  size_t RawLength() const {
    std::string_view rest = Rest().substr(2);
    if (SignAt(rest) != '\0') rest.remove_prefix(1);
    rest.remove_prefix(SkipLeft(rest, nullptr));
    if (!rest.starts_with("raw")) return 0;
    rest.remove_prefix(3);
    rest.remove_prefix(SkipLeft(rest, nullptr));
    if (rest.starts_with("-%}")) {
      rest.remove_prefix(3);
      rest.remove_prefix(SkipLeft(rest, nullptr));
    } else if (rest.starts_with("%}")) {
      rest.remove_prefix(2);
    } else {
      return 0;
    }
    return Rest().size() - rest.size();
  }

  absl::Status LexRaw() {
    const int begin_line = line_;
    Advance(RawLength());
    for (size_t tag = Rest().find("{%"); tag != std::string_view::npos;
         tag = Rest().find("{%", tag + 1)) {
      std::string_view inner = Rest().substr(tag + 2);
      const char sign = SignAt(inner);
      if (sign != '\0') inner.remove_prefix(1);
      inner.remove_prefix(SkipLeft(inner, nullptr));
      if (!inner.starts_with("endraw")) continue;
      inner.remove_prefix(6);
      inner.remove_prefix(SkipLeft(inner, nullptr));
      const size_t end = Rest().size() - inner.size();
      const size_t at = at_;
      at_ += end;
      const size_t length = EndLength("%}", true);
      at_ = at;
      if (length == 0) continue;
      AddData(Rest().substr(0, tag), sign, false);
      Advance(end + length - tag);
      return absl::OkStatus();
    }
    return JinjaError(name_, begin_line, "the raw block has no end \"{% endraw %}\"");
  }

  absl::Status LexTag(bool is_block) {
    std::string open;  // brackets that still have to be closed
    while (at_ < source_.size()) {
      if (open.empty()) {
        const size_t length = EndLength(is_block ? "%}" : "}}", is_block);
        if (length > 0) {
          Add(is_block ? Kind::kBlockEnd : Kind::kVariableEnd, "");
          Advance(length);
          return absl::OkStatus();
        }
      }
      const size_t space = SkipLeft(Rest(), nullptr);
      if (space > 0) {
        Advance(space);
      } else {
        RETURN_IF_ERROR(LexToken(open));
      }
    }
    return absl::OkStatus();
  }

  absl::Status LexToken(std::string& open) {
    if (IsDigit(source_[at_]) && LexNumber()) return absl::OkStatus();
    if (const size_t length = WordLength(); length > 0) return LexName(length);
    if (Sees("'") || Sees("\"")) return LexString();
    for (const std::string_view sign : kOperators) {
      if (!Sees(sign)) continue;
      RETURN_IF_ERROR(Balance(sign, open));
      Add(Kind::kOperator, std::string(sign));
      Advance(sign.size());
      return absl::OkStatus();
    }
    const size_t length = std::max<size_t>(1, Utf8Length(Rest()));
    return Error(StrCat("a tag cannot contain ", Quoted(Rest().substr(0, length)), " here"));
  }

  absl::Status Balance(std::string_view sign, std::string& open) const {
    if (sign == "{") open.push_back('}');
    if (sign == "(") open.push_back(')');
    if (sign == "[") open.push_back(']');
    if (sign != "}" && sign != ")" && sign != "]") return absl::OkStatus();
    if (open.empty()) return Error(StrCat("\"", sign, "\" closes nothing"));
    if (open.back() != sign[0]) {
      return Error(StrCat("found \"", sign, "\" where \"", open.back(), "\" was expected"));
    }
    open.pop_back();
    return absl::OkStatus();
  }

  size_t WordLength() const {
    size_t end = 0;
    const std::string_view rest = Rest();
    while (end < rest.size()) {
      size_t next = end;
      const char32_t character = NextCharacter(rest, next);
      if (!IsPythonAlpha(character) && !IsPythonNumeric(character) && character != '_') break;
      end = next;
    }
    return end;
  }

  absl::Status LexName(size_t length) {
    const std::string_view word = Rest().substr(0, length);
    for (size_t at = 0; at < word.size();) {
      const bool first = at == 0;
      const char32_t character = NextCharacter(word, at);
      if (first ? !IsIdentifierStart(character) : !IsIdentifierPart(character)) {
        return Error(StrCat(Quoted(word), " is no name"));
      }
    }
    Add(Kind::kName, std::string(word));
    Advance(length);
    return absl::OkStatus();
  }

  // Where digits with single "_" between them end, from `at` of the rest.
  template <typename IsOne>
  size_t DigitsEnd(size_t at, IsOne is_one, bool leading_underscore) const {
    const std::string_view rest = Rest();
    size_t end = at;
    while (true) {
      size_t next = end;
      if (next < rest.size() && rest[next] == '_' && (end > at || leading_underscore)) ++next;
      if (next >= rest.size() || !is_one(rest[next])) return end;
      end = next + 1;
    }
  }

  bool AddNumber(Kind kind, size_t length) {
    std::string text(Rest().substr(0, length));
    std::erase(text, '_');
    Add(kind, std::move(text));
    Advance(length);
    return true;
  }

  bool LexNumber() {
    const std::string_view rest = Rest();
    const size_t whole = DigitsEnd(0, IsDigit, false);
    size_t end = whole;
    if (end < rest.size() && rest[end] == '.') {
      const size_t fraction = DigitsEnd(end + 1, IsDigit, false);
      if (fraction > end + 1) end = fraction;
    }
    if (end < rest.size() && (rest[end] == 'e' || rest[end] == 'E')) {
      size_t digits = end + 1;
      if (digits < rest.size() && (rest[digits] == '+' || rest[digits] == '-')) ++digits;
      const size_t exponent = DigitsEnd(digits, IsDigit, false);
      if (exponent > digits) end = exponent;
    }
    const bool after_dot = at_ > 0 && source_[at_ - 1] == '.';
    if (end > whole && !after_dot) return AddNumber(Kind::kFloat, end);
    if (rest[0] != '0') return AddNumber(Kind::kInteger, whole);
    if (rest.size() > 1) {
      const char base = static_cast<char>(rest[1] | 0x20);
      const auto is_digit = [base](char byte) {
        const char lower = static_cast<char>(byte | 0x20);
        if (base == 'x') return IsDigit(byte) || (lower >= 'a' && lower <= 'f');
        return byte >= '0' && byte <= (base == 'b' ? '1' : '7');
      };
      if (base == 'x' || base == 'b' || base == 'o') {
        const size_t digits = DigitsEnd(2, is_digit, true);
        if (digits > 2) return AddNumber(Kind::kInteger, digits);
      }
    }
    return AddNumber(Kind::kInteger, DigitsEnd(
                                         0, [](char byte) { return byte == '0'; }, false));
  }

  absl::Status LexString() {
    const char quote = source_[at_];
    size_t end = at_ + 1;
    while (end < source_.size() && source_[end] != quote) end += source_[end] == '\\' ? 2 : 1;
    if (end >= source_.size()) return Error("the string has no end");
    std::string text;
    const std::string_view written = Rest().substr(1, end - at_ - 1);
    if (const std::string reason = ReadEscapes(written, text); !reason.empty()) {
      return Error(StrCat("in the string ", Quoted(written), ": ", reason));
    }
    Add(Kind::kString, std::move(text));
    Advance(end + 1 - at_);
    return absl::OkStatus();
  }

  std::string source_;
  std::string_view name_;
  size_t at_ = 0;
  int line_ = 1;
  bool line_starts_ = true;  // nothing of the line was passed yet
  std::vector<JinjaToken> tokens_;
};

}  // namespace

absl::StatusOr<std::vector<JinjaToken>> LexJinja(std::string_view source, std::string_view name) {
  std::string storage;
  if (WithValidUtf8(source, storage).data() != source.data()) {
    return JinjaError(name, 1, "the template is not UTF-8");
  }
  return Lexer(NormalizeSource(source), name).ReadTokens();
}

}  // namespace horizon
