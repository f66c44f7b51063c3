#pragma once

#include <string>
#include <string_view>

namespace horizon {

// `text` ready to stand as content or in a quoted attribute of XML and HTML. What XML cannot hold
// (control characters but tab, LF and CR, U+FFFE and U+FFFF, bytes that are not UTF-8) becomes
// U+FFFD.
std::string EscapeXml(std::string_view text);

}  // namespace horizon
