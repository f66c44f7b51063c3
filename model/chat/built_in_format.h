#pragma once

#include <span>

#include "absl/status/statusor.h"
#include "common/documents/enum_words.h"
#include "model/tokenizer/load_tokenizer.h"

namespace horizon {

// Chat formats for models that have no chat template of their own (--chat-format).
enum class BuiltInFormat {
  kChatMl,   // <|im_start|>user\n...<|im_end|>\n
  kLlama3,   // <|start_header_id|>user<|end_header_id|>\n\n...<|eot_id|>
  kMistral,  // [INST] ...[/INST] ...</s>; the system message is put before the last question
  kPlain,    // a question, a newline, the answer, the end of text
};
std::span<const EnumWord<BuiltInFormat>> WordsOf(BuiltInFormat);

// Makes a chat template named "default" from a format, for this tokenizer. The special tokens are
// written into its text, so that it renders the same wherever it is exported to. It begins with the
// begin-of-text token if the tokenizer puts one before a text. The template refuses tools and tool
// calls. Returns InvalidArgument with the name of a token that the tokenizer lacks.
absl::StatusOr<ChatTemplateText> BuiltInTemplate(BuiltInFormat format, const ModelTokenizer& model);

}  // namespace horizon
