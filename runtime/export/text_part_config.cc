#include "runtime/export/text_part_config.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "common/documents/json_members.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"

namespace horizon {
namespace {

constexpr char kFile[] = "config.json";

// What transformers calls a text part as a model of its own, by its model_type.
struct TextClass {
  std::string_view family;
  std::string_view name;
};
constexpr std::array kTextClasses = {TextClass{"gemma3_text", "Gemma3ForCausalLM"},
                                     TextClass{"ministral3", "Ministral3ForCausalLM"},
                                     TextClass{"mistral", "MistralForCausalLM"}};

// Keys that a text_config may leave to the config around it and that still hold for the text alone.
// Not pad_token_id: the text part's own, or its default, says which row of the embedding is
// padding.
constexpr std::array<std::string_view, 5> kInherited = {"bos_token_id", "eos_token_id", "dtype",
                                                        "torch_dtype", "transformers_version"};

const JsonMember* Find(const std::vector<JsonMember>& members, std::string_view key) {
  const auto found = std::find_if(members.begin(), members.end(),
                                  [&](const JsonMember& member) { return member.key == key; });
  return found == members.end() ? nullptr : &*found;
}

// A line break cannot stand inside a JSON string, so what follows one is indentation.
std::string WithoutIndent(std::string_view object) {
  const size_t line = object.rfind('\n');
  if (line == std::string_view::npos) return std::string(object);
  const size_t indent = object.find_first_not_of(' ', line + 1) - line - 1;
  std::string text;
  for (size_t i = 0; i < object.size(); ++i) {
    text += object[i];
    if (object[i] != '\n') continue;
    for (size_t spaces = 0; spaces < indent && object[i + 1] == ' '; ++spaces) ++i;
  }
  return text;
}

}  // namespace

absl::StatusOr<std::string> TextPartConfig(std::string_view config, const ModelSpec& spec) {
  ASSIGN_OR_RETURN(const std::vector<JsonMember> outer, FindJsonMembers(kFile, config));
  const JsonMember* part = Find(outer, "text_config");
  if (part == nullptr || config[part->begin] != '{') {
    return absl::InvalidArgumentError(
        StrCat("cannot export the text part of ", spec.wrapper, " '", spec.name,
               "': its config.json has no object text_config; name the model's own config.json"));
  }
  std::string text = WithoutIndent(config.substr(part->begin, part->end - part->begin));
  ASSIGN_OR_RETURN(const std::vector<JsonMember> inner, FindJsonMembers(kFile, text));

  // In front of what is there, and the tie in its place where it has one.
  std::string added;
  const auto add = [&](std::string_view key, std::string_view value) {
    added += StrCat("\n  \"", key, "\": ", value, ",");
  };
  const std::string tied = spec.tied ? "true" : "false";
  const JsonMember* tie = Find(inner, "tie_word_embeddings");
  if (tie == nullptr) add("tie_word_embeddings", tied);
  if (Find(inner, "model_type") == nullptr) add("model_type", StrCat("\"", spec.family, "\""));
  for (const TextClass& known : kTextClasses) {
    if (known.family != spec.family || Find(inner, "architectures") != nullptr) continue;
    add("architectures", StrCat("[\"", known.name, "\"]"));
  }
  for (const std::string_view key : kInherited) {
    const JsonMember* member = Find(outer, key);
    if (member == nullptr || Find(inner, key) != nullptr) continue;
    add(key, config.substr(member->begin, member->end - member->begin));
  }
  if (inner.empty() && !added.empty()) added.back() = '\n';
  if (tie != nullptr) text.replace(tie->begin, tie->end - tie->begin, tied);
  return text.insert(1, added) + "\n";
}

}  // namespace horizon
