#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/files/io.h"
#include "model/tokenizer/tokenizer.h"

namespace horizon {

// A special token that a chat template knows by name ("bos_token").
struct NamedToken {
  std::string name;
  std::string text;
  friend bool operator==(const NamedToken&, const NamedToken&) = default;
};

// A chat template: "default", "tool_use" or another of a model's.
struct ChatTemplateText {
  std::string name;
  std::string text;
  std::string where;  // for messages: the file that it stands in
  friend bool operator==(const ChatTemplateText&, const ChatTemplateText&) = default;
};

// A model folder's tokenizer, and what the files beside it say of its use.
struct ModelTokenizer {
  std::unique_ptr<Tokenizer> tokenizer;
  std::optional<int32_t> begin_id;  // bos_token of tokenizer_config.json, else of config.json
  std::optional<int32_t> end_id;    // eos_token likewise
  std::optional<int32_t> pad_id;
  // The special tokens that have names in these files, as transformers gives them to templates:
  // bos_token, eos_token, unk_token, sep_token, pad_token, cls_token and mask_token, then the
  // model's own (other keys that end with "_token", and extra_special_tokens with names).
  std::vector<NamedToken> special_tokens;
  // chat_template.jinja ("default") and additional_chat_templates/NAME.jinja; without any such file
  // chat_template of tokenizer_config.json, a text or a list of {"name", "template"}.
  std::vector<ChatTemplateText> chat_templates;
  // chat_control_tokens of tokenizer_config.json: the added tokens that a conversation's text must
  // not spell. Not given: those that the template spells.
  std::optional<std::vector<std::string>> chat_control_tokens;
};

// Reads DIR/tokenizer.json (at most 64 MiB), tokenizer_config.json, special_tokens_map.json and the
// chat templates where they exist. InvalidArgument, naming the file and the reason: a kind of
// tokenizer this program does not know (by its name), a contradiction, no valid JSON; NotFound
// where there is no tokenizer.json, with what to do (a tokenizer.model alone must be converted
// first).
absl::StatusOr<ModelTokenizer> LoadTokenizer(Io& io, const std::string& folder);

// The tokenizer that a tokenizer.json describes; `where` names it in messages.
absl::StatusOr<std::unique_ptr<Tokenizer>> ParseTokenizer(std::string_view text,
                                                          std::string_view where);

}  // namespace horizon
