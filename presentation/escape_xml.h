#pragma once

#include <string>
#include <string_view>

namespace horizon {

// Escapes `text` for use as content or in a quoted attribute of XML and HTML. Characters that XML
// does not allow (control characters except tab, LF and CR; U+FFFE and U+FFFF; bytes that are not
// UTF-8) become U+FFFD.
std::string EscapeXml(std::string_view text);

}  // namespace horizon
