#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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

enum class ModelType { kBpe, kUnigram };

absl::Status ErrorOnLine(const TokenizerJson& json, int line, std::string_view message) {
  return absl::InvalidArgumentError(StrCat(json.document.file, ":", line, ": ", message));
}

const Value* ModelOf(const TokenizerJson& json) { return json.document.root.Find("model"); }

// Reads model.type and checks that the vocabulary and the merges are what that type needs.
absl::StatusOr<ModelType> ReadModelType(const TokenizerJson& json) {
  const Value* model = ModelOf(json);
  if (model == nullptr || model->As<Value::Object>() == nullptr) {
    return ErrorAt(json.document, json.document.root, "model", "is missing or no object");
  }
  std::string type = "BPE";
  ObjectReader reader(json.document, *model, "model");
  reader.Optional("type", &type);
  RETURN_IF_ERROR(reader.FinishIgnoringUnknown());
  if (type != "BPE" && type != "Unigram") {
    return ErrorAt(json.document, *model, "model.type",
                   StrCat("a tokenizer of type ", Quoted(type),
                          " is not supported; use a model whose tokenizer is of type BPE or "
                          "Unigram, or tokenize with --tokenizer byte"));
  }
  const bool is_unigram = type == "Unigram";
  if (is_unigram && json.vocab != TokenizerJson::VocabKind::kScores) {
    return ErrorAt(json.document, *model, "model.vocab",
                   "a Unigram model needs an array of pieces and scores");
  }
  if (!is_unigram && json.vocab != TokenizerJson::VocabKind::kIds) {
    return ErrorAt(json.document, *model, "model.vocab",
                   "a BPE model needs an object of tokens and ids");
  }
  if (!is_unigram && json.merge_list != TokenizerJson::Kind::kValid) {
    return ErrorAt(json.document, *model, "model.merges", "a BPE model needs an array");
  }
  return is_unigram ? ModelType::kUnigram : ModelType::kBpe;
}

absl::StatusOr<std::unique_ptr<Vocabulary>> ReadVocabulary(const TokenizerJson& json) {
  auto vocabulary = std::make_unique<Vocabulary>();
  vocabulary->Reserve(json.tokens.size(), json.text.size());
  for (const TokenizerJson::Token& token : json.tokens) {
    const std::string_view text = json.TextOf(token);
    switch (vocabulary->Add(text, token.id)) {
      case Vocabulary::AddResult::kAdded:
        break;
      case Vocabulary::AddResult::kTokenIsThere:
        // A trainer that also learned a special token as a piece lists it twice.
        if (json.vocab == TokenizerJson::VocabKind::kScores) {
          vocabulary->AddAnotherId(text, token.id);
          break;
        }
        return ErrorOnLine(json, token.line,
                           StrCat("model.vocab: the token ", Quoted(text), " stands there twice"));
      case Vocabulary::AddResult::kIdIsTaken:
        return ErrorOnLine(json, token.line,
                           StrCat("model.vocab: the id ", token.id, " belongs to both ",
                                  Quoted(vocabulary->TokenOf(token.id)), " and ", Quoted(text)));
    }
  }
  return vocabulary;
}

absl::StatusOr<AddedToken> ReadAddedToken(const TokenizerJson& json, const Vocabulary& vocabulary,
                                          const Value& value, const std::string& path) {
  AddedToken token;
  int64_t id = 0;
  ObjectReader reader(json.document, value, path);
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
    return ErrorAt(json.document, value, path, "the id must be from 0 to 2^31 - 2");
  }
  token.id = static_cast<int32_t>(id);
  const std::optional<int32_t> known = vocabulary.IdOf(token.content);
  const std::string_view holder = vocabulary.TokenOf(token.id);
  if (known.has_value() ? *known != token.id : !holder.empty() && holder != token.content) {
    return ErrorAt(json.document, value, path,
                   StrCat("the token ", Quoted(token.content), " with id ", token.id,
                          " contradicts model.vocab"));
  }
  return token;
}

absl::StatusOr<std::vector<AddedToken>> ReadAddedTokens(const TokenizerJson& json,
                                                        const Vocabulary& vocabulary) {
  std::vector<AddedToken> added;
  const Value* list = json.document.root.Find("added_tokens");
  if (list == nullptr || list->is_null()) return added;
  const Value::Array* array = list->As<Value::Array>();
  if (array == nullptr) {
    return ErrorAt(json.document, *list, "added_tokens", "needs an array");
  }
  absl::flat_hash_set<std::string> contents;
  absl::flat_hash_set<int32_t> ids;
  for (size_t i = 0; i < array->size(); ++i) {
    const std::string path = StrCat("added_tokens[", i, "]");
    ASSIGN_OR_RETURN(AddedToken token, ReadAddedToken(json, vocabulary, (*array)[i], path));
    // The Hugging Face library skips such tokens too.
    if (token.content.empty()) continue;
    if (!contents.insert(token.content).second || !ids.insert(token.id).second) {
      return ErrorAt(json.document, (*array)[i], path,
                     StrCat("the token ", Quoted(token.content), " or the id ", token.id,
                            " stands there twice"));
    }
    added.push_back(std::move(token));
  }
  return added;
}

