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

// The source of one of the chat templates of a model: "default", "tool_use", ...
struct ChatTemplateText {
  std::string name;
  std::string text;
  std::string where;  // the file that it is from, for messages
  friend bool operator==(const ChatTemplateText&, const ChatTemplateText&) = default;
};

// The tokenizer of a model folder, and what the files beside it say about its use.
struct ModelTokenizer {
  std::unique_ptr<Tokenizer> tokenizer;
  std::optional<int32_t> begin_id;  // bos_token of tokenizer_config.json, or else of config.json
  std::optional<int32_t> end_id;    // eos_token likewise
  std::optional<int32_t> pad_id;
  // The special tokens that have names in these files, as transformers passes them to templates:
  // bos_token, eos_token, unk_token, sep_token, pad_token, cls_token and mask_token, then the
  // model's own (other keys that end with "_token", and the named ones of extra_special_tokens).
  std::vector<NamedToken> special_tokens;
  // chat_template.jinja ("default") and additional_chat_templates/NAME.jinja. If there is no such
  // file, chat_template of tokenizer_config.json, which is a text or a list of {"name",
  // "template"}.
  std::vector<ChatTemplateText> chat_templates;
  // chat_control_tokens of tokenizer_config.json: the added tokens that are not recognised in the
  // text of a conversation. If it is not set, these are the added tokens that the chat template
  // spells.
  std::optional<std::vector<std::string>> chat_control_tokens;
};

// Reads tokenizer.json of the folder (at most 64 MiB), and tokenizer_config.json,
// special_tokens_map.json and the chat templates if they exist. Returns InvalidArgument, with the
// file and the reason, for a type of tokenizer that is not supported, a contradiction or invalid
// JSON; NotFound if there is no tokenizer.json, with advice (a lone tokenizer.model must be
// converted first).
absl::StatusOr<ModelTokenizer> LoadTokenizer(Io& io, const std::string& folder);

// Makes the tokenizer that the text of a tokenizer.json describes. `where` names the file in
// messages.
absl::StatusOr<std::unique_ptr<Tokenizer>> ParseTokenizer(std::string_view text,
                                                          std::string_view where);

}  // namespace horizon
