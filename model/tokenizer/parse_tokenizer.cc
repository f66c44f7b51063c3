#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "common/status_macros.h"
#include "common/text/quote.h"
#include "common/text/str_cat.h"
#include "model/tokenizer/load_tokenizer.h"
#include "model/tokenizer/pipeline_tokenizer.h"
#include "model/tokenizer/text/byte_hash.h"
#include "model/tokenizer/tokenizer_json.h"

namespace horizon {
namespace {

// Part of every fingerprint: raised when this code gives other ids to the same file.
constexpr uint64_t kIdsVersion = 1;

// Reads one tokenizer.json; the parts come out checked.
class Parser {
 public:
  explicit Parser(TokenizerJson json) : json_(std::move(json)) {}

  absl::StatusOr<PipelineTokenizerParts> Run() {
    ASSIGN_OR_RETURN(const bool is_unigram, CheckModel());
    ASSIGN_OR_RETURN(parts_.normalizer, Normalizer::Read(json_.document));
    ASSIGN_OR_RETURN(parts_.pre_tokenizer, PreTokenizer::Read(json_.document));
    ASSIGN_OR_RETURN(parts_.post_processor, PostProcessor::Read(json_.document));
    ASSIGN_OR_RETURN(parts_.decoder, Decoder::Read(json_.document));
    RETURN_IF_ERROR(ReadVocabulary());
    RETURN_IF_ERROR(ReadAddedTokens());
    RETURN_IF_ERROR(is_unigram ? ReadUnigram() : ReadBpe());
    return std::move(parts_);
  }

 private:
  absl::Status ErrorOnLine(int line, std::string_view message) const {
    return absl::InvalidArgumentError(StrCat(json_.document.file, ":", line, ": ", message));
  }

  const Value* Model() const { return json_.document.root.Find("model"); }

  // Whether the model is a Unigram one; others are BPE.
  absl::StatusOr<bool> CheckModel() const {
    const Value* model = Model();
    if (model == nullptr || model->As<Value::Object>() == nullptr) {
      return ErrorAt(json_.document, json_.document.root, "model", "is missing or no object");
    }
    std::string type = "BPE";
    ObjectReader reader(json_.document, *model, "model");
    reader.Optional("type", &type);
    RETURN_IF_ERROR(reader.FinishIgnoringUnknown());
    if (type != "BPE" && type != "Unigram") {
      return ErrorAt(json_.document, *model, "model.type",
                     StrCat("a tokenizer of type ", Quoted(type),
                            " is not supported; use a model whose tokenizer is of type BPE or "
                            "Unigram, or tokenize with --tokenizer byte"));
    }
    const bool is_unigram = type == "Unigram";
    if (is_unigram && json_.vocab != TokenizerJson::VocabKind::kScores) {
      return ErrorAt(json_.document, *model, "model.vocab",
                     "a Unigram model needs an array of pieces and scores");
    }
    if (!is_unigram && json_.vocab != TokenizerJson::VocabKind::kIds) {
      return ErrorAt(json_.document, *model, "model.vocab",
                     "a BPE model needs an object of tokens and ids");
    }
    if (!is_unigram && json_.merge_list != TokenizerJson::Kind::kRight) {
      return ErrorAt(json_.document, *model, "model.merges", "a BPE model needs an array");
    }
    return is_unigram;
  }

  absl::Status ReadVocabulary() {
    parts_.vocabulary = std::make_unique<Vocabulary>();
    parts_.vocabulary->Reserve(json_.tokens.size(), json_.text.size());
    for (const TokenizerJson::Token& token : json_.tokens) {
      const std::string_view text = json_.TextOf(token);
      switch (parts_.vocabulary->Add(text, token.id)) {
        case Vocabulary::AddResult::kAdded:
          break;
        case Vocabulary::AddResult::kTokenIsThere:
          // Trainers leave a special token that they learnt, too, in a list of pieces twice.
          if (json_.vocab == TokenizerJson::VocabKind::kScores) {
            parts_.vocabulary->AddAnotherId(text, token.id);
            break;
          }
          return ErrorOnLine(
              token.line, StrCat("model.vocab: the token ", Quoted(text), " stands there twice"));
        case Vocabulary::AddResult::kIdIsTaken:
          return ErrorOnLine(
              token.line,
              StrCat("model.vocab: the id ", token.id, " belongs to both ",
                     Quoted(parts_.vocabulary->TokenOf(token.id)), " and ", Quoted(text)));
      }
    }
    return absl::OkStatus();
  }

