#include "model/chat/jinja/jinja_template.h"

#include <utility>

#include "common/status_macros.h"
#include "model/chat/jinja/jinja_evaluate.h"
#include "model/chat/jinja/jinja_parser.h"
#include "model/chat/jinja/jinja_run.h"

namespace horizon {

struct JinjaTemplate::Parsed {
  std::string source;
  std::string name;
  JinjaSyntax syntax;
};

absl::StatusOr<JinjaTemplate> JinjaTemplate::Parse(std::string_view source, std::string name) {
  ASSIGN_OR_RETURN(JinjaSyntax syntax, ParseJinja(source, name));
  auto parsed = std::make_shared<Parsed>();
  parsed->source = std::string(source);
  parsed->name = std::move(name);
  parsed->syntax = std::move(syntax);
  return JinjaTemplate(std::move(parsed));
}

absl::StatusOr<TracedText> JinjaTemplate::Render(const JinjaVariables& variables,
                                                 const JinjaOptions& options) const {
  JinjaRun run(variables, options, parsed_->name);
  TracedText text;
  ExecuteInto(run, std::make_shared<JinjaScope>(), parsed_->syntax.statements, text);
  RETURN_IF_ERROR(run.status());
  return text;
}

bool JinjaTemplate::has_generation() const { return parsed_->syntax.has_generation; }

const std::string& JinjaTemplate::source() const { return parsed_->source; }

}  // namespace horizon
