#include "model/chat/jinja/filters/jinja_tests.h"

#include <utility>

#include "common/text/quote.h"
#include "common/text/str_cat.h"
#include "model/chat/jinja/filters/jinja_filters.h"
#include "model/chat/jinja/jinja_attributes.h"
#include "model/chat/jinja/jinja_operators.h"
#include "model/chat/jinja/python/python_compare.h"
#include "model/chat/jinja/python/python_text.h"

namespace horizon {
namespace {

using Kind = JinjaValue::Kind;

using Single = bool (*)(JinjaRun& run, const JinjaValue& value);
using Double = bool (*)(JinjaRun& run, const JinjaValue& value, const JinjaValue& other);

bool HasRemainder(JinjaRun& run, const JinjaValue& value, const JinjaValue& divisor, int64_t rest) {
  const JinjaValue result = ApplyBinary(run, JinjaOperator::kModulo, value, divisor);
  return !run.failed() && PythonEquals(result, JinjaValue::Integer(rest));
}

// str(value).islower() and so on, by the method of strings.
bool AskText(JinjaRun& run, const JinjaValue& value, std::string_view method) {
  const JinjaValue text = run.MakeString(PythonStr(run, value));
  if (run.failed()) return false;
  return PythonTruth(run, FindStringMethod(method)(run, text, {}));
}

constexpr std::pair<std::string_view, Single> kSingles[] = {
    {"defined", [](JinjaRun&, const JinjaValue& v) { return !v.is(Kind::kUndefined); }},
    {"undefined", [](JinjaRun&, const JinjaValue& v) { return v.is(Kind::kUndefined); }},
    {"none", [](JinjaRun&, const JinjaValue& v) { return v.is(Kind::kNone); }},
    {"boolean", [](JinjaRun&, const JinjaValue& v) { return v.is(Kind::kBool); }},
    {"true", [](JinjaRun&, const JinjaValue& v) { return v.is(Kind::kBool) && v.integer() == 1; }},
    {"false", [](JinjaRun&, const JinjaValue& v) { return v.is(Kind::kBool) && v.integer() == 0; }},
    {"integer", [](JinjaRun&, const JinjaValue& v) { return v.is(Kind::kInteger); }},
    {"float", [](JinjaRun&, const JinjaValue& v) { return v.is(Kind::kFloat); }},
    {"number", [](JinjaRun&, const JinjaValue& v) { return v.is_number(); }},
    {"string", [](JinjaRun&, const JinjaValue& v) { return v.is(Kind::kString); }},
    {"mapping", [](JinjaRun&, const JinjaValue& v) { return v.is(Kind::kDict); }},
    {"escaped", [](JinjaRun&, const JinjaValue& v) { return v.is_markup(); }},
    {"sequence",
     [](JinjaRun&, const JinjaValue& v) {
       return v.is(Kind::kString) || v.is(Kind::kDict) || v.is(Kind::kList) || v.is(Kind::kTuple) ||
              v.is(Kind::kRange) || v.is(Kind::kUndefined);
     }},
    {"iterable",
     [](JinjaRun&, const JinjaValue& v) {
       return v.is_sequence() || v.is(Kind::kString) || v.is(Kind::kDict) ||
              v.is(Kind::kUndefined) ||
              (v.is(Kind::kObject) && v.object().TypeName() == "LoopContext");
     }},
    {"callable",
     [](JinjaRun&, const JinjaValue& v) {
       return v.is(Kind::kUndefined) || (v.is(Kind::kObject) && v.object().callable());
     }},
    {"odd", [](JinjaRun& run,
               const JinjaValue& v) { return HasRemainder(run, v, JinjaValue::Integer(2), 1); }},
    {"even", [](JinjaRun& run,
                const JinjaValue& v) { return HasRemainder(run, v, JinjaValue::Integer(2), 0); }},
    {"lower", [](JinjaRun& run, const JinjaValue& v) { return AskText(run, v, "islower"); }},
    {"upper", [](JinjaRun& run, const JinjaValue& v) { return AskText(run, v, "isupper"); }},
    {"filter",
     [](JinjaRun&, const JinjaValue& v) {
       return v.is(Kind::kString) && IsJinjaFilter(v.string().text());
     }},
    {"test",
     [](JinjaRun&, const JinjaValue& v) {
       return v.is(Kind::kString) && IsJinjaTest(v.string().text());
     }},
};

template <JinjaOperator kOperation>
bool Compares(JinjaRun& run, const JinjaValue& value, const JinjaValue& other) {
  return Compare(run, kOperation, value, other);
}

constexpr std::pair<std::string_view, Double> kDoubles[] = {
    {"divisibleby", [](JinjaRun& run, const JinjaValue& v,
                       const JinjaValue& other) { return HasRemainder(run, v, other, 0); }},
    {"sameas",
     [](JinjaRun&, const JinjaValue& v, const JinjaValue& other) { return v.SameAs(other); }},
    {"in", Compares<JinjaOperator::kIn>},
    {"==", Compares<JinjaOperator::kEqual>},
    {"eq", Compares<JinjaOperator::kEqual>},
    {"equalto", Compares<JinjaOperator::kEqual>},
    {"!=", Compares<JinjaOperator::kNotEqual>},
    {"ne", Compares<JinjaOperator::kNotEqual>},
    {">", Compares<JinjaOperator::kGreater>},
    {"gt", Compares<JinjaOperator::kGreater>},
    {"greaterthan", Compares<JinjaOperator::kGreater>},
    {">=", Compares<JinjaOperator::kGreaterEqual>},
    {"ge", Compares<JinjaOperator::kGreaterEqual>},
    {"<", Compares<JinjaOperator::kLess>},
    {"lt", Compares<JinjaOperator::kLess>},
    {"lessthan", Compares<JinjaOperator::kLess>},
    {"<=", Compares<JinjaOperator::kLessEqual>},
    {"le", Compares<JinjaOperator::kLessEqual>},
};

template <typename Table>
auto FindIn(const Table& table, std::string_view name) -> decltype(table[0].second) {
  for (const auto& [known, test] : table) {
    if (known == name) return test;
  }
  return nullptr;
}

}  // namespace

bool IsJinjaTest(std::string_view name) {
  return FindIn(kSingles, name) != nullptr || FindIn(kDoubles, name) != nullptr;
}

bool ApplyTest(JinjaRun& run, std::string_view name, const JinjaValue& value,
               const JinjaArguments& arguments) {
  if (run.failed()) return false;
  const Single single = FindIn(kSingles, name);
  const Double both = FindIn(kDoubles, name);
  if (single == nullptr && both == nullptr) {
    run.Fail(StrCat("No test named ", PythonRepr(name), "."));
    return false;
  }
  // The one parameter of tests that have one: num of divisibleby, other of sameas, seq of in.
  if (both != nullptr && arguments.positional.empty() && arguments.named.size() == 1 &&
      (name == "divisibleby" || name == "sameas" || name == "in")) {
    const std::string& given = arguments.named[0].first;
    if (given == (name == "in" ? "seq" : name == "sameas" ? "other" : "num")) {
      return both(run, value, arguments.named[0].second);
    }
  }
  const size_t wanted = single != nullptr ? 0 : 1;
  if (arguments.positional.size() != wanted || !arguments.named.empty()) {
    run.Fail(StrCat("the test ", Quoted(name), " takes ", wanted, " arguments"));
    return false;
  }
  return single != nullptr ? single(run, value) : both(run, value, arguments.positional[0]);
}

}  // namespace horizon
