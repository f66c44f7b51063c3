#pragma once

#include <memory>
#include <string_view>

#include "model/chat/jinja/jinja_run.h"
#include "model/chat/jinja/jinja_scope.h"
#include "model/chat/jinja/syntax/jinja_nodes.h"

namespace horizon {

using JinjaScopePtr = std::shared_ptr<JinjaScope>;

// Computes the value of an expression (evaluate_expression.cc).
JinjaValue Evaluate(JinjaRun& run, const JinjaScopePtr& scope, const JinjaExpression& node);
JinjaArguments EvaluateArguments(JinjaRun& run, const JinjaScopePtr& scope,
                                 const JinjaCallArguments& arguments);
// Applies the filters of a {% filter %} or {% set %} block to `value`: |upper|trim.
JinjaValue EvaluateFilters(JinjaRun& run, const JinjaScopePtr& scope, const JinjaExpression& node,
                           const JinjaValue& value);

// Executes statements (execute_statements.cc), which write their output to the run. Returns whether
// the loop around them should end (kBreak) or go on with its next item (kContinue).
enum class JinjaFlow : uint8_t { kNormal, kBreak, kContinue };
JinjaFlow Execute(JinjaRun& run, const JinjaScopePtr& scope, const JinjaStatements& statements);
// The same, but writes the output to `text`.
JinjaFlow ExecuteInto(JinjaRun& run, const JinjaScopePtr& scope, const JinjaStatements& statements,
                      TracedText& text);
// Assigns a value to a target: a name, a tuple of names, or an attribute of a namespace.
void Assign(JinjaRun& run, const JinjaScopePtr& scope, const JinjaExpression& target,
            const JinjaValue& value);

// Executes a loop (execute_loop.cc).
JinjaFlow ExecuteFor(JinjaRun& run, const JinjaScopePtr& scope, const JinjaStatement& statement);
// Makes the callable value of a {% macro %} or {% call %} block (jinja_macro.cc).
JinjaValue MakeMacro(JinjaRun& run, const JinjaScopePtr& scope, const JinjaStatement& statement,
                     std::string_view name);

// The global functions range, dict, namespace, cycler, joiner, raise_exception and strftime_now;
// undefined for other names.
JinjaValue FindGlobal(JinjaRun& run, std::string_view name);
// Executes {% set value.name = ... %} (jinja_globals.cc). Fails if the value is not a namespace.
void SetNamespaceAttribute(JinjaRun& run, const JinjaValue& value, std::string_view name,
                           JinjaValue attribute);

}  // namespace horizon
