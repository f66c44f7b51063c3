#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "common/documents/document.h"

namespace horizon {

// Parses one YAML document into the same tree that ParseJson returns. yaml.cc is the only file that
// includes yaml-cpp. Plain scalars follow the YAML 1.2 core schema (true, 12, 1e-4, null); quoted
// ones are strings. The following are InvalidArgument, with file and line: bad syntax, anchors,
// aliases and tags, duplicate keys, keys that are not scalars, several documents, and anything
// beyond `limits`. `file` is for messages.
absl::StatusOr<Document> ParseYaml(std::string file, std::string_view text,
                                   const DocumentLimits& limits = {});

}  // namespace horizon
