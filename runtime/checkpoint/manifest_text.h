#pragma once

#include <string>
#include <string_view>

namespace horizon {

// The last line of a manifest, which holds the CRC-32C of all lines before it. Its form and length
// are the same in every version.
std::string ManifestLastLine(std::string_view lines_before);

}  // namespace horizon
