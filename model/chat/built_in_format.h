#pragma once

#include <span>

#include "absl/status/statusor.h"
#include "common/documents/enum_words.h"
#include "model/tokenizer/load_tokenizer.h"

namespace horizon {

// Formats for models that have no chat template of their own (--chat-format).
enum class BuiltInFormat {
  kChatMl,   // <|im_start|>user\n...<|im_end|>\n
  kLlama3,   // <|start_header_id|>user<|end_header_id|>\n\n...<|eot_id|>
  kMistral,  // [INST] ...[/INST] ...</s>; the system's words stand before the last question
  kPlain,    // a question, a newline, the answer, the end of text
};
std::span<const EnumWord<BuiltInFormat>> WordsOf(BuiltInFormat);

// A format as a template named "default", for this tokenizer: its tokens are spelled out, so that
// the text renders the same wherever it is exported to. It begins with the begin of text where the
// tokenizer puts one before a text. Tools and tool calls are refused by the template.
// InvalidArgument naming a token that the tokenizer does not have.
absl::StatusOr<ChatTemplateText> BuiltInTemplate(BuiltInFormat format, const ModelTokenizer& model);

}  // namespace horizon
