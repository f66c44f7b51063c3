#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace horizon {

// A token of the source text of a template.
struct JinjaToken {
  enum class Kind : uint8_t {
    kData,  // text outside of tags
    kVariableBegin,
    kVariableEnd,
    kBlockBegin,
    kBlockEnd,
    kName,
    kString,   // quotes removed, escapes resolved
    kInteger,  // as written, without "_"
    kFloat,    // as written, without "_"
    kOperator,
    kEnd,
  };
  Kind kind = Kind::kEnd;
  std::string text;
  int line = 1;

  bool Is(Kind wanted, std::string_view wanted_text) const {
    return kind == wanted && text == wanted_text;
  }
  bool IsName(std::string_view name) const { return Is(Kind::kName, name); }
  bool IsOperator(std::string_view sign) const { return Is(Kind::kOperator, sign); }
};

// Splits a template into tokens, without comments; the last token is kEnd. White space is removed
// like in Jinja with trim_blocks and lstrip_blocks: a newline after a block or comment, blanks
// before one that begins its line, all white space on the side where the tag has "-", and none
// where it has "+". One newline at the end of the template is dropped. Returns InvalidArgument
// "NAME:LINE: ...".
absl::StatusOr<std::vector<JinjaToken>> LexJinja(std::string_view source, std::string_view name);

}  // namespace horizon
