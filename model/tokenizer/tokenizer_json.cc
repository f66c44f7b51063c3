#include "model/tokenizer/tokenizer_json.h"

#include <charconv>
#include <limits>
#include <optional>
#include <utility>

#include "common/documents/document_builder.h"
#include "common/documents/json.h"
#include "common/status_macros.h"
#include "common/text/quote.h"
#include "common/text/str_cat.h"
#include "common/units.h"
#include "model/tokenizer/text/rust_number.h"

namespace horizon {
namespace {

constexpr DocumentLimits kLimits = {.text = 64_MiB};

// Follows the nesting, takes model.vocab and model.merges for itself and hands the rest to a
// DocumentBuilder.
class Handler : public JsonHandler {
 public:
  explicit Handler(DocumentBuilder& builder, TokenizerJson& result)
      : builder_(builder), result_(result) {}

  absl::Status OnBeginObject() override {
    if (place_ == Place::kElsewhere && AtVocab()) {
      result_.vocab = TokenizerJson::VocabKind::kIds;
      return Enter(Place::kVocab);
    }
    if (place_ == Place::kElsewhere && AtMerges()) {
      result_.merge_list = TokenizerJson::Kind::kInvalid;
      return Enter(Place::kSkipped);
    }
    RETURN_IF_ERROR(Nested("an object"));
    ++depth_;
    return place_ == Place::kElsewhere ? builder_.BeginObject(line) : absl::OkStatus();
  }
  absl::Status OnBeginArray() override {
    if (place_ == Place::kElsewhere && AtVocab()) {
      result_.vocab = TokenizerJson::VocabKind::kScores;
      return Enter(Place::kPieces);
    }
    if (place_ == Place::kElsewhere && AtMerges()) {
      result_.merge_list = TokenizerJson::Kind::kValid;
      return Enter(Place::kMerges);
    }
    ++depth_;
    if (place_ == Place::kMerges && depth_ == kInside + 1) return BeginPair();
    if (place_ == Place::kPieces && depth_ == kInside + 1) return BeginPiece();
    RETURN_IF_ERROR(Nested("an array"));
    return place_ == Place::kElsewhere ? builder_.BeginArray(line) : absl::OkStatus();
  }
  absl::Status OnEndObject() override { return End(/*is_object=*/true); }
  absl::Status OnEndArray() override { return End(/*is_object=*/false); }

  absl::Status OnKey(std::string_view key) override {
    if (place_ == Place::kSkipped) return absl::OkStatus();
    if (place_ == Place::kVocab) {
      pending_ = {.begin = Keep(key), .size = static_cast<uint32_t>(key.size()), .line = line};
      return absl::OkStatus();
    }
    if (depth_ == 1) in_model_ = key == "model";
    if (depth_ == 2) key_ = key;
    return builder_.Key(key, line);
  }
  absl::Status OnString(std::string_view text) override {
    if (place_ == Place::kMerges) return OnMergeText(text);
    if (place_ == Place::kPieces && in_pair_ && pair_parts_ == 0) return OnPieceText(text);
    RETURN_IF_ERROR(Nested("a string"));
    return Scalar(std::string(text));
  }
  absl::Status OnNumber(std::string_view literal) override {
    if (place_ == Place::kVocab) return OnId(literal);
    if (place_ == Place::kPieces && in_pair_ && pair_parts_ == 1) return OnScore(literal);
    RETURN_IF_ERROR(Nested("a number"));
    return place_ == Place::kElsewhere ? builder_.Number(literal, line) : absl::OkStatus();
  }
  absl::Status OnBool(bool value) override {
    RETURN_IF_ERROR(Nested("true or false"));
    return Scalar(value);
  }
  absl::Status OnNull() override {
    RETURN_IF_ERROR(Nested("null"));
    return Scalar(nullptr);
  }

 private:
  enum class Place { kElsewhere, kVocab, kPieces, kMerges, kSkipped };
  static constexpr int kInside = 3;  // the depth inside model.vocab and model.merges

  bool AtVocab() const { return in_model_ && depth_ == 2 && key_ == "vocab"; }
  bool AtMerges() const { return in_model_ && depth_ == 2 && key_ == "merges"; }

  absl::Status Enter(Place place) {
    place_ = place;
    ++depth_;
    return builder_.Scalar(nullptr, line);
  }

  absl::Status End(bool is_object) {
    --depth_;
    if (place_ == Place::kElsewhere) {
      return is_object ? builder_.EndObject() : builder_.EndArray();
    }
    if (depth_ == kInside - 1) place_ = Place::kElsewhere;
    if (place_ == Place::kPieces && pair_parts_ != 2) return PieceError("found less");
    if (place_ == Place::kMerges && pair_parts_ != 2) {
      return builder_.ErrorOnLine(line, "model.merges: a merge needs two parts");
    }
    in_pair_ = false;
    return absl::OkStatus();
  }

  // An error where a value of this kind cannot stand.
  absl::Status Nested(std::string_view found) const {
    if (place_ == Place::kVocab) {
      return builder_.ErrorOnLine(line, StrCat("model.vocab: an id is an integer, found ", found));
    }
    if (place_ == Place::kPieces) return PieceError(StrCat("found ", found));
    if (place_ == Place::kMerges) {
      return builder_.ErrorOnLine(
          line, StrCat("model.merges: a merge is \"a b\" or [\"a\", \"b\"], found ", found));
    }
    return absl::OkStatus();
  }