absl::Status AddMerge(const TokenizerJson& json, const Vocabulary& vocabulary,
                      const TokenizerJson::Merge& merge, uint32_t rank, Bpe& bpe) {
  const std::string_view whole =
      std::string_view(json.text).substr(merge.begin, merge.left_size + merge.right_size);
  const std::string_view left = whole.substr(0, merge.left_size);
  const std::string_view right = whole.substr(merge.left_size);
  const std::optional<int32_t> left_id = vocabulary.IdOf(left);
  const std::optional<int32_t> right_id = vocabulary.IdOf(right);
  const std::optional<int32_t> merged_id = vocabulary.IdOf(whole);
  if (left_id.has_value() && right_id.has_value() && merged_id.has_value()) {
    bpe.AddMerge(*left_id, *right_id, rank, *merged_id);
    return absl::OkStatus();
  }
  const std::string_view missing = !left_id.has_value()    ? left
                                   : !right_id.has_value() ? right
                                                           : whole;
  return ErrorOnLine(
      json, merge.line,
      StrCat("model.merges[", rank, "]: the merge of ", Quoted(left), " and ", Quoted(right),
             " needs the token ", Quoted(missing), ", which is not in model.vocab"));
}

// Sets bpe and unknown_id. Where the vocabulary allows it, BPE then works on raw bytes, and the
// pre-tokenizer no longer rewrites them as characters.
absl::Status ReadBpe(const TokenizerJson& json, PipelineTokenizerParts& parts) {
  double dropout = 0;
  std::string prefix;
  std::string suffix;
  std::string unknown;
  BpeOptions options;
  ObjectReader reader(json.document, *ModelOf(json), "model");
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
    options.unknown_id = parts.vocabulary->IdOf(unknown);
    if (!options.unknown_id.has_value()) {
      reader.Fail("unk_token", StrCat(Quoted(unknown), " is not in model.vocab"));
    }
  }
  RETURN_IF_ERROR(reader.FinishIgnoringUnknown());
  parts.unknown_id = options.unknown_id;
  parts.bpe = std::make_unique<Bpe>(*parts.vocabulary, options);
  parts.bpe->ReserveMerges(json.merges.size());
  for (size_t rank = 0; rank < json.merges.size(); ++rank) {
    RETURN_IF_ERROR(AddMerge(json, *parts.vocabulary, json.merges[rank],
                             static_cast<uint32_t>(rank), *parts.bpe));
  }
  if (parts.pre_tokenizer.spells_bytes() && parts.bpe->UseRawBytes()) {
    parts.pre_tokenizer.EmitRawBytes();
  }
  return absl::OkStatus();
}

// Sets unigram and unknown_id.
absl::Status ReadUnigram(const TokenizerJson& json, PipelineTokenizerParts& parts) {
  int64_t unknown = -1;
  UnigramOptions options;
  ObjectReader reader(json.document, *ModelOf(json), "model");
  reader.OptionalOrNull("unk_id", &unknown);
  reader.OptionalOrNull("byte_fallback", &options.byte_fallback);
  if (unknown < 0 || unknown >= static_cast<int64_t>(json.tokens.size())) {
    reader.Fail("unk_id", StrCat("needs the place of the unknown token in model.vocab, which has ",
                                 json.tokens.size(), " pieces"));
  }
  RETURN_IF_ERROR(reader.FinishIgnoringUnknown());
  options.unknown_id = static_cast<int32_t>(unknown);
  parts.unknown_id = options.unknown_id;
  parts.unigram = std::make_unique<Unigram>(*parts.vocabulary, json.scores, options);
  return absl::OkStatus();
}

// Reads and checks all parts of a tokenizer.json, except the fingerprint.
absl::StatusOr<PipelineTokenizerParts> ReadParts(const TokenizerJson& json) {
  PipelineTokenizerParts parts;
  ASSIGN_OR_RETURN(const ModelType type, ReadModelType(json));
  ASSIGN_OR_RETURN(parts.normalizer, Normalizer::Read(json.document));
  ASSIGN_OR_RETURN(parts.pre_tokenizer, PreTokenizer::Read(json.document));
  ASSIGN_OR_RETURN(parts.post_processor, PostProcessor::Read(json.document));
  ASSIGN_OR_RETURN(parts.decoder, Decoder::Read(json.document));
  ASSIGN_OR_RETURN(parts.vocabulary, ReadVocabulary(json));
  ASSIGN_OR_RETURN(parts.added, ReadAddedTokens(json, *parts.vocabulary));
  RETURN_IF_ERROR(type == ModelType::kUnigram ? ReadUnigram(json, parts) : ReadBpe(json, parts));
  return parts;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Tokenizer>> ParseTokenizer(std::string_view text,
                                                          std::string_view where) {
  ASSIGN_OR_RETURN(const TokenizerJson json, ReadTokenizerJson(text, where));
  ASSIGN_OR_RETURN(PipelineTokenizerParts parts, ReadParts(json));
  parts.fingerprint = HashBytes(text, kIdsVersion);
  return PipelineTokenizer::Create(std::move(parts));
}

}  // namespace horizon
