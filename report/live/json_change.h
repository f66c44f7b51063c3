#pragma once

#include <string>
#include <string_view>

namespace horizon {

// What has to be done to one JSON document to make it another, as JSON on one line: an array of
//   ["set", PATH, VALUE]       the member at PATH becomes VALUE, or is added
//   ["append", PATH, VALUES]   the array at PATH gets these elements at its end
//   ["remove", PATH]           the member at PATH goes
// where PATH is an array of keys, the outermost first. Objects are gone through member by member;
// an array that did not only grow, and everything else, is set as a whole. "[]": they are equal as
// texts.
//
// Works on the texts, so it costs little for large documents of which little changes. Both are
// objects on one line, written by us (JsonWriter): CHECK where a text is not. The order of members
// may differ; it is not restored.
std::string JsonChange(std::string_view before, std::string_view after);

}  // namespace horizon
