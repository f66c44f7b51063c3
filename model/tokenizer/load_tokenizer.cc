#include "model/tokenizer/load_tokenizer.h"

#include <initializer_list>
#include <utility>

#include "common/document.h"
#include "common/json.h"
#include "common/quote.h"
#include "common/status_macros.h"
#include "common/str_cat.h"
#include "common/units.h"

namespace horizon {
namespace {

constexpr Bytes kLargestTokenizer = 64_MiB;

// A JSON file that may be missing.
absl::StatusOr<std::optional<Document>> ReadOptionalJson(Io& io, const std::string& path) {
  absl::StatusOr<std::string> text = ReadTextFile(io, path);
  if (absl::IsNotFound(text.status())) return std::nullopt;
  RETURN_IF_ERROR(text.status());
  ASSIGN_OR_RETURN(Document document, ParseJson(path, *text));
  if (document.root.As<Value::Object>() == nullptr) {
    return ErrorAt(document, document.root, "", "needs an object");
  }
  return document;
}

// "<s>" or {"content": "<s>", ...}; nothing if it is missing, null or something else.
std::optional<std::string> TokenText(const Document& document, std::string_view key) {
  const Value* value = document.root.Find(key);
  if (value != nullptr && value->As<Value::Object>() != nullptr) value = value->Find("content");
  const std::string* text = value == nullptr ? nullptr : value->As<std::string>();
  return text == nullptr ? std::nullopt : std::optional(*text);
}

// An id, or the first of an array of them.
std::optional<int32_t> TokenId(const Document& config, std::string_view key, int64_t limit) {
  const Value* value = config.root.Find(key);
  if (value == nullptr) return std::nullopt;
  if (const Value::Array* array = value->As<Value::Array>(); array != nullptr && !array->empty()) {
    value = &array->front();
  }
  const int64_t* id = value->As<int64_t>();
  if (id == nullptr || *id < 0 || *id >= limit) return std::nullopt;
  return static_cast<int32_t>(*id);
}

struct SideFiles {
  std::optional<Document> tokenizer_config;
  std::optional<Document> special_tokens_map;
  std::optional<Document> config;
};

// A token's id: as the files beside the tokenizer spell it, else as the model's config numbers it.
absl::StatusOr<std::optional<int32_t>> FindTokenId(const SideFiles& files,
                                                   const Tokenizer& tokenizer,
                                                   std::string_view name) {
  for (const auto* document : {&files.tokenizer_config, &files.special_tokens_map}) {
    if (!document->has_value()) continue;
    const std::optional<std::string> text = TokenText(**document, name);
    if (!text.has_value()) continue;
    const std::optional<int32_t> id = tokenizer.IdOf(*text);
    if (!id.has_value()) {
      return absl::InvalidArgumentError(StrCat((*document)->file, ": ", name, " is ", Quoted(*text),
                                               ", which is no token of tokenizer.json"));
    }
    return id;
  }
  if (!files.config.has_value()) return std::nullopt;
  return TokenId(*files.config, StrCat(name, "_id"), tokenizer.id_limit());
}

absl::StatusOr<std::string> ReadChatTemplate(Io& io, const std::string& folder,
                                             const std::optional<Document>& config) {
  const Value* value = config.has_value() ? config->root.Find("chat_template") : nullptr;
  if (value != nullptr) {
    if (const std::string* text = value->As<std::string>()) return *text;
    if (const Value::Array* list = value->As<Value::Array>()) {
      for (const Value& entry : *list) {
        const Value* name = entry.Find("name");
        const Value* body = entry.Find("template");
        if (name == nullptr || body == nullptr || name->As<std::string>() == nullptr) continue;
        if (*name->As<std::string>() != "default") continue;
        if (const std::string* text = body->As<std::string>()) return *text;
      }
    }
  }
  absl::StatusOr<std::string> text = ReadTextFile(io, JoinPath(folder, "chat_template.jinja"));
  if (absl::IsNotFound(text.status())) return std::string();
  return text;
}

absl::Status ExplainMissing(Io& io, const std::string& folder) {
  const std::string advice =
      io.Info(JoinPath(folder, "tokenizer.model")).ok()
          ? "; a tokenizer.model alone must be converted first: load it with transformers' "
            "AutoTokenizer and save_pretrained it"
          : "; give the folder of a Hugging Face model, or --tokenizer byte";
  return absl::NotFoundError(StrCat("there is no tokenizer.json in ", Quoted(folder), advice));
}

}  // namespace

absl::StatusOr<ModelTokenizer> LoadTokenizer(Io& io, const std::string& folder) {
  const std::string path = JoinPath(folder, "tokenizer.json");
  ModelTokenizer result;
  {
    const absl::StatusOr<std::string> text = ReadTextFile(io, path, kLargestTokenizer);
    if (absl::IsNotFound(text.status())) return ExplainMissing(io, folder);
    RETURN_IF_ERROR(text.status());
    ASSIGN_OR_RETURN(result.tokenizer, ParseTokenizer(*text, path));
  }
  SideFiles files;
  ASSIGN_OR_RETURN(files.tokenizer_config,
                   ReadOptionalJson(io, JoinPath(folder, "tokenizer_config.json")));
  ASSIGN_OR_RETURN(files.special_tokens_map,
                   ReadOptionalJson(io, JoinPath(folder, "special_tokens_map.json")));
  ASSIGN_OR_RETURN(files.config, ReadOptionalJson(io, JoinPath(folder, "config.json")));
  ASSIGN_OR_RETURN(result.begin_id, FindTokenId(files, *result.tokenizer, "bos_token"));
  ASSIGN_OR_RETURN(result.end_id, FindTokenId(files, *result.tokenizer, "eos_token"));
  ASSIGN_OR_RETURN(result.pad_id, FindTokenId(files, *result.tokenizer, "pad_token"));
  ASSIGN_OR_RETURN(result.chat_template, ReadChatTemplate(io, folder, files.tokenizer_config));
  return result;
}

}  // namespace horizon
