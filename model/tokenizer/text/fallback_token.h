#pragma once

#include <string>

#include "common/text/str_cat.h"

namespace horizon {

// The token for a byte in vocabularies with byte fallback: "<0x0A>".
inline std::string FallbackToken(unsigned byte) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  return StrCat("<0x", kDigits[byte / 16], kDigits[byte % 16], ">");
}

}  // namespace horizon
