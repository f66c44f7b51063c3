#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "common/io.h"
#include "model/tokenizer/tokenizer.h"

namespace horizon {

// A model folder's tokenizer, and what the files beside it say of its use.
struct ModelTokenizer {
  std::unique_ptr<Tokenizer> tokenizer;
  std::optional<int32_t> begin_id;  // bos_token of tokenizer_config.json, else of config.json
  std::optional<int32_t> end_id;    // eos_token likewise
  std::optional<int32_t> pad_id;
  // chat_template of tokenizer_config.json, or of chat_template.jinja; the one named "default"
  // where there are several; empty: none.
  std::string chat_template;
};

// Reads DIR/tokenizer.json (at most 64 MiB), tokenizer_config.json, special_tokens_map.json and
// chat_template.jinja where they exist. InvalidArgument, naming the file and the reason: a kind of
// tokenizer this program does not know (by its name), a contradiction, no valid JSON; NotFound
// where there is no tokenizer.json, with what to do (a tokenizer.model alone must be converted
// first).
absl::StatusOr<ModelTokenizer> LoadTokenizer(Io& io, const std::string& folder);

// The tokenizer that a tokenizer.json describes; `where` names it in messages.
absl::StatusOr<std::unique_ptr<Tokenizer>> ParseTokenizer(std::string_view text,
                                                          std::string_view where);

}  // namespace horizon
