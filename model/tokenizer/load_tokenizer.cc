#include "model/tokenizer/load_tokenizer.h"

#include <algorithm>
#include <array>
#include <utility>

#include "common/documents/document.h"
#include "common/documents/json.h"
#include "common/status_macros.h"
#include "common/text/quote.h"
#include "common/text/str_cat.h"
#include "common/units.h"

namespace horizon {
namespace {

constexpr Bytes kLargestTokenizer = 64_MiB;
constexpr std::string_view kChatTemplateFile = "chat_template.jinja";
constexpr std::string_view kMoreChatTemplates = "additional_chat_templates";

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

constexpr std::array<std::string_view, 7> kUsualTokens = {
    "bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"};

void SetToken(std::vector<NamedToken>& tokens, std::string_view name, std::string text) {
  for (NamedToken& token : tokens) {
    if (token.name == name) {
      token.text = std::move(text);
      return;
    }
  }
  tokens.push_back({.name = std::string(name), .text = std::move(text)});
}

// The tokens that a file names, over those that are there.
void TakeNamedTokens(const Document& file, std::vector<NamedToken>& tokens) {
  for (const auto& [key, value] : *file.root.As<Value::Object>()) {
    if (key.ends_with("_token")) {
      std::optional<std::string> text = TokenText(file, key);
      if (text.has_value()) SetToken(tokens, key, *std::move(text));
    }
    if (key != "extra_special_tokens" && key != "model_specific_special_tokens") continue;
    const auto* named = value.As<Value::Object>();
    if (named == nullptr) continue;
    for (const auto& [name, token] : *named) {
      const Value* content = token.As<Value::Object>() != nullptr ? token.Find("content") : &token;
      const auto* text = content == nullptr ? nullptr : content->As<std::string>();
      if (text != nullptr) SetToken(tokens, name, *text);
    }
  }
}

// special_tokens_map.json is an older place: transformers reads it, over tokenizer_config.json,
// where that file does not list its added tokens.
std::vector<NamedToken> NamedTokens(const SideFiles& files) {
  std::vector<NamedToken> found;
  const bool lists = files.tokenizer_config.has_value() &&
                     files.tokenizer_config->root.Find("added_tokens_decoder") != nullptr;
  if (files.tokenizer_config.has_value()) TakeNamedTokens(*files.tokenizer_config, found);
  if (files.special_tokens_map.has_value() && !lists) {
    TakeNamedTokens(*files.special_tokens_map, found);
  }
  std::stable_sort(found.begin(), found.end(), [](const NamedToken& a, const NamedToken& b) {
    const auto place = [](const NamedToken& token) {
      return std::find(kUsualTokens.begin(), kUsualTokens.end(), token.name);
    };
    return place(a) < place(b);
  });
  return found;
}

// Templates in files of their own.
absl::StatusOr<std::vector<ChatTemplateText>> TemplateFiles(Io& io, const std::string& folder) {
  constexpr std::string_view kEnding = ".jinja";
  std::vector<ChatTemplateText> templates;
  const auto take = [&](std::string name, std::string path) -> absl::Status {
    absl::StatusOr<std::string> text = ReadTextFile(io, path);
    if (absl::IsNotFound(text.status())) return absl::OkStatus();
    RETURN_IF_ERROR(text.status());
    templates.push_back({std::move(name), *std::move(text), std::move(path)});
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(take("default", JoinPath(folder, kChatTemplateFile)));
  const std::string others = JoinPath(folder, kMoreChatTemplates);
  const absl::StatusOr<std::vector<std::string>> names = io.List(others);
  if (absl::IsNotFound(names.status())) return templates;
  RETURN_IF_ERROR(names.status());
  for (const std::string& name : *names) {
    if (!name.ends_with(kEnding) || name.size() == kEnding.size()) continue;
    RETURN_IF_ERROR(take(name.substr(0, name.size() - kEnding.size()), JoinPath(others, name)));
  }
  return templates;
}

absl::StatusOr<std::vector<ChatTemplateText>> ReadChatTemplates(
    Io& io, const std::string& folder, const std::optional<Document>& config) {
  ASSIGN_OR_RETURN(std::vector<ChatTemplateText> templates, TemplateFiles(io, folder));
  const Value* value = config.has_value() ? config->root.Find("chat_template") : nullptr;
  if (!templates.empty() || value == nullptr || value->is_null()) return templates;
  if (const auto* text = value->As<std::string>()) {
    templates.push_back({"default", *text, StrCat(config->file, " chat_template")});
    return templates;
  }
  const auto* list = value->As<Value::Array>();
  if (list == nullptr) {
    return ErrorAt(*config, *value, "chat_template",
                   "needs a text, or a list of {\"name\": ..., \"template\": ...}");
  }
  for (const Value& entry : *list) {
    const Value* name = entry.Find("name");
    const Value* body = entry.Find("template");
    const auto* name_text = name == nullptr ? nullptr : name->As<std::string>();
    const auto* body_text = body == nullptr ? nullptr : body->As<std::string>();
    if (name_text == nullptr || body_text == nullptr) {
      return ErrorAt(*config, entry, "chat_template",
                     "needs \"name\" and \"template\", both texts");
    }
    templates.push_back(
        {*name_text, *body_text, StrCat(config->file, " chat_template \"", *name_text, "\"")});
  }
  return templates;
}

std::optional<std::vector<std::string>> ControlTokens(const std::optional<Document>& config) {
  const Value* value = config.has_value() ? config->root.Find("chat_control_tokens") : nullptr;
  const auto* list = value == nullptr ? nullptr : value->As<Value::Array>();
  if (list == nullptr) return std::nullopt;
  std::vector<std::string> tokens;
  for (const Value& each : *list) {
    if (const auto* text = each.As<std::string>()) tokens.push_back(*text);
  }
  return tokens;
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
  result.special_tokens = NamedTokens(files);
  result.chat_control_tokens = ControlTokens(files.tokenizer_config);
  ASSIGN_OR_RETURN(result.chat_templates, ReadChatTemplates(io, folder, files.tokenizer_config));
  return result;
}

}  // namespace horizon
