#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace horizon {

// Access tokens: secrets that give access to a served page.

// Makes a token of 32 hexadecimal digits from the operating system's random numbers. Unavailable if
// the system provides none.
absl::StatusOr<std::string> MakeToken();

// Returns InvalidArgument unless `token` has 8 to 128 letters, digits, '-', '.', '_' or '~'. These
// need no escaping in a URL, a cookie or a header field.
absl::Status CheckToken(std::string_view token);

// Whether `given` equals `secret`. The time depends only on the length of `given`, so that the time
// of a refusal reveals nothing about the secret. An empty secret equals nothing.
bool EqualsSecret(std::string_view given, std::string_view secret);

}  // namespace horizon
