#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/files/io.h"

namespace horizon {

// Reading the small texts of /proc and /sys (man 5 proc).

std::vector<std::string_view> SplitText(std::string_view text, char separator);
std::string_view TrimmedText(std::string_view text);
// The number a text begins with.
std::optional<uint64_t> NumberAt(std::string_view text);
// What stands behind "NAME:" or "NAME   " at the beginning of a line.
std::optional<std::string_view> LineOf(std::string_view text, std::string_view name);
// The numbers a list like "0-3,8,10-11" names; empty when it is none.
std::vector<int64_t> NumbersOfList(std::string_view list);
// The N of every name "PREFIXN", ascending.
std::vector<int64_t> NumbersOfNames(const std::vector<std::string>& names, std::string_view prefix);

// A file, or the names in a folder, that may be missing or closed to us; other errors are errors.
absl::StatusOr<std::optional<std::string>> ReadIfThere(Io& io, const std::string& path);
absl::StatusOr<std::vector<std::string>> ListIfThere(Io& io, const std::string& path);

}  // namespace horizon
