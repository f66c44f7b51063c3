#pragma once

namespace horizon {

// The version of the program (semantic versioning). CHANGELOG.md has an entry for each version.
inline constexpr char kVersion[] = "0.1.0";

}  // namespace horizon
