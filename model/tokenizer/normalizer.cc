#include "model/tokenizer/normalizer.h"

#include <unicode/bytestream.h>
#include <unicode/normalizer2.h>

#include <utility>

#include "common/status_macros.h"
#include "common/str_cat.h"
#include "model/tokenizer/part_reader.h"
#include "model/tokenizer/unicode_text.h"

namespace horizon {
namespace {

constexpr std::string_view kKnown =
    "NFC, NFD, NFKC, NFKD, Lowercase, Prepend, Replace, Strip, StripAccents and Sequence";

// Makes `text` what `change` appends for each of its characters.
template <typename Change>
void MapCharacters(std::string& text, std::string& spare, Change change) {
  spare.clear();
  for (size_t at = 0; at < text.size();) change(NextCharacter(text, at), spare);
  text.swap(spare);
}

void StripSpaces(bool left, bool right, std::string& text) {
  size_t begin = 0;
  for (size_t at = 0; left && at < text.size(); begin = at) {
    if (!IsWhiteSpace(NextCharacter(text, at))) break;
  }
  size_t end = begin;
  for (size_t at = begin; at < text.size();) {
    if (!IsWhiteSpace(NextCharacter(text, at))) end = at;
  }
  if (right) text.resize(end);
  text.erase(0, begin);
}

}  // namespace

absl::Status Normalizer::ToForm(Form form, std::string& text, std::string& spare) {
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
    normalizer->normalizeUTF8(0, icu::StringPiece(text.data(), static_cast<int32_t>(text.size())),
                              sink, nullptr, error);
    if (U_SUCCESS(error)) {
      text.swap(spare);
      return absl::OkStatus();
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
                               std::string& spare) const {
  for (const Step& step : steps_) {
    if (text.empty()) return absl::OkStatus();
    if (const Form* form = std::get_if<Form>(&step)) {
      RETURN_IF_ERROR(ToForm(*form, text, spare));
    } else if (std::holds_alternative<Lowercase>(step)) {
      MapCharacters(text, spare, AppendLowerCase);
    } else if (std::holds_alternative<StripAccents>(step)) {
      MapCharacters(text, spare, [](char32_t character, std::string& out) {
        if (!IsMark(character)) AppendCharacter(character, out);
      });
    } else if (const auto* prepend = std::get_if<Prepend>(&step)) {
      if (position == TextPosition::kStart) text.insert(0, prepend->text);
    } else if (const auto* strip = std::get_if<Strip>(&step)) {
      StripSpaces(strip->left && position == TextPosition::kStart, strip->right, text);
    } else {
      const auto& replace = std::get<Replace>(step);
      spare.clear();
      RETURN_IF_ERROR(
          VisitMatches(replace.pattern, text, memory, [&](std::string_view part, bool is_match) {
            spare.append(is_match ? replace.content : part);
            return absl::OkStatus();
          }));
      text.swap(spare);
    }
  }
  return absl::OkStatus();
}

}  // namespace horizon
