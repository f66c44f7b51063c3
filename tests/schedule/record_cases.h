#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace horizon {

// Checks what every file format of a record (common/documents/record.h) must refuse, for all its
// fields. `written` is the record with its default values as JSON. The names and kinds of the
// fields are taken from it, so that a new field is tested without a change here. `read` parses a
// text and reads the record.
using ReadText = std::function<absl::Status(std::string_view text)>;

// A numeric field, with JSON literals at both ends of its range and just beyond them.
struct FieldRange {
  std::string_view name;
  std::string_view below;  // refused
  std::string_view least;  // accepted
  std::string_view most;   // accepted
  std::string_view above;  // refused
};

// Tries both ends of every numeric field. Fails if a numeric field has no entry in `ranges`.
void ExpectRangesKept(std::string_view written, std::span<const FieldRange> ranges,
                      const ReadText& read);
// Tries a value of every other kind in every field. Real numbers must have a fraction in `written`.
void ExpectWrongTypesRefused(std::string_view written, const ReadText& read);
// Adds a letter to every name: it must be unknown, and the message must suggest the right name.
void ExpectMisspellingsSuggested(std::string_view written, const ReadText& read);
// Tries versions other than 1, and texts that are empty, not an object, too large or nested too
// deeply.
void ExpectHostileTextsRefused(const ReadText& read);

}  // namespace horizon
