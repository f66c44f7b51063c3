#include "model/tokenizer/normalizer.h"

#include <unicode/bytestream.h>
#include <unicode/edits.h>
#include <unicode/normalizer2.h>

#include <utility>

#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "model/tokenizer/part_reader.h"
#include "model/tokenizer/text/unicode_text.h"

namespace horizon {
namespace {

constexpr std::string_view kKnown =
    "NFC, NFD, NFKC, NFKD, Lowercase, Nmt, Precompiled, Prepend, Replace, Strip, StripAccents and "
    "Sequence";

// Makes `text` what `change` appends for each of its characters.
template <typename Change>
void MapCharacters(std::string& text, std::string& spare, Alignment* alignment, Change change) {
  spare.clear();
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    const size_t before = spare.size();
    change(NextCharacter(text, at), spare);
    if (alignment != nullptr) alignment->Take(spare.size() - before, begin, at);
  }
  if (alignment != nullptr) alignment->Finish();
  text.swap(spare);
}

// How SentencePiece's rule "nmt" writes a character: control characters are dropped, other spaces
// and what cannot be seen are spaces.
void AppendForTranslation(char32_t c, std::string& text) {
  const auto in = [c](char32_t first, char32_t last) { return c >= first && c <= last; };
  if (in(0x01, 0x08) || c == 0x0B || in(0x0E, 0x1F) || c == 0x7F || c == 0x8F || c == 0x9F) return;
  const bool is_space = c == '\t' || c == '\n' || c == '\f' || c == '\r' || c == 0x1680 ||
                        in(0x200B, 0x200F) || c == 0x2028 || c == 0x2029 || c == 0x2581 ||
                        c == 0xFEFF || c == 0xFFFD;
  AppendCharacter(is_space ? U' ' : c, text);
}

// Looks up grapheme clusters of at most five bytes, then characters: the library's order.
absl::Status MapGraphemes(const CharacterMap& map, std::string& text, std::string& spare,
                          Alignment* alignment) {
  constexpr size_t kLongestCluster = 5;
  spare.clear();
  const auto write = [&](std::string_view chunk, std::string_view written) {
    spare.append(written);
    const auto begin = static_cast<size_t>(chunk.data() - text.data());
    if (alignment != nullptr) alignment->Take(written.size(), begin, begin + chunk.size());
  };
  RETURN_IF_ERROR(VisitGraphemes(text, [&](std::string_view cluster) {
    if (cluster.size() <= kLongestCluster) {
      if (const auto found = map.Find(cluster)) return write(cluster, *found);
    }
    for (size_t at = 0; at < cluster.size();) {
      const size_t begin = at;
      NextCharacter(cluster, at);
      const std::string_view character = cluster.substr(begin, at - begin);
      write(character, map.Find(character).value_or(character));
    }
  }));
  if (alignment != nullptr) alignment->Finish();
  text.swap(spare);
  return absl::OkStatus();
}

// What stands before the first character was made from it.
void PrependText(const std::string& before, std::string& text, Alignment* alignment) {
  if (alignment != nullptr) {
    size_t first = 0;
    NextCharacter(text, first);
    alignment->Take(before.size(), 0, first);
    alignment->Keep(0, text.size());
    alignment->Finish();
  }
  text.insert(0, before);
}

void StripSpaces(bool left, bool right, std::string& text, Alignment* alignment) {
  size_t begin = 0;
  for (size_t at = 0; left && at < text.size(); begin = at) {
    if (!IsWhiteSpace(NextCharacter(text, at))) break;
  }
  size_t end = begin;
  for (size_t at = begin; at < text.size();) {
    if (!IsWhiteSpace(NextCharacter(text, at))) end = at;
  }
  if (!right) end = text.size();
  if (alignment != nullptr) {
    alignment->Keep(begin, end);
    alignment->Finish();
  }
  text.resize(end);
  text.erase(0, begin);
}

// ICU says which spans of bytes it changed; each is a group of characters that belong together.
absl::Status TakeEdits(const icu::Edits& edits, Alignment& alignment) {
  UErrorCode error = U_ZERO_ERROR;
  icu::Edits::Iterator span = edits.getFineIterator();
  while (span.next(error) != 0) {
    const auto begin = static_cast<size_t>(span.sourceIndex());
    const size_t end = begin + static_cast<size_t>(span.oldLength());
    if (span.hasChange() != 0) {
      alignment.Take(static_cast<size_t>(span.newLength()), begin, end);
    } else {
      alignment.Keep(begin, end);
    }
  }
  alignment.Finish();
  return U_SUCCESS(error) ? absl::OkStatus() : absl::InternalError(u_errorName(error));
}

}  // namespace

absl::Status Normalizer::ToForm(Form form, std::string& text, std::string& spare,
                                Alignment* alignment) {
  if (IsAscii(text)) return absl::OkStatus();
  UErrorCode error = U_ZERO_ERROR;
  const icu::Normalizer2* normalizer = nullptr;
  switch (form) {
    case Form::kNfc:
      normalizer = icu::Normalizer2::getNFCInstance(error);
      break;
    case Form::kNfd:
      normalizer = icu::Normalizer2::getNFDInstance(error);
      break;
    case Form::kNfkc:
      normalizer = icu::Normalizer2::getNFKCInstance(error);
      break;
    case Form::kNfkd:
      normalizer = icu::Normalizer2::getNFKDInstance(error);
      break;
  }
  if (U_SUCCESS(error) && text.size() < INT32_MAX / 4) {
    spare.clear();
    icu::StringByteSink<std::string> sink(&spare);
    icu::Edits edits;
    normalizer->normalizeUTF8(0, icu::StringPiece(text.data(), static_cast<int32_t>(text.size())),
                              sink, alignment == nullptr ? nullptr : &edits, error);
    if (U_SUCCESS(error)) {
      text.swap(spare);
      return alignment == nullptr ? absl::OkStatus() : TakeEdits(edits, *alignment);
    }
  }
  return absl::ResourceExhaustedError(
      StrCat("ICU cannot normalize a text of ", text.size(), " bytes: ", u_errorName(error)));
}

