#include "model/chat/jinja/python/python_compare.h"

#include <algorithm>
#include <cmath>

#include "common/text/str_cat.h"
#include "model/chat/jinja/jinja_object.h"
#include "model/chat/jinja/jinja_run.h"
#include "model/chat/jinja/python/python_text.h"

namespace horizon {
namespace {

using Kind = JinjaValue::Kind;

// -1, 0 or 1; 2 where one is not a number.
int CompareNumbers(const JinjaValue& left, const JinjaValue& right) {
  if (left.is_integral() && right.is_integral()) {
    return left.integer() < right.integer() ? -1 : left.integer() > right.integer() ? 1 : 0;
  }
  const long double a = left.is_integral() ? static_cast<long double>(left.integer()) : left.real();
  const long double b =
      right.is_integral() ? static_cast<long double>(right.integer()) : right.real();
  if (std::isnan(a) || std::isnan(b)) return 2;
  return a < b ? -1 : a > b ? 1 : 0;
}

bool EqualItems(const JinjaValue& left, const JinjaValue& right) {
  const std::vector<JinjaValue>& a = left.items().items;
  const std::vector<JinjaValue>& b = right.items().items;
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), PythonEquals);
}

bool EqualDicts(const JinjaDict& left, const JinjaDict& right) {
  if (left.entries.size() != right.entries.size()) return false;
  return std::all_of(left.entries.begin(), left.entries.end(), [&](const auto& entry) {
    const JinjaValue* other = right.Find(entry.first);
    return other != nullptr && PythonEquals(entry.second, *other);
  });
}

std::string_view Sign(JinjaOperator operation) {
  switch (operation) {
    case JinjaOperator::kLess:
      return "<";
    case JinjaOperator::kLessEqual:
      return "<=";
    case JinjaOperator::kGreater:
      return ">";
    default:
      return ">=";
  }
}

bool Judge(JinjaOperator operation, int order) {
  if (order == 2) return false;
  switch (operation) {
    case JinjaOperator::kLess:
      return order < 0;
    case JinjaOperator::kLessEqual:
      return order <= 0;
    case JinjaOperator::kGreater:
      return order > 0;
    default:
      return order >= 0;
  }
}

}  // namespace

bool PythonEquals(const JinjaValue& left, const JinjaValue& right) {
  if (left.is_number() && right.is_number()) return CompareNumbers(left, right) == 0;
  if (left.kind() != right.kind()) return false;
  switch (left.kind()) {
    case Kind::kUndefined:
    case Kind::kNone:
      return true;
    case Kind::kString:
      return left.string().text() == right.string().text();
    case Kind::kList:
    case Kind::kTuple:
    case Kind::kRange:
      return left.SameAs(right) || EqualItems(left, right);
    case Kind::kView:
      return left.SameAs(right) || (left.items().type == right.items().type &&
                                    left.items().type != "dict_values" && EqualItems(left, right));
    case Kind::kDict:
      return left.SameAs(right) || EqualDicts(left.dict(), right.dict());
    default:
      return left.SameAs(right);
  }
}

bool PythonOrder(JinjaRun& run, JinjaOperator operation, const JinjaValue& left,
                 const JinjaValue& right) {
  if (run.failed()) return false;
  if (left.is_number() && right.is_number()) return Judge(operation, CompareNumbers(left, right));
  for (const JinjaValue* one : {&left, &right}) {
    if (one->is(Kind::kUndefined)) {
      run.Fail(one->hint());
      return false;
    }
  }
  if (left.is(Kind::kString) && right.is(Kind::kString)) {
    run.Work(std::min(left.string().size(), right.string().size()));
    const int order = left.string().text().compare(right.string().text());
    return Judge(operation, order < 0 ? -1 : order > 0 ? 1 : 0);
  }
  if (left.kind() == right.kind() && (left.is(Kind::kList) || left.is(Kind::kTuple))) {
    const std::vector<JinjaValue>& a = left.items().items;
    const std::vector<JinjaValue>& b = right.items().items;
    for (size_t i = 0; i < a.size() && i < b.size(); ++i) {
      if (!PythonEquals(a[i], b[i])) return PythonOrder(run, operation, a[i], b[i]);
    }
    return Judge(operation, a.size() < b.size() ? -1 : a.size() > b.size() ? 1 : 0);
  }
  run.Fail(StrCat("'", Sign(operation), "' not supported between instances of '",
                  PythonTypeName(left), "' and '", PythonTypeName(right), "'"));
  return false;
}

bool PythonContains(JinjaRun& run, const JinjaValue& container, const JinjaValue& item) {
  if (container.is(Kind::kString)) {
    if (item.is(Kind::kUndefined)) {
      run.Fail("'in <string>' requires string as left operand, not Undefined");
      return false;
    }
    if (!item.is(Kind::kString)) {
      run.Fail(StrCat("'in <string>' requires string as left operand, not ", PythonTypeName(item)));
      return false;
    }
    run.Work(container.string().size());
    return container.string().text().find(item.string().text()) != std::string::npos;
  }
  if (container.is(Kind::kDict)) {
    if (item.is(Kind::kList) || item.is(Kind::kDict)) {
      run.Fail(StrCat("unhashable type: '", PythonTypeName(item), "'"));
      return false;
    }
    return container.dict().Find(item) != nullptr;
  }
  if (container.is_sequence()) {
    const JinjaSequence& sequence = container.items();
    run.Work(sequence.items.size() * 4);
    for (size_t i = container.is(Kind::kIterator) ? sequence.taken : 0; i < sequence.items.size();
         ++i) {
      if (container.is(Kind::kIterator)) sequence.taken = i + 1;
      if (sequence.items[i].SameAs(item) || PythonEquals(sequence.items[i], item)) return true;
    }
    return false;
  }
  if (container.is(Kind::kUndefined)) return false;
  run.Fail(StrCat("argument of type '", PythonTypeName(container), "' is not iterable"));
  return false;
}

bool PythonTruth(JinjaRun& run, const JinjaValue& value) {
  switch (value.kind()) {
    case Kind::kUndefined:
    case Kind::kNone:
      return false;
    case Kind::kBool:
    case Kind::kInteger:
      return value.integer() != 0;
    case Kind::kFloat:
      return value.real() != 0;
    case Kind::kString:
      return !value.string().empty();
    case Kind::kList:
    case Kind::kTuple:
    case Kind::kRange:
    case Kind::kView:
      return !value.items().items.empty();
    case Kind::kDict:
      return !value.dict().entries.empty();
    default:
      return true;
  }
}

}  // namespace horizon
