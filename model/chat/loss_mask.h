#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/chat/conversation.h"
#include "model/chat/jinja/traced_text.h"
#include "model/tokenizer/tokenizer.h"

namespace horizon {

// Which tokens of a rendered conversation are learnt: all that the template writes for an
// assistant's message behind its header, up to the token that ends the message. In
//
//   <|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\nHello<|im_end|>\n
//
// that is "<think>\n\n</think>\n\nHello<|im_end|>". Where the template has {% generation %}, what
// it encloses is learnt and nothing else.

// A rendered conversation and its tokens.
struct EncodedChat {
  TracedText text;
  std::vector<int32_t> ids;
  std::vector<ByteRange> offsets;  // of the text, one for each id
};

// What decides where an answer begins and ends.
struct AnswerMarks {
  // What the generation prompt writes before an answer (OpeningOf); empty: nothing.
  std::string opening;
  bool has_generation = false;  // the template has {% generation %}
  // The tokens that end an answer where they stand behind its words; of other tokens the first that
  // is special does.
  std::vector<int32_t> end_ids;
  std::optional<int32_t> begin_id;  // begins a text, and never ends an answer
  // Messages of which only the first bytes are their own: the template writes the results of tools
  // while it is at the message that called them (OwnBytes).
  std::vector<std::pair<int32_t, size_t>> own_bytes;
  // Messages behind text that was written for none (FollowsLooseText), with how the conversation
  // before them ends (TailOf): they begin behind that.
  std::vector<std::pair<int32_t, std::string>> tails;
};

// How many bytes of what was written for a message are written without the messages behind it as
// well, up to the end of a token. `alone` is the conversation up to that message.
size_t OwnBytes(const EncodedChat& chat, const TracedText& alone, int32_t message);
// Whether what stands before a message's first byte was written for no message: some templates go
// through copies of the messages, and then only words know their message.
bool FollowsLooseText(const TracedText& text, int32_t message);
// What a text ends with behind the last words of a record.
std::string TailOf(const TracedText& text);
// Whether anything was written for a message.
bool IsWritten(const TracedText& text, int32_t message);

struct LossMask {
  std::vector<bool> trained;       // one for each id
  std::optional<size_t> last_end;  // the last learnt token that ends an answer
};

// The messages that are trained decide (ChatMessage::trained). A token of which a byte is learnt is
// learnt.
LossMask MakeLossMask(const Conversation& conversation, const EncodedChat& chat,
                      const AnswerMarks& marks, const Tokenizer& tokenizer);

// What the generation prompt adds to a text, without a tag that opens reasoning and what follows
// it: the model may write those itself. "<|im_start|>assistant\n<think>\n" gives
// "<|im_start|>assistant\n".
std::string OpeningOf(std::string_view without_prompt, std::string_view with_prompt);

// How many bytes of what was written for an assistant's message are its header. `words` is where
// the first text of the record begins in it, or its size.
size_t HeaderLength(std::string_view written, size_t words, std::string_view opening);

}  // namespace horizon
