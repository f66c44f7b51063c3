#include "model/tokenizer/decoder.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "common/status_macros.h"
#include "common/text/utf8.h"
#include "model/tokenizer/part_reader.h"
#include "model/tokenizer/text/unicode_text.h"

namespace horizon {
namespace {

constexpr std::string_view kKnown =
    "ByteLevel, ByteFallback, Fuse, Metaspace, Replace, Strip and Sequence";

std::optional<unsigned> HexadecimalDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return std::nullopt;
}

// The byte of a token such as "<0x0A>".
std::optional<char> FallbackByte(std::string_view token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return std::nullopt;
  // The library reads the two digits as a number, for which "+A" is 10.
  const std::optional<unsigned> low = HexadecimalDigit(token[4]);
  const std::optional<unsigned> high = token[3] == '+' ? 0 : HexadecimalDigit(token[3]);
  if (!high.has_value() || !low.has_value()) return std::nullopt;
  return static_cast<char>(*high * 16 + *low);
}

bool IsUtf8(std::string_view text) {
  std::string storage;
  return WithValidUtf8(text, storage).data() == text.data();
}

// Appends the text of a run of byte tokens: theirs if it is one, otherwise one U+FFFD a byte.
void AppendRun(const std::string& run, std::vector<std::string>& tokens) {
  if (run.empty()) return;
  if (IsUtf8(run)) {
    tokens.push_back(run);
    return;
  }
  tokens.insert(tokens.end(), run.size(), std::string(kReplacementCharacter));
}

void StripToken(const std::string& content, int64_t start, int64_t stop, std::string& token) {
  std::string_view rest = token;
  for (int64_t i = 0; i < start && rest.starts_with(content); ++i) {
    rest.remove_prefix(content.size());
  }
  for (int64_t i = 0; i < stop && rest.ends_with(content); ++i) rest.remove_suffix(content.size());
  token = std::string(rest);
}

void ReplaceSpaces(std::string_view replacement, std::string_view by, std::string& token) {
  std::string written;
  std::string_view rest = token;
  for (size_t at = rest.find(replacement); at != std::string_view::npos;
       at = rest.find(replacement)) {
    written.append(rest.substr(0, at)).append(by);
    rest.remove_prefix(at + replacement.size());
  }
  token = written.append(rest);
}

std::string Join(const std::vector<std::string>& tokens, std::string_view between) {
  std::string text;
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (i > 0) text.append(between);
    text.append(tokens[i]);
  }
  return text;
}

}  // namespace

absl::StatusOr<Decoder::Step> Decoder::ReadStep(const Part& part) {
  ObjectReader reader(part.document, part.value, part.path);
  if (part.type == "ByteLevel") return ByteLevel{};
  if (part.type == "ByteFallback") return ByteFallback{};
  if (part.type == "Fuse") return Fuse{};
  if (part.type == "Metaspace") {
    Metaspace metaspace;
    std::string scheme;
    reader.OptionalOrNull("add_prefix_space", &metaspace.drops_first);
    reader.OptionalOrNull("prepend_scheme", &scheme);
    RETURN_IF_ERROR(reader.FinishIgnoringUnknown());
    if (scheme == "never") metaspace.drops_first = false;
    ASSIGN_OR_RETURN(metaspace.replacement, ReadCharacter(part, "replacement"));
    return metaspace;
  }
  if (part.type == "Replace") {
    std::string content;
    reader.Required("content", &content);
    RETURN_IF_ERROR(reader.FinishIgnoringUnknown());
    ASSIGN_OR_RETURN(Pattern pattern, ReadPattern(part, "pattern"));
    return Replace{std::move(pattern), std::move(content)};
  }
  if (part.type == "Strip") {
    Strip strip;
    reader.Required("start", &strip.start);
    reader.Required("stop", &strip.stop);
    RETURN_IF_ERROR(reader.FinishIgnoringUnknown());
    ASSIGN_OR_RETURN(strip.content, ReadCharacter(part, "content"));
    return strip;
  }
  return RefuseType(part, kKnown);
}

absl::StatusOr<Decoder> Decoder::Read(const Document& document) {
  Decoder decoder;
  ASSIGN_OR_RETURN(const std::vector<Part> parts, ListParts(document, "decoder", "decoders"));
  for (const Part& part : parts) {
    ASSIGN_OR_RETURN(Step step, ReadStep(part));
    decoder.steps_.push_back(std::move(step));
  }
  decoder.certainty_ = decoder.FindCertainty();
  return decoder;
}

