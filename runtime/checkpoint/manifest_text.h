#pragma once

#include <string>
#include <string_view>

namespace horizon {

// The last line of a manifest, of the same form and length in every version: the CRC-32C of all
// lines before it.
std::string ManifestLastLine(std::string_view lines_before);

}  // namespace horizon
