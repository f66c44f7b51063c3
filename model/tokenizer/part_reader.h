#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/documents/document.h"
#include "model/tokenizer/text/split.h"

namespace horizon {

// One component of a tokenizer.json (a normalizer, a decoder, ...), with its place in the document
// for messages. Refers to the document, which must outlive it.
struct Part {
  const Document& document;
  const Value& value;
  std::string path;  // "pre_tokenizer[1]"
  std::string type;  // the value of "type"

  absl::Status Error(std::string_view message) const {
    return ErrorAt(document, value, path, message);
  }
};

// Lists the components of a section. A Sequence is replaced by its members, at any depth; `list` is
// the key under which a Sequence of this section keeps them. A section that is null or missing has
// no components. Returns InvalidArgument if a component is not an object or has no type.
absl::StatusOr<std::vector<Part>> ListParts(const Document& document, std::string_view section,
                                            std::string_view list);

// The error for a type that is not supported. It names the type and the supported types, `known`.
absl::Status RefuseType(const Part& part, std::string_view known);

// Reads the pattern {"Regex": "..."} or {"String": "..."} under `key`.
absl::StatusOr<Pattern> ReadPattern(const Part& part, std::string_view key);

// Reads a string of exactly one character under `key`.
absl::StatusOr<std::string> ReadCharacter(const Part& part, std::string_view key);

}  // namespace horizon