  absl::Status ReadAddedTokens() {
    const Value* list = json_.document.root.Find("added_tokens");
    if (list == nullptr || list->is_null()) return absl::OkStatus();
    const Value::Array* array = list->As<Value::Array>();
    if (array == nullptr) {
      return ErrorAt(json_.document, *list, "added_tokens", "needs an array");
    }
    absl::flat_hash_set<std::string> contents;
    absl::flat_hash_set<int32_t> ids;
    for (size_t i = 0; i < array->size(); ++i) {
      const std::string path = StrCat("added_tokens[", i, "]");
      ASSIGN_OR_RETURN(AddedToken token, ReadAddedToken((*array)[i], path));
      // The library passes over such tokens too.
      if (token.content.empty()) continue;
      if (!contents.insert(token.content).second || !ids.insert(token.id).second) {
        return ErrorAt(json_.document, (*array)[i], path,
                       StrCat("the token ", Quoted(token.content), " or the id ", token.id,
                              " stands there twice"));
      }
      parts_.added.push_back(std::move(token));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<AddedToken> ReadAddedToken(const Value& value, const std::string& path) const {
    AddedToken token;
    int64_t id = 0;
    ObjectReader reader(json_.document, value, path);
    reader.Required("content", &token.content);
    reader.Required("id", &id);
    reader.Optional("special", &token.special);
    token.normalized = !token.special;
    reader.Optional("normalized", &token.normalized);
    reader.Optional("single_word", &token.single_word);
    reader.Optional("lstrip", &token.lstrip);
    reader.Optional("rstrip", &token.rstrip);
    RETURN_IF_ERROR(reader.FinishIgnoringUnknown());
    if (id < 0 || id >= INT32_MAX) {
      return ErrorAt(json_.document, value, path, "the id must be from 0 to 2^31 - 2");
    }
    token.id = static_cast<int32_t>(id);
    const std::optional<int32_t> known = parts_.vocabulary->IdOf(token.content);
    const std::string_view holder = parts_.vocabulary->TokenOf(token.id);
    if (known.has_value() ? *known != token.id : !holder.empty() && holder != token.content) {
      return ErrorAt(json_.document, value, path,
                     StrCat("the token ", Quoted(token.content), " with id ", token.id,
                            " contradicts model.vocab"));
    }
    return token;
  }

  absl::Status ReadBpe() {
    const Value& model = *Model();
    double dropout = 0;
    std::string prefix;
    std::string suffix;
    std::string unknown;
    BpeOptions options;
    ObjectReader reader(json_.document, model, "model");
    reader.OptionalOrNull("dropout", &dropout);
    reader.OptionalOrNull("continuing_subword_prefix", &prefix);
    reader.OptionalOrNull("end_of_word_suffix", &suffix);
    reader.OptionalOrNull("unk_token", &unknown);
    reader.OptionalOrNull("fuse_unk", &options.fuses_unknown);
    reader.OptionalOrNull("byte_fallback", &options.byte_fallback);
    reader.OptionalOrNull("ignore_merges", &options.ignores_merges);
    if (dropout != 0) {
      reader.Fail("dropout", "is not supported (ids would be random); set it to null");
    }
    if (!prefix.empty()) reader.Fail("continuing_subword_prefix", "is not supported unless empty");
    if (!suffix.empty()) reader.Fail("end_of_word_suffix", "is not supported unless empty");
    if (!unknown.empty()) {
      options.unknown_id = parts_.vocabulary->IdOf(unknown);
      if (!options.unknown_id.has_value()) {
        reader.Fail("unk_token", StrCat(Quoted(unknown), " is not in model.vocab"));
      }
    }
    RETURN_IF_ERROR(reader.FinishIgnoringUnknown());
    parts_.unknown_id = options.unknown_id;
    parts_.bpe = std::make_unique<Bpe>(*parts_.vocabulary, options);
    parts_.bpe->ReserveMerges(json_.merges.size());
    for (size_t rank = 0; rank < json_.merges.size(); ++rank) {
      RETURN_IF_ERROR(AddMerge(json_.merges[rank], static_cast<uint32_t>(rank)));
    }
    if (parts_.pre_tokenizer.spells_bytes() && parts_.bpe->ReadBytes()) {
      parts_.pre_tokenizer.LeaveBytes();
    }
    return absl::OkStatus();
  }

  absl::Status ReadUnigram() {
    int64_t unknown = -1;
    UnigramOptions options;
    ObjectReader reader(json_.document, *Model(), "model");
    reader.OptionalOrNull("unk_id", &unknown);
    reader.OptionalOrNull("byte_fallback", &options.byte_fallback);
    if (unknown < 0 || unknown >= static_cast<int64_t>(json_.tokens.size())) {
      reader.Fail("unk_id",
                  StrCat("needs the place of the unknown token in model.vocab, which has ",
                         json_.tokens.size(), " pieces"));
    }
    RETURN_IF_ERROR(reader.FinishIgnoringUnknown());
    options.unknown_id = static_cast<int32_t>(unknown);
    parts_.unknown_id = options.unknown_id;
    parts_.unigram = std::make_unique<Unigram>(*parts_.vocabulary, json_.scores, options);
    return absl::OkStatus();
  }

  absl::Status AddMerge(const TokenizerJson::Merge& merge, uint32_t rank) {
    const std::string_view whole =
        std::string_view(json_.text).substr(merge.begin, merge.left_size + merge.right_size);
    const std::string_view left = whole.substr(0, merge.left_size);
    const std::string_view right = whole.substr(merge.left_size);
    const std::optional<int32_t> left_id = parts_.vocabulary->IdOf(left);
    const std::optional<int32_t> right_id = parts_.vocabulary->IdOf(right);
    const std::optional<int32_t> merged_id = parts_.vocabulary->IdOf(whole);
    if (left_id.has_value() && right_id.has_value() && merged_id.has_value()) {
      parts_.bpe->AddMerge(*left_id, *right_id, rank, *merged_id);
      return absl::OkStatus();
    }
    const std::string_view missing = !left_id.has_value()    ? left
                                     : !right_id.has_value() ? right
                                                             : whole;
    return ErrorOnLine(merge.line, StrCat("model.merges[", rank, "]: the merge of ", Quoted(left),
                                          " and ", Quoted(right), " needs the token ",
                                          Quoted(missing), ", which is not in model.vocab"));
  }

  TokenizerJson json_;
  PipelineTokenizerParts parts_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Tokenizer>> ParseTokenizer(std::string_view text,
                                                          std::string_view where) {
  ASSIGN_OR_RETURN(TokenizerJson json, ReadTokenizerJson(text, where));
  ASSIGN_OR_RETURN(PipelineTokenizerParts parts, Parser(std::move(json)).Run());
  parts.fingerprint = HashBytes(text, kIdsVersion);
  return PipelineTokenizer::Create(std::move(parts));
}

}  // namespace horizon