  absl::Status Scalar(Value::Storage value) {
    if (place_ != Place::kElsewhere) return absl::OkStatus();
    if (AtVocab() && !std::holds_alternative<std::nullptr_t>(value)) {
      result_.vocab = TokenizerJson::VocabKind::kInvalid;
    }
    if (AtMerges() && !std::holds_alternative<std::nullptr_t>(value)) {
      result_.merge_list = TokenizerJson::Kind::kInvalid;
    }
    return builder_.Scalar(std::move(value), line);
  }

  // The text is at most as long as the file, whose length fits.
  uint32_t Keep(std::string_view text) {
    const auto begin = static_cast<uint32_t>(result_.text.size());
    result_.text.append(text);
    return begin;
  }

  absl::Status OnId(std::string_view literal) {
    int32_t id = 0;
    const auto [end, error] = std::from_chars(literal.data(), literal.data() + literal.size(), id);
    if (error != std::errc() || end != literal.data() + literal.size() || id < 0 ||
        id == std::numeric_limits<int32_t>::max() || literal.starts_with("-")) {
      return builder_.ErrorOnLine(
          line, StrCat("model.vocab: the id of ", Quoted(result_.TextOf(pending_)),
                       " must be an integer from 0 to 2^31 - 2, found ", Quoted(literal)));
    }
    pending_.id = id;
    result_.tokens.push_back(pending_);
    return absl::OkStatus();
  }

  absl::Status PieceError(std::string_view found) const {
    const size_t place = result_.tokens.size() - (in_pair_ && pair_parts_ == 2 ? 1 : 0);
    return builder_.ErrorOnLine(
        line,
        StrCat("model.vocab[", place, "]: a piece is [\"text\", score] in an array, ", found));
  }

  absl::Status BeginPiece() {
    in_pair_ = true;
    pair_parts_ = 0;
    return absl::OkStatus();
  }

  absl::Status OnPieceText(std::string_view text) {
    pending_ = {.begin = Keep(text), .size = static_cast<uint32_t>(text.size()), .line = line};
    pair_parts_ = 1;
    return absl::OkStatus();
  }

  // Ids are the places in the array, which is shorter than the file.
  absl::Status OnScore(std::string_view literal) {
    const std::optional<double> score = ReadLikeSerde(literal);
    if (!score.has_value()) return PieceError(StrCat("found the score ", Quoted(literal)));
    pending_.id = static_cast<int32_t>(result_.tokens.size());
    result_.tokens.push_back(pending_);
    result_.scores.push_back(*score);
    pair_parts_ = 2;
    return absl::OkStatus();
  }

  absl::Status BeginPair() {
    in_pair_ = true;
    pair_parts_ = 0;
    result_.merges.push_back({.begin = static_cast<uint32_t>(result_.text.size()), .line = line});
    return absl::OkStatus();
  }

  absl::Status OnMergeText(std::string_view text) {
    if (in_pair_) {
      ++pair_parts_;
      if (pair_parts_ > 2) {
        return builder_.ErrorOnLine(line, "model.merges: a merge needs two parts");
      }
      Keep(text);
      TokenizerJson::Merge& merge = result_.merges.back();
      (pair_parts_ == 1 ? merge.left_size : merge.right_size) = static_cast<uint32_t>(text.size());
      return absl::OkStatus();
    }
    const size_t space = text.find(' ');
    if (space == std::string_view::npos || text.find(' ', space + 1) != std::string_view::npos) {
      return builder_.ErrorOnLine(
          line, StrCat("model.merges: ", Quoted(text), " is not two parts with one space between"));
    }
    pair_parts_ = 2;
    const uint32_t begin = Keep(text.substr(0, space));
    Keep(text.substr(space + 1));
    result_.merges.push_back({.begin = begin,
                              .left_size = static_cast<uint32_t>(space),
                              .right_size = static_cast<uint32_t>(text.size() - space - 1),
                              .line = line});
    return absl::OkStatus();
  }

  DocumentBuilder& builder_;
  TokenizerJson& result_;
  Place place_ = Place::kElsewhere;
  int depth_ = 0;
  bool in_model_ = false;  // below the last key of the root
  std::string key_;        // the last key at depth 2
  TokenizerJson::Token pending_;
  bool in_pair_ = false;
  int pair_parts_ = 0;
};

}  // namespace

absl::StatusOr<TokenizerJson> ReadTokenizerJson(std::string_view text, std::string_view where) {
  RETURN_IF_ERROR(DocumentBuilder::CheckSize(where, text, kLimits));
  TokenizerJson result;
  DocumentBuilder builder(std::string(where), kLimits);
  Handler handler(builder, result);
  RETURN_IF_ERROR(ParseJsonEvents(where, text, kLimits.depth, handler));
  result.document = std::move(builder).Finish();
  if (result.document.root.As<Value::Object>() == nullptr) {
    return ErrorAt(result.document, result.document.root, "", "needs an object");
  }
  return result;
}

}  // namespace horizon
