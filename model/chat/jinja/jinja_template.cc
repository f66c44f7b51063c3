#include "model/chat/jinja/jinja_template.h"

#include <utility>

#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "model/chat/jinja/jinja_evaluate.h"
#include "model/chat/jinja/jinja_run.h"
#include "model/chat/jinja/syntax/hidden_names.h"
#include "model/chat/jinja/syntax/jinja_parser.h"

namespace horizon {

struct JinjaTemplate::Parsed {
  std::string source;
  std::string name;
  JinjaSyntax syntax;
  std::vector<std::string> hidden;  // see FindHiddenNames
};

absl::StatusOr<JinjaTemplate> JinjaTemplate::Parse(std::string_view source, std::string name) {
  ASSIGN_OR_RETURN(JinjaSyntax syntax, ParseJinja(source, name));
  auto parsed = std::make_shared<Parsed>();
  parsed->source = std::string(source);
  parsed->name = std::move(name);
  parsed->syntax = std::move(syntax);
  parsed->hidden = FindHiddenNames(parsed->syntax.statements);
  return JinjaTemplate(std::move(parsed));
}

absl::StatusOr<TracedText> JinjaTemplate::Render(const JinjaVariables& variables,
                                                 const JinjaOptions& options) const {
  JinjaRun run(variables, options, parsed_->name);
  TracedText text;
  const auto scope = std::make_shared<JinjaScope>();
  for (const std::string& hidden : parsed_->hidden) {
    scope->Set(hidden, JinjaValue::Undefined(StrCat("'", hidden, "' is undefined")));
  }
  ExecuteInto(run, scope, parsed_->syntax.statements, text);
  RETURN_IF_ERROR(run.status());
  return text;
}

bool JinjaTemplate::has_generation() const { return parsed_->syntax.has_generation; }

const std::string& JinjaTemplate::source() const { return parsed_->source; }

}  // namespace horizon
