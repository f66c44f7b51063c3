#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/files/io.h"

namespace horizon {

// Helpers to parse the small text files of /proc and /sys (man 5 proc).

std::vector<std::string_view> SplitText(std::string_view text, char separator);
std::string_view TrimmedText(std::string_view text);
// The number that a text begins with.
std::optional<uint64_t> NumberAt(std::string_view text);
// The rest of the line that begins with "NAME:" or "NAME   ".
std::optional<std::string_view> LineOf(std::string_view text, std::string_view name);
// The numbers in a list like "0-3,8,10-11"; empty if the text is not such a list.
std::vector<int64_t> NumbersOfList(std::string_view list);
// The N of every name "PREFIXN", ascending.
std::vector<int64_t> NumbersOfNames(const std::vector<std::string>& names, std::string_view prefix);

// The text of a file, or the names in a folder. A file that is missing or that we may not read
// gives none, such a folder gives no names; other errors are returned.
absl::StatusOr<std::optional<std::string>> ReadIfThere(Io& io, const std::string& path);
absl::StatusOr<std::vector<std::string>> ListIfThere(Io& io, const std::string& path);

}  // namespace horizon
