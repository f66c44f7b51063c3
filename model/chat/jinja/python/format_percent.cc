#include <cmath>
#include <utility>

#include "common/text/str_cat.h"
#include "model/chat/jinja/python/python_characters.h"
#include "model/chat/jinja/python/python_text.h"
#include "model/chat/jinja/python/string_format.h"
#include "model/chat/jinja/python/string_split.h"
#include "model/tokenizer/text/unicode_text.h"

namespace horizon {
namespace {

using Kind = JinjaValue::Kind;

// Widths and precisions beyond this are refused before anything is made.
constexpr int64_t kMaxWidth = int64_t{1} << 31;

class PercentFormatter {
 public:
  PercentFormatter(JinjaRun& run, const TracedText& format, const JinjaValue& values)
      : run_(run), format_(format), values_(values), out_(run) {}

  JinjaValue Format() {
    const std::string& text = format_.text();
    while (at_ < text.size() && !run_.failed()) {
      const size_t mark = std::min(text.find('%', at_), text.size());
      if (mark > at_) out_.AppendPart(format_, at_, mark);
      at_ = mark + 1;
      if (mark < text.size()) FormatField();
    }
    if (run_.failed()) return {};
    const bool all_used = values_.is(Kind::kTuple)
                              ? next_ >= values_.items().items.size()
                              : next_ > 0 || values_.is(Kind::kUndefined) ||
                                    values_.is(Kind::kDict) || values_.is(Kind::kList) ||
                                    values_.is(Kind::kRange);
    if (!all_used) return run_.Fail("not all arguments converted during string formatting");
    return out_.FinishString();
  }

 private:
  char Peek() const { return at_ < format_.size() ? format_.text()[at_] : '\0'; }

  const JinjaValue* NextValue() {
    const JinjaValue* value = nullptr;
    if (values_.is(Kind::kTuple)) {
      if (next_ < values_.items().items.size()) value = &values_.items().items[next_];
    } else if (next_ == 0) {
      value = &values_;
    }
    ++next_;
    if (value == nullptr) run_.Fail("not enough arguments for format string");
    return value;
  }

  int64_t Number() {
    if (Peek() == '*') {
      ++at_;
      const JinjaValue* value = NextValue();
      if (value == nullptr) return 0;
      if (!value->is_integral()) run_.Fail("* wants int");
      return run_.failed() ? 0 : value->integer();
    }
    int64_t number = 0;
    while (Peek() >= '0' && Peek() <= '9') {
      number = number * 10 + (Peek() - '0');
      ++at_;
      if (number > kMaxWidth) {
        run_.Fail("width too big");
        return 0;
      }
    }
    return number;
  }

  void FormatField() {
    const JinjaValue* value = nullptr;
    if (Peek() == '(') {
      int depth = 1;
      const size_t begin = ++at_;
      for (; at_ < format_.size() && depth > 0; ++at_) {
        if (Peek() == '(') ++depth;
        if (Peek() == ')') --depth;
      }
      if (depth > 0) return (void)run_.Fail("incomplete format key");
      if (!values_.is(Kind::kDict)) return (void)run_.Fail("format requires a mapping");
      const std::string key = format_.text().substr(begin, at_ - 1 - begin);
      value = values_.dict().Find(std::string_view(key));
      if (value == nullptr) return (void)run_.Fail(PythonRepr(key));
    }
    FormatSpec spec;
    bool left = false;
    for (; std::string_view("-+ #0").find(Peek()) != std::string_view::npos; ++at_) {
      if (Peek() == '-') left = true;
      if (Peek() == '+') spec.sign = '+';
      if (Peek() == ' ' && spec.sign != '+') spec.sign = ' ';
      if (Peek() == '#') spec.alternate = true;
      if (Peek() == '0') spec.zero = true;
    }
    spec.width = Number();
    if (spec.width < 0) {
      left = true;
      spec.width = -spec.width;
    }
    if (Peek() == '.') {
      ++at_;
      spec.precision = std::max<int64_t>(0, Number());
    }
    while (Peek() == 'h' || Peek() == 'l' || Peek() == 'L') ++at_;
    if (at_ >= format_.size()) return (void)run_.Fail("incomplete format");
    const char type = Peek();
    ++at_;
    if (type == '%') return out_.Append("%");
    if (value == nullptr) value = NextValue();
    if (value == nullptr || run_.failed()) return;
    spec.align = left ? '<' : '\0';
    if (left) spec.zero = false;
    spec.type = type;
    out_.Append(Convert(*value, spec));
  }

