#include "model/tokenizer/text/translate_expression.h"

#include <algorithm>
#include <array>

#include "absl/status/status.h"
#include "common/status_macros.h"
#include "common/text/quote.h"
#include "common/text/str_cat.h"

namespace horizon {
namespace {

constexpr std::string_view kWord = "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}";
// Outside of classes Oniguruma looks Latin-1 up in a table of its own, which has these too.
constexpr std::string_view kWordOutside =
    "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\xB2\\xB3\\xB9\\xBC-\\xBE";
constexpr std::string_view kHexadecimal = "0-9a-fA-F";

// Properties of more than two letters that are no scripts.
constexpr std::array<std::string_view, 5> kNoScripts = {"Any", "Alphabetic", "White_Space",
                                                        "Uppercase", "Lowercase"};

bool IsHexadecimal(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

class ExpressionTranslator {
 public:
  explicit ExpressionTranslator(std::string_view expression) : in_(expression) {}

  absl::StatusOr<std::string> Translate() {
    while (at_ < in_.size()) RETURN_IF_ERROR(Next());
    if (in_class_) return Refuse("a class is not closed");
    return std::move(out_);
  }

 private:
  absl::Status Refuse(std::string_view reason) const {
    return absl::InvalidArgumentError(
        StrCat("the regular expression ", Quoted(in_), " is not supported: ", reason));
  }

  bool Sees(std::string_view text) const { return in_.substr(at_).starts_with(text); }

  void Copy(size_t count) {
    out_.append(in_.substr(at_, count));
    at_ = std::min(at_ + count, in_.size());
  }

  absl::Status Next() {
    if (in_[at_] == '\\') return Escape();
    if (in_class_) return InsideClass();
    if (in_[at_] == '[') return BeginClass();
    if (Sees("(?")) return Group();
    if (in_[at_] == '}' && at_ + 1 < in_.size() && in_[at_ + 1] == '+') {
      return Refuse("'+' after an interval repeats in Oniguruma; write (?:...)+");
    }
    Copy(1);
    return absl::OkStatus();
  }

  absl::Status BeginClass() {
    in_class_ = true;
    Copy(Sees("[^") ? 2 : 1);
    return Sees("]") ? Refuse("a class begins with ']'") : absl::OkStatus();
  }

  absl::Status InsideClass() {
    if (in_[at_] == '[') return Refuse("a '[' inside a class; write \\[");
    if (Sees("&&")) return Refuse("'&&' inside a class");
    if (in_[at_] == ']') in_class_ = false;
    Copy(1);
    return absl::OkStatus();
  }

  // Options change what follows: (?i) and (?i:...); m and s mean other things to the two.
  absl::Status Group() {
    size_t end = at_ + 2;
    while (end < in_.size() && ((in_[end] >= 'a' && in_[end] <= 'z') || in_[end] == '-')) ++end;
    const bool options = end < in_.size() && (in_[end] == ':' || in_[end] == ')');
    const std::string_view letters = in_.substr(at_ + 2, end - at_ - 2);
    if (options && letters.find_first_not_of("ix-") != std::string_view::npos) {
      return Refuse(StrCat("the options ", Quoted(letters)));
    }
    Copy(2);
    return absl::OkStatus();
  }

  // A set of characters: as it is inside a class, in brackets outside.
  void Set(std::string_view members) {
    out_.append(in_class_ ? std::string(members) : StrCat("[", members, "]"));
  }

  absl::Status Escape() {
    if (at_ + 1 == in_.size()) return Refuse("it ends with a backslash");
    const char letter = in_[at_ + 1];
    if (letter == 'p' || letter == 'P') return Property();
    if (letter == 'u') return CodePoint();
    const size_t begin = at_;
    at_ += 2;
    switch (letter) {
      case 's':
        out_.append("\\p{White_Space}");
        return absl::OkStatus();
      case 'S':
        out_.append("\\P{White_Space}");
        return absl::OkStatus();
      case 'w':
        Set(in_class_ ? kWord : kWordOutside);
        return absl::OkStatus();
      case 'h':
        Set(kHexadecimal);
        return absl::OkStatus();
      case 'W':
      case 'H':
        if (in_class_) return Refuse(StrCat("\\", letter, " inside a class"));
        out_.append(StrCat("[^", letter == 'W' ? kWordOutside : kHexadecimal, "]"));
        return absl::OkStatus();
      case 'b':
      case 'B':
        if (!in_class_) WordBorder(letter == 'b');
        if (in_class_) out_.append(StrCat("\\", letter));
        return absl::OkStatus();
      default:
        at_ = begin;
        Copy(2);
        return absl::OkStatus();
    }
  }

  void WordBorder(bool wanted) {
    const std::string word = StrCat("[", kWordOutside, "]");
    const std::string_view after = wanted ? "(?!" : "(?=";
    const std::string_view otherwise = wanted ? "(?=" : "(?!";
    out_.append(
        StrCat("(?:(?<=", word, ")", after, word, ")|(?<!", word, ")", otherwise, word, "))"));
  }

  absl::Status CodePoint() {
    const std::string_view digits = in_.substr(std::min(at_ + 2, in_.size()), 4);
    if (digits.size() < 4 || !std::all_of(digits.begin(), digits.end(), IsHexadecimal)) {
      return Refuse("\\u needs four hexadecimal digits");
    }
    out_.append(StrCat("\\x{", digits, "}"));
    at_ += 6;
    return absl::OkStatus();
  }

  absl::Status Property() {
    const size_t close = in_.find('}', at_);
    if (at_ + 2 >= in_.size() || in_[at_ + 2] != '{' || close == std::string_view::npos) {
      return Refuse("a property is written \\p{Name}");
    }
    std::string_view name = in_.substr(at_ + 3, close - at_ - 3);
    const bool negated = name.starts_with("^");
    if (negated) name.remove_prefix(1);
    const bool is_script = name.size() > 2 && std::find(kNoScripts.begin(), kNoScripts.end(),
                                                        name) == kNoScripts.end();
    out_.append(
        StrCat("\\", in_[at_ + 1], "{", negated ? "^" : "", is_script ? "sc:" : "", name, "}"));
    at_ = close + 1;
    return absl::OkStatus();
  }

  std::string_view in_;
  std::string out_;
  size_t at_ = 0;
  bool in_class_ = false;
};

}  // namespace

absl::StatusOr<std::string> TranslateExpression(std::string_view expression) {
  return ExpressionTranslator(expression).Translate();
}

}  // namespace horizon
