#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "model/tokenizer/text/regular_expression.h"

namespace horizon {

// What happens to the parts of a text that a pattern matches. The names are those of
// tokenizer.json.
enum class SplitBehavior { kRemoved, kIsolated, kMergedWithPrevious, kMergedWithNext, kContiguous };

std::optional<SplitBehavior> ParseSplitBehavior(std::string_view name);

// Finds matches in a text: of a regular expression, of a literal text, or of single characters
// (each character that satisfies the predicate is a match of its own). Immutable.
class Pattern {
 public:
  using Predicate = bool (*)(char32_t);
  explicit Pattern(RegularExpression expression) : kind_(std::move(expression)) {}
  // `literal` must not be empty.
  explicit Pattern(std::string literal) : kind_(std::move(literal)) {}
  explicit Pattern(Predicate predicate) : kind_(predicate) {}

  // The first match that begins at or after `from`, or nothing. Returns the errors of
  // RegularExpression::Find.
  absl::StatusOr<std::optional<RegularExpression::Match>> Find(std::string_view text, size_t from,
                                                               MatchMemory& memory) const;

 private:
  std::variant<RegularExpression, std::string, Predicate> kind_;
};

// Calls visit(part, is_match) for the matches and for the text between them, in order; together
// they are the whole text. An empty match directly after another match is skipped.
absl::Status VisitMatches(
    const Pattern& pattern, std::string_view text, MatchMemory& memory,
    absl::FunctionRef<absl::Status(std::string_view part, bool is_match)> visit);

// Splits texts into pieces at the matches of a pattern.
class Splitter {
 public:
  // kInverted: the text that the pattern does not match counts as matched.
  enum class Sense { kPlain, kInverted };
  Splitter(Pattern pattern, SplitBehavior behavior, Sense sense)
      : pattern_(std::move(pattern)), behavior_(behavior), sense_(sense) {}

  // Calls emit for each piece that is not empty, in order. Stops at the first error.
  absl::Status Split(std::string_view text, MatchMemory& memory,
                     absl::FunctionRef<absl::Status(std::string_view)> emit) const;

 private:
  Pattern pattern_;
  SplitBehavior behavior_;
  Sense sense_;
};

}  // namespace horizon