  TracedText Convert(const JinjaValue& value, FormatSpec spec) {
    const char type = spec.type;
    if (type == 's' || type == 'r' || type == 'a') {
      TracedText text = type == 's' ? PythonStr(run_, value) : PythonRepr(run_, value);
      if (spec.precision >= 0) {
        text = text.Slice(0, PlaceOfCharacter(text.text(), static_cast<size_t>(spec.precision)));
      }
      return PadText(run_, text, spec.width, spec.align == '<' ? '<' : '>', TracedText(" ", {}));
    }
    if (type == 'c') {
      spec.align = spec.align == '<' ? '<' : '>';
      if (value.is(Kind::kString) && CountCharacters(value.string().text()) == 1) {
        return PadText(run_, value.string(), spec.width, spec.align, TracedText(" ", {}));
      }
      if (!value.is_integral()) run_.Fail("%c requires int or char");
      return FormatValue(run_, value, spec);
    }
    if (std::string_view("diuxXo").find(type) != std::string_view::npos) {
      if (!value.is_number() || (value.is(Kind::kFloat) &&
                                 std::string_view("xXo").find(type) != std::string_view::npos)) {
        run_.Fail(StrCat("%", type, " format: a number is required, not ", PythonTypeName(value)));
        return {};
      }
      return ConvertInteger(value, spec);
    }
    if (std::string_view("eEfFgG").find(type) == std::string_view::npos) {
      run_.Fail(StrCat("unsupported format character '", type, "'"));
      return {};
    }
    if (!value.is_number()) {
      run_.Fail(StrCat("must be real number, not ", PythonTypeName(value)));
      return {};
    }
    return FormatValue(run_, JinjaValue::Float(value.real()), spec);
  }

  TracedText ConvertInteger(const JinjaValue& value, FormatSpec spec) {
    int64_t number = 0;
    if (value.is_integral()) {
      number = value.integer();
    } else {
      if (!(std::fabs(value.real()) < 9.2e18)) {
        run_.Fail("a float does not fit an integer of 64 bits");
        return {};
      }
      number = static_cast<int64_t>(value.real());
    }
    if (spec.type == 'i' || spec.type == 'u') spec.type = 'd';
    const int64_t digits = std::exchange(spec.precision, -1);
    if (digits < 0) return FormatValue(run_, JinjaValue::Integer(number), spec);
    // A precision asks for at least so many digits.
    FormatSpec plain = spec;
    plain.width = 0;
    const std::string text = FormatValue(run_, JinjaValue::Integer(number), plain).text();
    const size_t front = text.find_first_of("0123456789");
    const TracedText filled =
        PadText(run_, TracedText(text.substr(front), {}), digits, '>', TracedText("0", {}));
    return PadText(run_, TracedText(text.substr(0, front) + filled.text(), {}), spec.width,
                   spec.align == '<' ? '<' : '>', TracedText(spec.zero ? "0" : " ", {}));
  }

  JinjaRun& run_;
  const TracedText& format_;
  const JinjaValue& values_;
  JinjaTextBuilder out_;
  size_t at_ = 0;
  size_t next_ = 0;
};

}  // namespace

JinjaValue FormatPercent(JinjaRun& run, const TracedText& format, const JinjaValue& values) {
  return PercentFormatter(run, format, values).Format();
}

}  // namespace horizon
