#include <utility>

#include "common/text/str_cat.h"
#include "model/chat/jinja/jinja_attributes.h"
#include "model/chat/jinja/jinja_evaluate.h"
#include "model/chat/jinja/python/python_compare.h"
#include "model/chat/jinja/python/python_text.h"

namespace horizon {
namespace {

using Kind = JinjaStatement::Kind;

void ExecuteOutput(JinjaRun& run, const JinjaScopePtr& scope, const JinjaStatement& statement) {
  for (const JinjaExpressionPtr& node : statement.expressions) {
    const JinjaValue value = Evaluate(run, scope, *node);
    if (run.failed()) return;
    if (value.is(JinjaValue::Kind::kString)) {
      run.Write(value.string());
    } else {
      run.Write(PythonStr(run, value));
    }
  }
}

JinjaFlow ExecuteSetBlock(JinjaRun& run, const JinjaScopePtr& scope,
                          const JinjaStatement& statement) {
  TracedText text;
  const JinjaScopePtr inner = InnerScope(scope);
  const JinjaFlow flow = ExecuteInto(run, inner, statement.body, text);
  if (flow != JinjaFlow::kNormal) return flow;
  JinjaValue value = run.MakeString(std::move(text));
  if (statement.expressions[0] != nullptr) {
    value = EvaluateFilters(run, inner, *statement.expressions[0], value);
  }
  Assign(run, scope, *statement.targets[0], value);
  return JinjaFlow::kNormal;
}

JinjaFlow ExecuteFilterBlock(JinjaRun& run, const JinjaScopePtr& scope,
                             const JinjaStatement& statement) {
  TracedText text;
  const JinjaScopePtr inner = InnerScope(scope);
  const JinjaFlow flow = ExecuteInto(run, inner, statement.body, text);
  if (flow != JinjaFlow::kNormal) return flow;
  const JinjaValue value = run.MakeString(std::move(text));
  run.Write(PythonStr(run, EvaluateFilters(run, inner, *statement.expressions[0], value)));
  return JinjaFlow::kNormal;
}

void ExecuteCallBlock(JinjaRun& run, const JinjaScopePtr& scope, const JinjaStatement& statement) {
  const JinjaExpression& call = *statement.expressions[0];
  const JinjaValue callee = Evaluate(run, scope, *call.children[0]);
  JinjaArguments arguments = EvaluateArguments(run, scope, call.arguments);
  arguments.named.emplace_back("caller", MakeMacro(run, scope, statement, "caller"));
  run.set_line(call.line);
  run.Write(PythonStr(run, CallValue(run, callee, arguments)));
}

JinjaFlow ExecuteWith(JinjaRun& run, const JinjaScopePtr& scope, const JinjaStatement& statement) {
  const JinjaScopePtr inner = InnerScope(scope);
  for (size_t i = 0; i < statement.targets.size(); ++i) {
    Assign(run, inner, *statement.targets[i], Evaluate(run, scope, *statement.expressions[i]));
  }
  return Execute(run, inner, statement.body);
}

// What the block writes is a text that is written when the block ends, as transformers does it.
void ExecuteGeneration(JinjaRun& run, const JinjaScopePtr& scope, const JinjaStatement& statement) {
  TracedText text;
  ++run.generations;
  ExecuteInto(run, InnerScope(scope), statement.body, text);
  run.Write(text);
  --run.generations;
}

JinjaFlow ExecuteStatement(JinjaRun& run, const JinjaScopePtr& scope,
                           const JinjaStatement& statement) {
  switch (statement.kind) {
    case Kind::kOutput:
      ExecuteOutput(run, scope, statement);
      return JinjaFlow::kNormal;
    case Kind::kFor:
      return ExecuteFor(run, scope, statement);
    case Kind::kIf: {
      const bool holds = PythonTruth(run, Evaluate(run, scope, *statement.expressions[0]));
      return Execute(run, scope, holds ? statement.body : statement.else_body);
    }
    case Kind::kSet:
      Assign(run, scope, *statement.targets[0], Evaluate(run, scope, *statement.expressions[0]));
      return JinjaFlow::kNormal;
    case Kind::kSetBlock:
      return ExecuteSetBlock(run, scope, statement);
    case Kind::kMacro:
      scope->Set(statement.name, MakeMacro(run, scope, statement, statement.name));
      return JinjaFlow::kNormal;
    case Kind::kCallBlock:
      ExecuteCallBlock(run, scope, statement);
      return JinjaFlow::kNormal;
    case Kind::kFilterBlock:
      return ExecuteFilterBlock(run, scope, statement);
    case Kind::kWith:
      return ExecuteWith(run, scope, statement);
    case Kind::kGeneration:
      ExecuteGeneration(run, scope, statement);
      return JinjaFlow::kNormal;
    case Kind::kBreak:
      return JinjaFlow::kBreak;
    default:
      return JinjaFlow::kContinue;
  }
}

void Unpack(JinjaRun& run, const JinjaScopePtr& scope, const JinjaExpression& target,
            const JinjaValue& value) {
  if (value.is(JinjaValue::Kind::kUndefined)) {
    run.Fail(StrCat("not enough values to unpack (expected ", target.children.size(), ", got 0)"));
    return;
  }
  if (value.is(JinjaValue::Kind::kObject) || value.is_number() ||
      value.is(JinjaValue::Kind::kNone)) {
    run.Fail(StrCat("cannot unpack non-iterable ", PythonTypeName(value), " object"));
    return;
  }
  const std::vector<JinjaValue> items = TakeItems(run, value);
  if (run.failed()) return;
  if (items.size() < target.children.size()) {
    run.Fail(StrCat("not enough values to unpack (expected ", target.children.size(), ", got ",
                    items.size(), ")"));
  } else if (items.size() > target.children.size()) {
    run.Fail(StrCat("too many values to unpack (expected ", target.children.size(), ")"));
  } else {
    for (size_t i = 0; i < items.size(); ++i) Assign(run, scope, *target.children[i], items[i]);
  }
}

}  // namespace

void Assign(JinjaRun& run, const JinjaScopePtr& scope, const JinjaExpression& target,
            const JinjaValue& value) {
  if (run.failed()) return;
  run.set_line(target.line);
  if (target.kind == JinjaExpression::Kind::kTuple) {
    Unpack(run, scope, target, value);
  } else if (target.kind == JinjaExpression::Kind::kNamespaceAttribute) {
    JinjaExpression name;
    name.kind = JinjaExpression::Kind::kName;
    name.line = target.line;
    name.name = target.name;
    SetNamespaceAttribute(run, Evaluate(run, scope, name), target.attribute, value);
  } else {
    scope->Set(target.name, value);
  }
}

JinjaFlow Execute(JinjaRun& run, const JinjaScopePtr& scope, const JinjaStatements& statements) {
  for (const JinjaStatement& statement : statements) {
    if (!run.Step(statement.line)) return JinjaFlow::kBreak;
    const JinjaFlow flow =
        run.Enter() ? ExecuteStatement(run, scope, statement) : JinjaFlow::kBreak;
    run.Leave();
    if (flow != JinjaFlow::kNormal) return flow;
  }
  return JinjaFlow::kNormal;
}

JinjaFlow ExecuteInto(JinjaRun& run, const JinjaScopePtr& scope, const JinjaStatements& statements,
                      TracedText& text) {
  TracedText* const before = run.Redirect(&text);
  const JinjaFlow flow = Execute(run, scope, statements);
  run.Redirect(before);
  return flow;
}

}  // namespace horizon
