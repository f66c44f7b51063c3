#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "common/units.h"
#include "model/chat/jinja/jinja_value.h"
#include "model/chat/jinja/traced_text.h"

namespace horizon {

// Limits for a rendering, so that a hostile or broken template ends with a message.
struct JinjaLimits {
  int64_t steps = 20'000'000;  // evaluated expressions and statements
  int depth = 200;             // nested statements, expressions, macro calls and values
  Bytes output = 64_MiB;       // size of the rendered text, and of any single string
};

// Settings of a rendering.
struct JinjaOptions {
  JinjaLimits limits;
  // Implements strftime_now(format). If it is empty, the function is undefined.
  std::function<std::string(std::string_view format)> strftime_now;
};

// A chat template in Jinja, rendered as transformers does: with trim_blocks and lstrip_blocks, loop
// controls, {% generation %}, and the functions and filters that transformers adds. It is not a
// general Jinja: it includes no files, escapes nothing, and gives no access to attributes of
// Python.
//
//   ASSIGN_OR_RETURN(JinjaTemplate greeting,
//                    JinjaTemplate::Parse("Hello {{ name }}!", "greeting"));
//   ASSIGN_OR_RETURN(TracedText text,
//                    greeting.Render({{"name", JinjaValue::Quoted("Ada", -1)}}, {}));
//
// Immutable: any number of threads may render one at the same time.
class JinjaTemplate {
 public:
  // Returns InvalidArgument "NAME:LINE: ..." if the source is not a template or uses an unknown
  // tag, filter, test or function (the message names it).
  static absl::StatusOr<JinjaTemplate> Parse(std::string_view source, std::string name);

  // Returns InvalidArgument "NAME:LINE: ..." for errors that Jinja would raise, with the text of
  // raise_exception; ResourceExhausted, with line and limit, for a template that exceeds the limits
  // of `options`.
  absl::StatusOr<TracedText> Render(const JinjaVariables& variables,
                                    const JinjaOptions& options) const;

  // Whether the template contains {% generation %}.
  bool has_generation() const;
  // The source text of the template.
  const std::string& source() const;

 private:
  struct Parsed;
  explicit JinjaTemplate(std::shared_ptr<const Parsed> parsed) : parsed_(std::move(parsed)) {}
  std::shared_ptr<const Parsed> parsed_;
};

}  // namespace horizon
