#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace horizon {

// Secrets that open a page to those who know them.

// 32 hexadecimal digits from the operating system's randomness: nobody guesses them. Unavailable
// when the system gives none.
absl::StatusOr<std::string> MakeToken();

// InvalidArgument unless `token` has 8 to 128 letters, digits, '-', '.', '_' or '~', which stand in
// an address, a cookie and a header field as they are.
absl::Status CheckToken(std::string_view token);

// Whether `given` is `secret`, in a time that depends on the length of `given` alone, so that how
// long a refusal takes tells nothing of the secret. An empty secret equals nothing.
bool EqualsSecret(std::string_view given, std::string_view secret);

}  // namespace horizon
