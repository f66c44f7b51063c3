#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace horizon {

// What every file format made of a record (common/documents/record.h) must refuse, tried on all its
// fields. `written` is the record with its defaults as JSON; from it come the names and kinds of
// the fields, so that a new field is tried without a change here. `read` parses and reads a text.
using ReadText = std::function<absl::Status(std::string_view text)>;

// A number's field with JSON literals on both sides of both ends of its range.
struct FieldRange {
  std::string_view name;
  std::string_view below;  // refused
  std::string_view least;  // accepted
  std::string_view most;   // accepted
  std::string_view above;  // refused
};

// Both ends of every numeric field; fails when a numeric field has no entry in `ranges`.
void ExpectRangesKept(std::string_view written, std::span<const FieldRange> ranges,
                      const ReadText& read);
// A value of every other kind in every field. Reals must stand in `written` with a fraction.
void ExpectWrongTypesRefused(std::string_view written, const ReadText& read);
// Every name with a letter too many is unknown, and the message suggests the right one.
void ExpectMisspellingsSuggested(std::string_view written, const ReadText& read);
// Versions that are not 1; texts that are empty, no object, too large or too deep.
void ExpectHostileTextsRefused(const ReadText& read);

}  // namespace horizon
