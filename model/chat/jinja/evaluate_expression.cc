#include <utility>

#include "common/text/str_cat.h"
#include "model/chat/jinja/filters/jinja_filters.h"
#include "model/chat/jinja/filters/jinja_tests.h"
#include "model/chat/jinja/jinja_attributes.h"
#include "model/chat/jinja/jinja_evaluate.h"
#include "model/chat/jinja/jinja_operators.h"
#include "model/chat/jinja/python/python_compare.h"
#include "model/chat/jinja/python/python_text.h"

namespace horizon {
namespace {

using Kind = JinjaExpression::Kind;

JinjaValue Lookup(JinjaRun& run, const JinjaScopePtr& scope, const std::string& name) {
  if (const JinjaValue* set = scope->Find(name)) return *set;
  const auto given = run.variables().find(name);
  if (given != run.variables().end()) return given->second;
  return FindGlobal(run, name);
}

std::vector<JinjaValue> EvaluateAll(JinjaRun& run, const JinjaScopePtr& scope,
                                    const std::vector<JinjaExpressionPtr>& nodes) {
  std::vector<JinjaValue> values;
  values.reserve(nodes.size());
  for (const JinjaExpressionPtr& node : nodes) values.push_back(Evaluate(run, scope, *node));
  return values;
}

JinjaValue EvaluateDict(JinjaRun& run, const JinjaScopePtr& scope, const JinjaExpression& node) {
  JinjaValue::Entries entries;
  for (size_t i = 0; i + 1 < node.children.size(); i += 2) {
    JinjaValue key = Evaluate(run, scope, *node.children[i]);
    entries.emplace_back(std::move(key), Evaluate(run, scope, *node.children[i + 1]));
  }
  return run.MakeDict(std::move(entries));
}

JinjaValue EvaluateItem(JinjaRun& run, const JinjaScopePtr& scope, const JinjaExpression& node) {
  const JinjaValue value = Evaluate(run, scope, *node.children[0]);
  const JinjaExpression& key = *node.children[1];
  if (key.kind != Kind::kSlice) {
    const JinjaValue index = Evaluate(run, scope, key);
    run.set_line(node.line);
    return GetItem(run, value, index);
  }
  JinjaValue parts[3] = {JinjaValue::None(), JinjaValue::None(), JinjaValue::None()};
  for (size_t i = 0; i < 3; ++i) {
    if (key.children[i] != nullptr) parts[i] = Evaluate(run, scope, *key.children[i]);
  }
  run.set_line(node.line);
  return GetSlice(run, value, parts[0], parts[1], parts[2]);
}

JinjaValue EvaluateCompare(JinjaRun& run, const JinjaScopePtr& scope, const JinjaExpression& node) {
  JinjaValue left = Evaluate(run, scope, *node.children[0]);
  for (size_t i = 0; i < node.operators.size(); ++i) {
    JinjaValue right = Evaluate(run, scope, *node.children[i + 1]);
    run.set_line(node.line);
    if (!Compare(run, node.operators[i], left, right)) return JinjaValue::Bool(false);
    left = std::move(right);
  }
  return JinjaValue::Bool(true);
}

JinjaValue EvaluateConcat(JinjaRun& run, const JinjaScopePtr& scope, const JinjaExpression& node) {
  JinjaTextBuilder text(run);
  for (const JinjaExpressionPtr& child : node.children) {
    text.Append(PythonStr(run, Evaluate(run, scope, *child)));
  }
  return text.FinishString();
}

JinjaValue EvaluateCondition(JinjaRun& run, const JinjaScopePtr& scope,
                             const JinjaExpression& node) {
  const bool chosen = PythonTruth(run, Evaluate(run, scope, *node.children[0]));
  const JinjaExpressionPtr& value = node.children[chosen ? 1 : 2];
  if (value != nullptr) return Evaluate(run, scope, *value);
  return JinjaValue::Undefined(StrCat("the inline if-expression on line ", node.line,
                                      " evaluated to false and no else section was defined."));
}

// The function that a call names, evaluated before its arguments.
JinjaValue EvaluateCall(JinjaRun& run, const JinjaScopePtr& scope, const JinjaExpression& node) {
  const JinjaValue callee = Evaluate(run, scope, *node.children[0]);
  JinjaArguments arguments = EvaluateArguments(run, scope, node.arguments);
  run.set_line(node.line);
  return CallValue(run, callee, arguments);
}

JinjaValue EvaluateTest(JinjaRun& run, const JinjaScopePtr& scope, const JinjaExpression& node) {
  const JinjaValue value = Evaluate(run, scope, *node.children[0]);
  JinjaArguments arguments = EvaluateArguments(run, scope, node.arguments);
  run.set_line(node.line);
  return JinjaValue::Bool(ApplyTest(run, node.name, value, arguments));
}

JinjaValue EvaluateNode(JinjaRun& run, const JinjaScopePtr& scope, const JinjaExpression& node) {
  const auto child = [&](size_t i) { return Evaluate(run, scope, *node.children[i]); };
  switch (node.kind) {
    case Kind::kConstant:
      return node.constant;
    case Kind::kName:
      return Lookup(run, scope, node.name);
    case Kind::kTuple:
      return run.MakeTuple(EvaluateAll(run, scope, node.children));
    case Kind::kList:
      return run.MakeList(EvaluateAll(run, scope, node.children));
    case Kind::kDict:
      return EvaluateDict(run, scope, node);
    case Kind::kAttribute: {
      const JinjaValue value = child(0);
      run.set_line(node.line);
      return GetAttribute(run, value, node.name);
    }
    case Kind::kItem:
      return EvaluateItem(run, scope, node);
    case Kind::kCall:
      return EvaluateCall(run, scope, node);
    case Kind::kFilter:
      return EvaluateFilters(run, scope, node, {});
    case Kind::kTest:
      return EvaluateTest(run, scope, node);
    case Kind::kNot:
      return JinjaValue::Bool(!PythonTruth(run, child(0)));
    case Kind::kAnd:
    case Kind::kOr: {
      JinjaValue left = child(0);
      return PythonTruth(run, left) == (node.kind == Kind::kOr) ? left : child(1);
    }
    case Kind::kUnary: {
      const JinjaValue value = child(0);
      run.set_line(node.line);
      return ApplyUnary(run, node.operators[0], value);
    }
    case Kind::kBinary: {
      const JinjaValue left = child(0);
      const JinjaValue right = child(1);
      run.set_line(node.line);
      return ApplyBinary(run, node.operators[0], left, right);
    }
    case Kind::kCompare:
      return EvaluateCompare(run, scope, node);
    case Kind::kConcat:
      return EvaluateConcat(run, scope, node);
    case Kind::kCondition:
      return EvaluateCondition(run, scope, node);
    default:
      return run.Fail("a slice stands where a value is needed");
  }
}

}  // namespace

JinjaValue Evaluate(JinjaRun& run, const JinjaScopePtr& scope, const JinjaExpression& node) {
  if (!run.Step(node.line)) return {};
  JinjaValue value = run.Enter() ? EvaluateNode(run, scope, node) : JinjaValue();
  run.Leave();
  return value;
}

JinjaArguments EvaluateArguments(JinjaRun& run, const JinjaScopePtr& scope,
                                 const JinjaCallArguments& given) {
  JinjaArguments arguments;
  arguments.positional = EvaluateAll(run, scope, given.positional);
  for (const auto& [name, node] : given.named) {
    for (const auto& [other, value] : arguments.named) {
      if (other == name) run.Fail(StrCat("keyword argument repeated: ", name));
    }
    arguments.named.emplace_back(name, Evaluate(run, scope, *node));
  }
  if (given.more_positional != nullptr) {
    for (JinjaValue& value : TakeItems(run, Evaluate(run, scope, *given.more_positional))) {
      arguments.positional.push_back(std::move(value));
    }
  }
  if (given.more_named == nullptr) return arguments;
  const JinjaValue more = Evaluate(run, scope, *given.more_named);
  if (!more.is(JinjaValue::Kind::kDict)) {
    run.Fail(StrCat("what follows ** must be a mapping, not ", PythonTypeName(more)));
    return arguments;
  }
  for (const auto& [key, value] : more.dict().entries) {
    if (!key.is(JinjaValue::Kind::kString)) {
      run.Fail("keywords must be strings");
      return arguments;
    }
    for (const auto& [name, other] : arguments.named) {
      if (name == key.string().text()) {
        run.Fail(StrCat("got multiple values for keyword argument '", name, "'"));
      }
    }
    arguments.named.emplace_back(key.string().text(), value);
  }
  return arguments;
}

JinjaValue EvaluateFilters(JinjaRun& run, const JinjaScopePtr& scope, const JinjaExpression& node,
                           const JinjaValue& value) {
  JinjaValue input = value;
  if (node.children[0] != nullptr) {
    const JinjaExpression& inner = *node.children[0];
    // Filters of a block end at a filter without an input.
    input = inner.kind == Kind::kFilter ? EvaluateFilters(run, scope, inner, value)
                                        : Evaluate(run, scope, inner);
  }
  if (!run.Step(node.line)) return {};
  JinjaArguments arguments = EvaluateArguments(run, scope, node.arguments);
  run.set_line(node.line);
  return ApplyFilter(run, node.name, input, arguments);
}

}  // namespace horizon
