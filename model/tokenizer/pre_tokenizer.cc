#include "model/tokenizer/pre_tokenizer.h"

#include <optional>
#include <utility>

#include "common/status_macros.h"
#include "common/text/quote.h"
#include "common/text/str_cat.h"
#include "model/tokenizer/part_reader.h"
#include "model/tokenizer/text/unicode_text.h"

namespace horizon {
namespace {

constexpr std::string_view kKnown =
    "ByteLevel, Split, Digits, Metaspace, Punctuation, Whitespace, WhitespaceSplit and Sequence";

// How GPT-2 cuts English text; a ByteLevel pre-tokenizer with use_regex means this one.
constexpr std::string_view kGpt2Expression =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

bool IsNeitherWordNorSpace(char32_t character) {
  return !IsWordCharacter(character) && !IsWhiteSpace(character);
}

Splitter SplitCharacters(Pattern::Predicate predicate, SplitBehavior behavior) {
  return {Pattern(predicate), behavior, Splitter::Sense::kPlain};
}

absl::StatusOr<SplitBehavior> ReadBehavior(const Part& part, const std::string& name) {
  const std::optional<SplitBehavior> behavior = ParseSplitBehavior(name);
  if (!behavior.has_value()) return part.Error(StrCat("unknown behavior ", Quoted(name)));
  return *behavior;
}

}  // namespace

absl::Status PreTokenizer::ReadByteLevel(const Part& part) {
  bool prefix = true;
  bool use_regex = true;
  ObjectReader reader(part.document, part.value, part.path);
  reader.Required("add_prefix_space", &prefix);
  reader.Optional("use_regex", &use_regex);
  RETURN_IF_ERROR(reader.FinishIgnoringUnknown());
  if (prefix) steps_.emplace_back(Space{.replacement = " "});
  if (use_regex) {
    absl::StatusOr<RegularExpression> expression = RegularExpression::Compile(kGpt2Expression);
    if (!expression.ok()) return std::move(expression).status();
    steps_.emplace_back(Splitter(Pattern(*std::move(expression)), SplitBehavior::kIsolated,
                                 Splitter::Sense::kPlain));
  }
  steps_.emplace_back(SpellBytes{});
  return absl::OkStatus();
}

absl::Status PreTokenizer::ReadSplit(const Part& part) {
  std::string behavior_name;
  bool invert = false;
  ObjectReader reader(part.document, part.value, part.path);
  reader.Required("behavior", &behavior_name);
  reader.Optional("invert", &invert);
  RETURN_IF_ERROR(reader.FinishIgnoringUnknown());
  ASSIGN_OR_RETURN(const SplitBehavior behavior, ReadBehavior(part, behavior_name));
  ASSIGN_OR_RETURN(Pattern pattern, ReadPattern(part, "pattern"));
  steps_.emplace_back(Splitter(std::move(pattern), behavior,
                               invert ? Splitter::Sense::kInverted : Splitter::Sense::kPlain));
  return absl::OkStatus();
}

absl::Status PreTokenizer::ReadMetaspace(const Part& part) {
  bool prefix = true;
  bool split = true;
  std::string scheme;
  ObjectReader reader(part.document, part.value, part.path);
  reader.OptionalOrNull("add_prefix_space", &prefix);
  reader.OptionalOrNull("prepend_scheme", &scheme);
  reader.OptionalOrNull("split", &split);
  RETURN_IF_ERROR(reader.FinishIgnoringUnknown());
  Space space;
  ASSIGN_OR_RETURN(space.replacement, ReadCharacter(part, "replacement"));
  if (scheme.empty()) scheme = prefix ? "always" : "never";
  if (scheme != "always" && scheme != "first" && scheme != "never") {
    return part.Error(StrCat("unknown prepend_scheme ", Quoted(scheme)));
  }
  if (!prefix && scheme != "never") {
    return part.Error("add_prefix_space is false and prepend_scheme is not \"never\"");
  }
  space.scheme = scheme == "always"  ? Space::Scheme::kAlways
                 : scheme == "first" ? Space::Scheme::kFirst
                                     : Space::Scheme::kNever;
  Pattern pattern(space.replacement);
  steps_.emplace_back(std::move(space));
  if (split) {
    steps_.emplace_back(
        Splitter(std::move(pattern), SplitBehavior::kMergedWithNext, Splitter::Sense::kPlain));
  }
  return absl::OkStatus();
}

absl::Status PreTokenizer::ReadStep(const Part& part) {
  ObjectReader reader(part.document, part.value, part.path);
  if (part.type == "ByteLevel") return ReadByteLevel(part);
  if (part.type == "Split") return ReadSplit(part);
  if (part.type == "Metaspace") return ReadMetaspace(part);
  if (part.type == "Digits") {
    bool individual = false;
    reader.Required("individual_digits", &individual);
    RETURN_IF_ERROR(reader.FinishIgnoringUnknown());
    steps_.emplace_back(SplitCharacters(
        IsNumber, individual ? SplitBehavior::kIsolated : SplitBehavior::kContiguous));
  } else if (part.type == "Punctuation") {
    std::string name = "Isolated";
    reader.Optional("behavior", &name);
    RETURN_IF_ERROR(reader.FinishIgnoringUnknown());
    ASSIGN_OR_RETURN(const SplitBehavior behavior, ReadBehavior(part, name));
    steps_.emplace_back(SplitCharacters(IsPunctuation, behavior));
  } else if (part.type == "WhitespaceSplit") {
    steps_.emplace_back(SplitCharacters(IsWhiteSpace, SplitBehavior::kRemoved));
  } else if (part.type == "Whitespace") {
    steps_.emplace_back(SplitCharacters(IsWhiteSpace, SplitBehavior::kRemoved));
    steps_.emplace_back(SplitCharacters(IsNeitherWordNorSpace, SplitBehavior::kContiguous));
  } else {
    return RefuseType(part, kKnown);
  }
  return absl::OkStatus();
}

absl::StatusOr<PreTokenizer> PreTokenizer::Read(const Document& document) {
  PreTokenizer pre_tokenizer;
  ASSIGN_OR_RETURN(const std::vector<Part> parts,
                   ListParts(document, "pre_tokenizer", "pretokenizers"));
  for (const Part& part : parts) RETURN_IF_ERROR(pre_tokenizer.ReadStep(part));
  return pre_tokenizer;
}

bool PreTokenizer::spells_bytes() const {
  size_t count = 0;
  for (const Step& step : steps_) count += std::holds_alternative<SpellBytes>(step) ? 1 : 0;
  return count == 1 && std::holds_alternative<SpellBytes>(steps_.back());
}

absl::Status PreTokenizer::Split(std::string_view text, Place place, MatchMemory& memory, Emit emit,
                                 AlignedText* source) const {
  return Run(0, text, place, memory, emit, source);
}

// Each step hands its pieces to the next one as they come, so nothing is kept but the piece in
// hand.
absl::Status PreTokenizer::Run(size_t step, std::string_view text, Place place, MatchMemory& memory,
                               Emit emit, AlignedText* source) const {
  if (text.empty()) return absl::OkStatus();
  if (step == steps_.size()) return emit(text);
  if (const Splitter* splitter = std::get_if<Splitter>(&steps_[step])) {
    const bool last = step + 1 == steps_.size() || (step + 2 == steps_.size() && emits_raw_bytes_);
    if (last) return splitter->Split(text, memory, emit);
    return splitter->Split(text, memory, [&](std::string_view piece) {
      // Only what stands at the beginning is the beginning; the others are texts like any after an
      // added token.
      const Place own = piece.data() == text.data() ? place : Place::kAfter;
      return Run(step + 1, piece, own, memory, emit, source);
    });
  }
  if (emits_raw_bytes_ && std::holds_alternative<SpellBytes>(steps_[step])) {
    return Run(step + 1, text, place, memory, emit, source);
  }
  return RunRewritten(step, text, place, memory, emit, source);
}

absl::Status PreTokenizer::RunRewritten(size_t step, std::string_view text, Place place,
                                        MatchMemory& memory, Emit emit, AlignedText* source) const {
  std::vector<ByteRange> ranges;
  const std::string written = Rewrite(steps_[step], text, place, source, ranges);
  if (source == nullptr) return Run(step + 1, written, place, memory, emit, nullptr);
  const AlignedText outer = std::exchange(*source, {.text = written, .ranges = ranges.data()});
  absl::Status status = Run(step + 1, written, place, memory, emit, source);
  *source = outer;
  return status;
}

// `text` as a step writes it, and by byte of that, if `source` is given, where it comes from.
std::string PreTokenizer::Rewrite(const Step& step, std::string_view text, Place place,
                                  const AlignedText* source, std::vector<ByteRange>& ranges) const {
  std::string written;
  const auto came_from = [&](std::string_view part) {
    if (source != nullptr) ranges.resize(written.size(), source->OriginOf(part));
  };
  const Space* space = std::get_if<Space>(&step);
  if (space == nullptr) {
    for (size_t i = 0; i < text.size(); ++i) {
      alphabet_.Spell(text.substr(i, 1), written);
      came_from(text.substr(i, 1));
    }
    return written;
  }
  const bool wanted = space->scheme == Space::Scheme::kAlways
                          ? place != Place::kContinues
                          : space->scheme == Space::Scheme::kFirst && place == Place::kFirst;
  if (wanted && !text.starts_with(" ") && !text.starts_with(space->replacement)) {
    written.append(space->replacement);
    came_from(text.substr(0, 1));
  }
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ' ') {
      written.append(space->replacement);
    } else {
      written.push_back(text[i]);
    }
    came_from(text.substr(i, 1));
  }
  return written;
}

}  // namespace horizon
