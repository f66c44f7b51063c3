#include "model/tokenizer/text/split.h"

#include <utility>

#include "common/status_macros.h"
#include "model/tokenizer/text/unicode_text.h"

namespace horizon {
namespace {

using Match = RegularExpression::Match;

std::optional<Match> FindCharacter(Pattern::Predicate predicate, std::string_view text,
                                   size_t from) {
  for (size_t at = from; at < text.size();) {
    const size_t begin = at;
    if (predicate(NextCharacter(text, at))) return Match{begin, at};
  }
  return std::nullopt;
}

std::optional<Match> FindText(std::string_view wanted, std::string_view text, size_t from) {
  const size_t begin = text.find(wanted, from);
  if (begin == std::string_view::npos) return std::nullopt;
  return Match{begin, begin + wanted.size()};
}

size_t SkipCharacter(std::string_view text, size_t at) {
  if (at < text.size()) NextCharacter(text, at);
  return at;
}

// Two neighbouring parts of a text as one.
std::string_view Join(std::string_view first, std::string_view second) {
  return {first.data(), first.size() + second.size()};
}

// Puts parts together as a behaviour wants it. A piece is given out when the part after it is
// known.
class Merger {
 public:
  Merger(SplitBehavior behavior, absl::FunctionRef<absl::Status(std::string_view)> emit)
      : behavior_(behavior), emit_(emit) {}

  absl::Status Add(std::string_view part, bool is_match) {
    const bool joins = pending_.has_value() && JoinsPending(is_match);
    previous_match_ = is_match;
    if (joins) {
      pending_ = Join(*pending_, part);
      pending_is_match_ = is_match;
      return absl::OkStatus();
    }
    RETURN_IF_ERROR(Finish());
    pending_ = part;
    pending_is_match_ = is_match;
    return absl::OkStatus();
  }

  absl::Status Finish() {
    const std::string_view piece = pending_.value_or("");
    pending_.reset();
    return piece.empty() ? absl::OkStatus() : emit_(piece);
  }

 private:
  bool JoinsPending(bool is_match) const {
    switch (behavior_) {
      case SplitBehavior::kContiguous:
        return is_match == previous_match_;
      case SplitBehavior::kMergedWithPrevious:
        return is_match && !previous_match_;
      case SplitBehavior::kMergedWithNext:
        return !is_match && pending_is_match_;
      default:
        return false;
    }
  }

  SplitBehavior behavior_;
  absl::FunctionRef<absl::Status(std::string_view)> emit_;
  std::optional<std::string_view> pending_;
  bool pending_is_match_ = false;  // the last part of it
  bool previous_match_ = false;
};

}  // namespace

std::optional<SplitBehavior> ParseSplitBehavior(std::string_view name) {
  if (name == "Removed") return SplitBehavior::kRemoved;
  if (name == "Isolated") return SplitBehavior::kIsolated;
  if (name == "MergedWithPrevious") return SplitBehavior::kMergedWithPrevious;
  if (name == "MergedWithNext") return SplitBehavior::kMergedWithNext;
  if (name == "Contiguous") return SplitBehavior::kContiguous;
  return std::nullopt;
}

absl::StatusOr<std::optional<Match>> Pattern::Find(std::string_view text, size_t from,
                                                   MatchMemory& memory) const {
  if (const auto* expression = std::get_if<RegularExpression>(&kind_)) {
    return expression->Find(text, from, memory);
  }
  if (const auto* literal = std::get_if<std::string>(&kind_)) return FindText(*literal, text, from);
  return FindCharacter(std::get<Predicate>(kind_), text, from);
}

absl::Status VisitMatches(
    const Pattern& pattern, std::string_view text, MatchMemory& memory,
    absl::FunctionRef<absl::Status(std::string_view part, bool is_match)> visit) {
  size_t done = 0;
  size_t from = 0;
  bool any = false;
  while (from <= text.size()) {
    ASSIGN_OR_RETURN(const std::optional<Match> match, pattern.Find(text, from, memory));
    if (!match.has_value()) break;
    if (match->begin == match->end && any && match->end == done) {
      from = from == text.size() ? from + 1 : SkipCharacter(text, from);
      continue;
    }
    if (match->begin > done) {
      RETURN_IF_ERROR(visit(text.substr(done, match->begin - done), false));
    }
    RETURN_IF_ERROR(visit(text.substr(match->begin, match->end - match->begin), true));
    any = true;
    done = from = match->end;
  }
  return done < text.size() ? visit(text.substr(done), false) : absl::OkStatus();
}

absl::Status Splitter::Split(std::string_view text, MatchMemory& memory,
                             absl::FunctionRef<absl::Status(std::string_view)> emit) const {
  if (text.empty()) return absl::OkStatus();
  const bool inverted = sense_ == Sense::kInverted;
  if (behavior_ == SplitBehavior::kIsolated || behavior_ == SplitBehavior::kRemoved) {
    const bool drops = behavior_ == SplitBehavior::kRemoved;
    return VisitMatches(pattern_, text, memory, [&](std::string_view part, bool is_match) {
      if (part.empty() || (drops && is_match != inverted)) return absl::OkStatus();
      return emit(part);
    });
  }
  Merger merger(behavior_, emit);
  RETURN_IF_ERROR(VisitMatches(pattern_, text, memory, [&](std::string_view part, bool is_match) {
    return merger.Add(part, is_match != inverted);
  }));
  return merger.Finish();
}

}  // namespace horizon
