#pragma once

namespace horizon {

// Semantic versioning; CHANGELOG.md has an entry for each.
inline constexpr char kVersion[] = "0.1.0";

}  // namespace horizon
