#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace horizon {

// A member of a JSON object and where its value stands in the text: [begin, end).
struct JsonMember {
  std::string key;  // unescaped
  size_t begin = 0;
  size_t end = 0;
};

// The members of the outermost object of a JSON text, in its order: for changing a value and
// leaving every other byte as it is. InvalidArgument as ParseJson's, and when the text is no
// object; `file` is for messages.
absl::StatusOr<std::vector<JsonMember>> FindJsonMembers(const std::string& file,
                                                        std::string_view text);

}  // namespace horizon
