#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace horizon {

// A member of a JSON object, and the byte range [begin, end) of its value in the text.
struct JsonMember {
  std::string key;  // unescaped
  size_t begin = 0;
  size_t end = 0;
  size_t key_begin = 0;  // the opening quote of its key
};

// Finds the members of the outermost object of a JSON text, in their order in the text. With the
// byte ranges a caller can replace one value and leave every other byte as it is. Returns the
// errors of ParseJson, and InvalidArgument if the text is not an object. `file` is for messages.
absl::StatusOr<std::vector<JsonMember>> FindJsonMembers(const std::string& file,
                                                        std::string_view text);

// The text without the member of that key of the outermost object, if there is one, and without the
// comma that went with it. Every other byte is unchanged. Returns the same errors.
absl::StatusOr<std::string> WithoutJsonMember(const std::string& file, std::string_view text,
                                              std::string_view key);

}  // namespace horizon
