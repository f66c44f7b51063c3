#pragma once

#include <string>
#include <string_view>

namespace horizon {

// Computes the changes that turn one JSON document into another, as JSON on one line: an array of
//   ["set", PATH, VALUE]       sets the member at PATH to VALUE, or adds it
//   ["append", PATH, VALUES]   appends these elements to the array at PATH
//   ["remove", PATH]           removes the member at PATH
// where PATH is an array of keys, the outermost first. Objects are compared member by member. An
// array that only grew is appended to; any other changed value is set as a whole. "[]" means that
// the values are equal as texts.
//
// It compares texts, so it is cheap for large documents with few changes. Both documents must be
// objects on one line written by JsonWriter (CHECK). The order of members may differ; it is not
// restored.
std::string JsonChange(std::string_view before, std::string_view after);

}  // namespace horizon
