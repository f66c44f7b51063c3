#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace horizon {

struct JinjaToken {
  enum class Kind : uint8_t {
    kData,
    kVariableBegin,
    kVariableEnd,
    kBlockBegin,
    kBlockEnd,
    kName,
    kString,   // without quotes and escapes
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

// The tokens of a template, comments left out, ended by kEnd. White space is removed as Jinja does
// with trim_blocks and lstrip_blocks: a newline behind a block or comment, blanks before one that
// begins its line, everything on the side where the tag has "-"; nothing where it has "+". One
// newline at the end of the template is dropped. InvalidArgument "NAME:LINE: ...".
absl::StatusOr<std::vector<JinjaToken>> LexJinja(std::string_view source, std::string_view name);

}  // namespace horizon