absl::StatusOr<Normalizer::Step> Normalizer::ReadStep(const Part& part) {
  ObjectReader reader(part.document, part.value, part.path);
  if (part.type == "NFC") return Form::kNfc;
  if (part.type == "NFD") return Form::kNfd;
  if (part.type == "NFKC") return Form::kNfkc;
  if (part.type == "NFKD") return Form::kNfkd;
  if (part.type == "Lowercase") return Lowercase{};
  if (part.type == "StripAccents") return StripAccents{};
  if (part.type == "Nmt") return Nmt{};
  if (part.type == "Precompiled") {
    std::string base64;
    reader.Required("precompiled_charsmap", &base64);
    RETURN_IF_ERROR(reader.FinishIgnoringUnknown());
    absl::StatusOr<CharacterMap> map = CharacterMap::Parse(base64);
    if (!map.ok()) return part.Error(StrCat(map.status().message()));
    return *std::move(map);
  }
  if (part.type == "Prepend") {
    Prepend prepend;
    reader.Required("prepend", &prepend.text);
    RETURN_IF_ERROR(reader.FinishIgnoringUnknown());
    return prepend;
  }
  if (part.type == "Strip") {
    Strip strip;
    reader.Required("strip_left", &strip.left);
    reader.Required("strip_right", &strip.right);
    RETURN_IF_ERROR(reader.FinishIgnoringUnknown());
    return strip;
  }
  if (part.type == "Replace") {
    std::string content;
    reader.Required("content", &content);
    RETURN_IF_ERROR(reader.FinishIgnoringUnknown());
    ASSIGN_OR_RETURN(Pattern pattern, ReadPattern(part, "pattern"));
    return Replace{std::move(pattern), std::move(content)};
  }
  return RefuseType(part, kKnown);
}

absl::StatusOr<Normalizer> Normalizer::Read(const Document& document) {
  Normalizer normalizer;
  ASSIGN_OR_RETURN(const std::vector<Part> parts, ListParts(document, "normalizer", "normalizers"));
  for (const Part& part : parts) {
    ASSIGN_OR_RETURN(Step step, ReadStep(part));
    normalizer.steps_.push_back(std::move(step));
  }
  return normalizer;
}

absl::Status Normalizer::Apply(std::string& text, TextPosition position, MatchMemory& memory,
                               std::string& spare, Alignment* alignment) const {
  for (const Step& step : steps_) {
    if (text.empty()) return absl::OkStatus();
    RETURN_IF_ERROR(ApplyStep(step, text, position, memory, spare, alignment));
  }
  return absl::OkStatus();
}

absl::Status Normalizer::ApplyStep(const Step& step, std::string& text, TextPosition position,
                                   MatchMemory& memory, std::string& spare,
                                   Alignment* alignment) const {
  if (const Form* form = std::get_if<Form>(&step)) return ToForm(*form, text, spare, alignment);
  if (const auto* map = std::get_if<CharacterMap>(&step)) {
    return MapGraphemes(*map, text, spare, alignment);
  }
  if (std::holds_alternative<Lowercase>(step)) {
    MapCharacters(text, spare, alignment, AppendLowerCase);
  } else if (std::holds_alternative<Nmt>(step)) {
    MapCharacters(text, spare, alignment, AppendForTranslation);
  } else if (std::holds_alternative<StripAccents>(step)) {
    MapCharacters(text, spare, alignment, [](char32_t character, std::string& out) {
      if (!IsMark(character)) AppendCharacter(character, out);
    });
  } else if (const auto* prepend = std::get_if<Prepend>(&step)) {
    if (position == TextPosition::kStart) PrependText(prepend->text, text, alignment);
  } else if (const auto* strip = std::get_if<Strip>(&step)) {
    StripSpaces(strip->left && position == TextPosition::kStart, strip->right, text, alignment);
  } else {
    return ReplaceMatches(std::get<Replace>(step), text, memory, spare, alignment);
  }
  return absl::OkStatus();
}

// As in the library, what is put in place of a match comes from the last character of it, or of
// what is before it where the match is empty.
absl::Status Normalizer::ReplaceMatches(const Replace& replace, std::string& text,
                                        MatchMemory& memory, std::string& spare,
                                        Alignment* alignment) {
  spare.clear();
  RETURN_IF_ERROR(
      VisitMatches(replace.pattern, text, memory, [&](std::string_view part, bool is_match) {
        spare.append(is_match ? replace.content : part);
        if (alignment == nullptr) return absl::OkStatus();
        const auto begin = static_cast<size_t>(part.data() - text.data());
        const size_t end = begin + part.size();
        if (is_match) {
          alignment->Take(replace.content.size(), LastCharacterBegin(text, end), end);
        } else {
          alignment->Keep(begin, end);
        }
        return absl::OkStatus();
      }));
  if (alignment != nullptr) alignment->Finish();
  text.swap(spare);
  return absl::OkStatus();
}

}  // namespace horizon