void Decoder::DecodeBytes(std::vector<std::string>& tokens) const {
  std::string bytes;
  for (const std::string& token : tokens) bytes.append(alphabet_.Read(token).value_or(token));
  std::string storage;
  tokens = {std::string(WithValidUtf8(bytes, storage))};
}

void Decoder::FallBack(std::vector<std::string>& tokens) {
  std::vector<std::string> decoded;
  std::string run;
  for (std::string& token : tokens) {
    if (const std::optional<char> byte = FallbackByte(token)) {
      run.push_back(*byte);
      continue;
    }
    AppendRun(run, decoded);
    run.clear();
    decoded.push_back(std::move(token));
  }
  AppendRun(run, decoded);
  tokens = std::move(decoded);
}

absl::Status Decoder::Apply(const Replace& replace, std::vector<std::string>& tokens) {
  MatchMemory memory;
  for (std::string& token : tokens) {
    std::string written;
    RETURN_IF_ERROR(
        VisitMatches(replace.pattern, token, memory, [&](std::string_view part, bool is_match) {
          written.append(is_match ? replace.content : part);
          return absl::OkStatus();
        }));
    token = std::move(written);
  }
  return absl::OkStatus();
}

std::string Decoder::Decode(std::vector<std::string> tokens) const {
  if (steps_.empty()) return Join(tokens, " ");
  for (const Step& step : steps_) {
    if (std::holds_alternative<ByteLevel>(step)) {
      DecodeBytes(tokens);
    } else if (std::holds_alternative<ByteFallback>(step)) {
      FallBack(tokens);
    } else if (std::holds_alternative<Fuse>(step)) {
      tokens = {Join(tokens, "")};
    } else if (const auto* metaspace = std::get_if<Metaspace>(&step)) {
      for (size_t i = 0; i < tokens.size(); ++i) {
        ReplaceSpaces(metaspace->replacement, i == 0 && metaspace->drops_first ? "" : " ",
                      tokens[i]);
      }
    } else if (const auto* replace = std::get_if<Replace>(&step)) {
      // An expression that gives up on a token leaves the rest of the tokens as they are.
      Apply(*replace, tokens).IgnoreError();
    } else {
      const auto& strip = std::get<Strip>(step);
      for (std::string& token : tokens) {
        StripToken(strip.content, strip.start, strip.stop, token);
      }
    }
  }
  return Join(tokens, "");
}

// Steps that look at one token at a time change nothing that was certain; once tokens are one text,
// only what is taken off its beginning is safe.
Decoder::Certainty Decoder::FindCertainty() const {
  Certainty certainty = Certainty::kAll;
  bool fused = false;
  for (const Step& step : steps_) {
    if (std::holds_alternative<ByteLevel>(step)) {
      if (fused || certainty != Certainty::kAll) return Certainty::kNothing;
      fused = true;
      certainty = Certainty::kWholeCharacters;
    } else if (std::holds_alternative<ByteFallback>(step)) {
      if (fused) return Certainty::kNothing;
      certainty = Certainty::kWholeByteRuns;
    } else if (std::holds_alternative<Fuse>(step)) {
      fused = true;
    } else if (const auto* strip = std::get_if<Strip>(&step)) {
      if (fused && strip->stop > 0) return Certainty::kNothing;
    } else if (fused) {
      return Certainty::kNothing;
    }
  }
  return certainty;
}

size_t Decoder::UncertainBytes(const std::vector<std::string>& tokens,
                               std::string_view text) const {
  switch (certainty_) {
    case Certainty::kAll:
      return 0;
    case Certainty::kWholeCharacters:
      // The beginning of a character at the end of the text is one U+FFFD so far.
      return text.ends_with(kReplacementCharacter) ? kReplacementCharacter.size() : 0;
    case Certainty::kWholeByteRuns: {
      size_t kept = tokens.size();
      while (kept > 0 && FallbackByte(tokens[kept - 1]).has_value()) --kept;
      if (kept == tokens.size()) return 0;
      const std::string certain =
          Decode({tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(kept)});
      return text.size() - std::min(certain.size(), text.size());
    }
    case Certainty::kNothing:
      return text.size();
  }
  return text.size();
}

}  // namespace horizon
