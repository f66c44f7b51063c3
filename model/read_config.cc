#include "model/read_config.h"

#include <string_view>
#include <utility>

#include "common/status_macros.h"
#include "common/text/nearest_word.h"
#include "common/text/quote.h"
#include "common/text/str_cat.h"
#include "model/config_fields.h"
#include "model/config_tables.h"
#include "model/families/family.h"
#include "model/families/family_reader.h"
#include "model/families/unsupported_families.h"
#include "model/families/wrappers.h"
#include "model/quantization.h"
#include "model/stages.h"

namespace horizon {
namespace {

constexpr std::string_view kModelType = "model_type";
constexpr std::string_view kTextConfig = "text_config";
constexpr std::string_view kTied = "tie_word_embeddings";

std::string ListOf(std::span<const std::string> words) {
  std::string list;
  for (const std::string& word : words) list += StrCat(list.empty() ? "" : ", ", word);
  return list;
}

// What the family makes of `object`, which is the whole file or its text_config. A quantised
// multimodal model is not read: in text_config, the key is refused like any other setting.
absl::StatusOr<ModelConfig> ReadFamily(const Document& document, const Value& object,
                                       std::string path, const Family& family) {
  const bool is_whole = path.empty();
  FamilyReader reader(document, object, std::move(path));
  reader.spec().family = std::string(family.model_type);
  family.read(reader);
  Quantization quantization;
  if (is_whole && reader.ok()) {
    ASSIGN_OR_RETURN(quantization, ReadQuantization(document, reader.fields(), reader.spec()));
  }
  RETURN_IF_ERROR(reader.Finish());
  if (absl::Status status = ValidateSpec(reader.spec()); !status.ok()) {
    return ErrorAt(document, object, "", StrCat(status.message()));
  }
  return ModelConfig{.spec = std::move(reader.spec()),
                     .quantization = quantization,
                     .ignored_keys = reader.fields().UnknownKeys()};
}

// Which family text_config is.
absl::StatusOr<const Family*> TextFamily(const Document& document, const Value& text,
                                         const Wrapper& wrapper) {
  std::string model_type(wrapper.families[0]);
  ObjectReader reader(document, text, std::string(kTextConfig));
  reader.Optional(kModelType, &model_type);
  RETURN_IF_ERROR(reader.FinishIgnoringUnknown());
  std::vector<std::string> words;
  for (std::string_view family : wrapper.families) {
    if (model_type == family) return FindFamily(family);
    words.emplace_back(family);
  }
  reader.Fail(kModelType, StrCat(Quoted(model_type), " is not supported as the text part of ",
                                 wrapper.model_type, "; known are ", ListOf(words)));
  return reader.FinishIgnoringUnknown();
}

// The text part of a multimodal model. Its tie_word_embeddings counts only where the wrapper has
// none: transformers asks the wrapper, whose default is true, but ties nothing whose tensors
// differ, and published files without the key have a head of their own exactly where the text
// part's class is not tied by default.
absl::StatusOr<ModelConfig> ReadWrapped(const Document& document, const Wrapper& wrapper) {
  ConfigFields fields(document, document.root);
  const Value* text = fields.Take(kTextConfig);
  if (text == nullptr || text->As<Value::Object>() == nullptr) {
    fields.Fail(kTextConfig, text == nullptr ? std::string("required and missing")
                                             : StrCat("needs an object, found ", text->KindName()));
    return fields.status();
  }
  ASSIGN_OR_RETURN(const Family* family, TextFamily(document, *text, wrapper));
  ASSIGN_OR_RETURN(ModelConfig config,
                   ReadFamily(document, *text, std::string(kTextConfig), *family));
  config.spec.wrapper = std::string(wrapper.model_type);
  config.spec.tied = fields.Flag(kTied, config.spec.tied);
  for (std::string_view key : VisionKeys()) fields.Ignore(key);
  for (const NeutralKey& entry : NeutralKeys()) fields.RefuseUnless(entry.key, entry.neutral);
  for (std::string_view key : HarmlessKeys()) fields.Ignore(key);
  RETURN_IF_ERROR(fields.status());
  std::vector<std::string> ignored = fields.UnknownKeys();
  for (const std::string& key : config.ignored_keys) {
    ignored.push_back(StrCat(kTextConfig, ".", key));
  }
  config.ignored_keys = std::move(ignored);
  return config;
}

absl::StatusOr<ModelConfig> ReadAny(const Document& document) {
  std::string model_type;
  ObjectReader reader(document, document.root);
  reader.Required(kModelType, &model_type);
  RETURN_IF_ERROR(reader.FinishIgnoringUnknown());
  if (const Family* family = FindFamily(model_type)) {
    return ReadFamily(document, document.root, "", *family);
  }
  if (const Wrapper* wrapper = FindWrapper(model_type)) return ReadWrapped(document, *wrapper);
  std::vector<std::string> words;
  for (const Family& family : AllFamilies()) words.emplace_back(family.model_type);
  for (const Wrapper& wrapper : AllWrappers()) words.emplace_back(wrapper.model_type);
  const std::string_view has = WhyUnsupported(model_type);
  reader.Fail(kModelType,
              StrCat(Quoted(model_type), " is not supported",
                     has.empty() ? std::string() : StrCat(", since it has ", has), "; known are ",
                     ListOf(words), has.empty() ? DidYouMean(model_type, words) : std::string()));
  return reader.FinishIgnoringUnknown();
}

}  // namespace

absl::StatusOr<ModelConfig> ReadConfig(const Document& document, std::string name) {
  ASSIGN_OR_RETURN(ModelConfig config, ReadAny(document));
  config.spec.name = std::move(name);
  return config;
}

}  // namespace horizon
