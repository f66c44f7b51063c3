#pragma once

#include <memory>
#include <string_view>

#include "model/chat/jinja/jinja_run.h"
#include "model/chat/jinja/jinja_scope.h"
#include "model/chat/jinja/syntax/jinja_nodes.h"

namespace horizon {

using JinjaScopePtr = std::shared_ptr<JinjaScope>;

// The value of an expression (evaluate_expression.cc).
JinjaValue Evaluate(JinjaRun& run, const JinjaScopePtr& scope, const JinjaExpression& node);
JinjaArguments EvaluateArguments(JinjaRun& run, const JinjaScopePtr& scope,
                                 const JinjaCallArguments& arguments);
// The filters of a block: |upper|trim applied to `value`.
JinjaValue EvaluateFilters(JinjaRun& run, const JinjaScopePtr& scope, const JinjaExpression& node,
                           const JinjaValue& value);

// Runs statements (execute_statements.cc), which write to the run. Says whether a loop around them
// is to end or to go on with its next item.
enum class JinjaFlow : uint8_t { kOn, kBreak, kContinue };
JinjaFlow Execute(JinjaRun& run, const JinjaScopePtr& scope, const JinjaStatements& statements);
// As above, into a text.
JinjaFlow ExecuteInto(JinjaRun& run, const JinjaScopePtr& scope, const JinjaStatements& statements,
                      TracedText& text);
void Assign(JinjaRun& run, const JinjaScopePtr& scope, const JinjaExpression& target,
            const JinjaValue& value);

// A loop (execute_loop.cc) and what macros and call blocks are (jinja_macro.cc).
JinjaFlow ExecuteFor(JinjaRun& run, const JinjaScopePtr& scope, const JinjaStatement& statement);
JinjaValue MakeMacro(JinjaRun& run, const JinjaScopePtr& scope, const JinjaStatement& statement,
                     std::string_view name);

// range, dict, namespace, cycler, joiner, raise_exception, strftime_now; undefined for others.
JinjaValue FindGlobal(JinjaRun& run, std::string_view name);
// {% set value.name = ... %} (jinja_globals.cc); fails for what is no namespace.
void SetNamespaceAttribute(JinjaRun& run, const JinjaValue& value, std::string_view name,
                           JinjaValue attribute);

}  // namespace horizon
