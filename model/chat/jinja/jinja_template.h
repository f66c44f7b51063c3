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

// Bounds on what a template may do, so that a hostile or broken one ends with a message.
struct JinjaLimits {
  int64_t steps = 20'000'000;  // expressions and statements evaluated
  int depth = 200;             // nested statements, expressions, macro calls and values
  Bytes output = 64_MiB;       // of the text, and of any one string on the way
};

struct JinjaOptions {
  JinjaLimits limits;
  // What strftime_now(format) gives. Empty: the function is undefined.
  std::function<std::string(std::string_view format)> strftime_now;
};

// A chat template as transformers renders it: Jinja with trim_blocks and lstrip_blocks, loop
// controls, {% generation %}, and the functions and filters that transformers adds. Not a general
// Jinja: no files are included, nothing is escaped, and no attribute of Python's is reachable.
//
//   ASSIGN_OR_RETURN(JinjaTemplate greeting, JinjaTemplate::Parse("Hello {{ name }}!",
//   "greeting")); ASSIGN_OR_RETURN(TracedText text, greeting.Render({{"name",
//   JinjaValue::Quoted("Ada", -1)}}, {}));
//
// Never changed once made: any number of threads may render one at the same time.
class JinjaTemplate {
 public:
  // InvalidArgument "NAME:LINE: ..." for what is no template or uses something unknown (the tag,
  // filter, test or function by its name).
  static absl::StatusOr<JinjaTemplate> Parse(std::string_view source, std::string name);

  // InvalidArgument "NAME:LINE: ..." for what Jinja raises, with the text of raise_exception;
  // ResourceExhausted, with line and limit, for a template that goes past `limits`.
  absl::StatusOr<TracedText> Render(const JinjaVariables& variables,
                                    const JinjaOptions& options) const;

  // Whether {% generation %} stands anywhere in it.
  bool has_generation() const;
  // The text of the template as it was given.
  const std::string& source() const;

 private:
  struct Parsed;
  explicit JinjaTemplate(std::shared_ptr<const Parsed> parsed) : parsed_(std::move(parsed)) {}
  std::shared_ptr<const Parsed> parsed_;
};

}  // namespace horizon
