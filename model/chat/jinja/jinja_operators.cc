#include "model/chat/jinja/jinja_operators.h"

#include <cmath>
#include <limits>

#include "common/text/str_cat.h"
#include "model/chat/jinja/python/python_compare.h"
#include "model/chat/jinja/python/python_text.h"
#include "model/chat/jinja/python/string_format.h"

namespace horizon {
namespace {

using Kind = JinjaValue::Kind;

std::string_view Sign(JinjaOperator operation) {
  switch (operation) {
    case JinjaOperator::kAdd:
      return "+";
    case JinjaOperator::kSubtract:
      return "-";
    case JinjaOperator::kMultiply:
      return "*";
    case JinjaOperator::kDivide:
      return "/";
    case JinjaOperator::kFloorDivide:
      return "//";
    case JinjaOperator::kModulo:
      return "%";
    default:
      return "** or pow()";
  }
}

JinjaValue Overflow(JinjaRun& run) {
  return run.Fail("the result of an integer operation does not fit 64 bits");
}

JinjaValue IntegerPower(JinjaRun& run, int64_t base, int64_t exponent) {
  if (exponent < 0) {
    if (base == 0) return run.Fail("0.0 cannot be raised to a negative power");
    return JinjaValue::Float(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
  }
  int64_t result = 1;
  int64_t factor = base;
  while (exponent > 0) {
    if ((exponent & 1) != 0 && __builtin_mul_overflow(result, factor, &result))
      return Overflow(run);
    exponent >>= 1;
    if (exponent > 0 && __builtin_mul_overflow(factor, factor, &factor)) return Overflow(run);
  }
  return JinjaValue::Integer(result);
}

JinjaValue IntegerDivision(JinjaRun& run, JinjaOperator operation, int64_t left, int64_t right) {
  if (right == 0) return run.Fail("integer division or modulo by zero");
  if (right == -1) {
    if (operation == JinjaOperator::kModulo) return JinjaValue::Integer(0);
    int64_t negated = 0;
    if (__builtin_sub_overflow(int64_t{0}, left, &negated)) return Overflow(run);
    return JinjaValue::Integer(negated);
  }
  int64_t quotient = left / right;
  int64_t rest = left % right;
  if (rest != 0 && (rest < 0) != (right < 0)) {
    rest += right;
    --quotient;
  }
  return JinjaValue::Integer(operation == JinjaOperator::kModulo ? rest : quotient);
}

JinjaValue ApplyIntegers(JinjaRun& run, JinjaOperator operation, int64_t left, int64_t right) {
  int64_t result = 0;
  switch (operation) {
    case JinjaOperator::kAdd:
      if (__builtin_add_overflow(left, right, &result)) return Overflow(run);
      return JinjaValue::Integer(result);
    case JinjaOperator::kSubtract:
      if (__builtin_sub_overflow(left, right, &result)) return Overflow(run);
      return JinjaValue::Integer(result);
    case JinjaOperator::kMultiply:
      if (__builtin_mul_overflow(left, right, &result)) return Overflow(run);
      return JinjaValue::Integer(result);
    case JinjaOperator::kDivide:
      if (right == 0) return run.Fail("division by zero");
      return JinjaValue::Float(
          static_cast<double>(static_cast<long double>(left) / static_cast<long double>(right)));
    case JinjaOperator::kPower:
      return IntegerPower(run, left, right);
    default:
      return IntegerDivision(run, operation, left, right);
  }
}

JinjaValue ApplyFloats(JinjaRun& run, JinjaOperator operation, double left, double right) {
  switch (operation) {
    case JinjaOperator::kAdd:
      return JinjaValue::Float(left + right);
    case JinjaOperator::kSubtract:
      return JinjaValue::Float(left - right);
    case JinjaOperator::kMultiply:
      return JinjaValue::Float(left * right);
    case JinjaOperator::kDivide:
      if (right == 0) return run.Fail("float division by zero");
      return JinjaValue::Float(left / right);
    case JinjaOperator::kPower: {
      if (left == 0 && right < 0) return run.Fail("0.0 cannot be raised to a negative power");
      const double power = std::pow(left, right);
      if (std::isinf(power) && std::isfinite(left) && std::isfinite(right)) {
        return run.Fail("the result of ** is too large");
      }
      if (std::isnan(power) && !std::isnan(left) && !std::isnan(right)) {
        return run.Fail("complex numbers are not supported");
      }
      return JinjaValue::Float(power);
    }
    default:
      break;
  }
  if (right == 0) return run.Fail("float floor division or modulo by zero");
  double rest = std::fmod(left, right);
  double quotient = (left - rest) / right;
  if (rest != 0) {
    if ((right < 0) != (rest < 0)) {
      rest += right;
      quotient -= 1;
    }
  } else {
    rest = std::copysign(0.0, right);
  }
  if (operation == JinjaOperator::kModulo) return JinjaValue::Float(rest);
  if (quotient == 0) return JinjaValue::Float(std::copysign(0.0, left / right));
  double floor = std::floor(quotient);
  if (quotient - floor > 0.5) floor += 1;
  return JinjaValue::Float(floor);
}

bool IsRow(const JinjaValue& value) { return value.is(Kind::kList) || value.is(Kind::kTuple); }

JinjaValue Repeat(JinjaRun& run, const JinjaValue& value, int64_t times) {
  const uint64_t count = times < 0 ? 0 : static_cast<uint64_t>(times);
  const size_t size = value.is(Kind::kString) ? value.string().size() : value.items().items.size();
  if (size > 0 && count > run.max_text_bytes() / size) {
    return run.Exhaust(StrCat("repeating ", size, " bytes or items ", count,
                              " times makes more than ", ToString(run.options().limits.output)));
  }
  if (value.is(Kind::kString)) {
    TracedText text;
    if (size > 0) {
      for (uint64_t i = 0; i < count; ++i) text.Append(value.string());
    }
    return run.MakeString(std::move(text));
  }
  if (!run.Work(size * count * 4)) return {};
  std::vector<JinjaValue> items;
  if (size > 0) {
    for (uint64_t i = 0; i < count && run.Work(size); ++i) {
      items.insert(items.end(), value.items().items.begin(), value.items().items.end());
    }
  }
  return run.MakeSequence(value.kind(), {.items = std::move(items)});
}

JinjaValue Join(JinjaRun& run, const JinjaValue& left, const JinjaValue& right) {
  std::vector<JinjaValue> items = left.items().items;
  items.insert(items.end(), right.items().items.begin(), right.items().items.end());
  return run.MakeSequence(left.kind(), {.items = std::move(items)});
}

}  // namespace

JinjaValue ApplyBinary(JinjaRun& run, JinjaOperator operation, const JinjaValue& left,
                       const JinjaValue& right) {
  if (run.failed()) return {};
  if (left.is_number() && right.is_number()) {
    if (left.is_integral() && right.is_integral()) {
      return ApplyIntegers(run, operation, left.integer(), right.integer());
    }
    return ApplyFloats(run, operation, left.real(), right.real());
  }
  if (operation == JinjaOperator::kModulo && left.is(Kind::kString)) {
    return FormatPercent(run, left.string(), right);
  }
  if (left.is(Kind::kUndefined)) return run.Fail(left.hint());
  if (right.is(Kind::kUndefined)) return run.Fail(right.hint());
  if (operation == JinjaOperator::kAdd) {
    if (left.is(Kind::kString) && right.is(Kind::kString)) {
      const bool markup = left.is_markup() || right.is_markup();
      JinjaTextBuilder sum(run);
      for (const JinjaValue* part : {&left, &right}) {
        sum.Append(markup && !part->is_markup() ? EscapeHtml(run, part->string()) : part->string());
      }
      return markup ? sum.FinishString().AsMarkup() : sum.FinishString();
    }
    if (IsRow(left) && left.kind() == right.kind()) return Join(run, left, right);
    if (left.is(Kind::kString)) {
      return run.Fail(
          StrCat("can only concatenate str (not \"", PythonTypeName(right), "\") to str"));
    }
  }
  if (operation == JinjaOperator::kMultiply) {
    if ((left.is(Kind::kString) || IsRow(left)) && right.is_integral()) {
      return Repeat(run, left, right.integer());
    }
    if ((right.is(Kind::kString) || IsRow(right)) && left.is_integral()) {
      return Repeat(run, right, left.integer());
    }
  }
  return run.Fail(StrCat("unsupported operand type(s) for ", Sign(operation), ": '",
                         PythonTypeName(left), "' and '", PythonTypeName(right), "'"));
}

JinjaValue ApplyUnary(JinjaRun& run, JinjaOperator operation, const JinjaValue& value) {
  if (run.failed()) return {};
  const bool negates = operation == JinjaOperator::kNegate;
  if (value.is(Kind::kFloat)) return JinjaValue::Float(negates ? -value.real() : value.real());
  if (value.is_integral()) {
    if (!negates) return JinjaValue::Integer(value.integer());
    if (value.integer() == std::numeric_limits<int64_t>::min()) return Overflow(run);
    return JinjaValue::Integer(-value.integer());
  }
  if (value.is(Kind::kUndefined)) return run.Fail(value.hint());
  return run.Fail(StrCat("bad operand type for unary ", negates ? "-" : "+", ": '",
                         PythonTypeName(value), "'"));
}

bool Compare(JinjaRun& run, JinjaOperator operation, const JinjaValue& left,
             const JinjaValue& right) {
  if (run.failed()) return false;
  switch (operation) {
    case JinjaOperator::kEqual:
      return PythonEquals(left, right);
    case JinjaOperator::kNotEqual:
      return !PythonEquals(left, right);
    case JinjaOperator::kIn:
      return PythonContains(run, right, left);
    case JinjaOperator::kNotIn:
      return !PythonContains(run, right, left);
    default:
      return PythonOrder(run, operation, left, right);
  }
}

}  // namespace horizon
