#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/documents/document.h"
#include "model/tokenizer/text/split.h"

namespace horizon {

// One part of a tokenizer.json (a normalizer, a decoder, ...) with its place in the document, for
// messages. Refers to the document, which must outlive it.
struct Part {
  const Document& document;
  const Value& value;
  std::string path;  // "pre_tokenizer[1]"
  std::string type;  // what "type" says

  absl::Status Error(std::string_view message) const {
    return ErrorAt(document, value, path, message);
  }
};

// The parts of a section, those of a Sequence one by one, however deep; `list` is the key under
// which its Sequence keeps them. A section that is null or missing has none. InvalidArgument where
// a part is no object or has no type.
absl::StatusOr<std::vector<Part>> ListParts(const Document& document, std::string_view section,
                                            std::string_view list);

// The refusal of a type nobody here implements: it names the type and those that would do.
absl::Status RefuseType(const Part& part, std::string_view known);

// The pattern {"Regex": "..."} or {"String": "..."} under `key`.
absl::StatusOr<Pattern> ReadPattern(const Part& part, std::string_view key);

// A string of exactly one character under `key`.
absl::StatusOr<std::string> ReadCharacter(const Part& part, std::string_view key);

}  // namespace horizon
