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

// What becomes of the parts of a text that a pattern matches (names of tokenizer.json).
enum class SplitBehavior { kRemoved, kIsolated, kMergedWithPrevious, kMergedWithNext, kContiguous };

std::optional<SplitBehavior> ParseSplitBehavior(std::string_view name);

// Finds parts of a text: by a regular expression, by the text itself, or character by character
// (each character that fulfils the predicate is a match of its own). Never changed once made.
class Pattern {
 public:
  using Predicate = bool (*)(char32_t);
  explicit Pattern(RegularExpression expression) : kind_(std::move(expression)) {}
  // `literal` is not empty.
  explicit Pattern(std::string literal) : kind_(std::move(literal)) {}
  explicit Pattern(Predicate predicate) : kind_(predicate) {}

  // The first match that ends behind `from` or is empty, or nothing. Errors are those of
  // RegularExpression::Find.
  absl::StatusOr<std::optional<RegularExpression::Match>> Find(std::string_view text, size_t from,
                                                               MatchMemory& memory) const;

 private:
  std::variant<RegularExpression, std::string, Predicate> kind_;
};

// Calls visit(part, is_match) for the matches and for what lies between them, in order; together
// they are the text. An empty match right behind the match before it is passed over.
absl::Status VisitMatches(
    const Pattern& pattern, std::string_view text, MatchMemory& memory,
    absl::FunctionRef<absl::Status(std::string_view part, bool is_match)> visit);

// Cuts texts into pieces.
class Splitter {
 public:
  // Inverted, what the pattern does not match counts as matched.
  enum class Sense { kPlain, kInverted };
  Splitter(Pattern pattern, SplitBehavior behavior, Sense sense)
      : pattern_(std::move(pattern)), behavior_(behavior), sense_(sense) {}

  // Calls emit for each piece that is not empty, in order; the first error ends it.
  absl::Status Split(std::string_view text, MatchMemory& memory,
                     absl::FunctionRef<absl::Status(std::string_view)> emit) const;

 private:
  Pattern pattern_;
  SplitBehavior behavior_;
  Sense sense_;
};

}  // namespace horizon
