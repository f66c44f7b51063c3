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

// The loss mask decides which tokens of a rendered conversation are trained: everything that the
// template writes for an assistant's message after its header, up to and including the token that
// ends the message. In
//
//   <|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\nHello<|im_end|>\n
//
// that is "<think>\n\n</think>\n\nHello<|im_end|>". If the template has {% generation %}, the text
// inside it is trained and nothing else; assistant messages that are not to be trained are left out
// there too.

// A rendered conversation and its tokens.
struct EncodedChat {
  TracedText text;
  std::vector<int32_t> ids;
  std::vector<ByteRange> offsets;  // for each id, the bytes of the text that it covers
};

// The data that determines where an answer begins and ends in the rendered text.
struct AnswerMarks {
  // The header that the generation prompt writes before an answer (OpeningOf); empty: none is
  // known.
  std::string opening;
  bool has_generation = false;  // the template has {% generation %}
  // Tokens that end an answer if they follow its text. If none of them follows, the first special
  // token ends the answer.
  std::vector<int32_t> end_ids;
  std::optional<int32_t> begin_id;  // the begin-of-text token, which never ends an answer
  // Messages of which only the first bytes are their own (OwnBytes), because the template writes
  // the results of tools while its loop is at the message that called them.
  std::vector<std::pair<int32_t, size_t>> own_bytes;
  // Messages that follow text written for no message (FollowsUnattributedText), with the end of the
  // conversation before them (TailOf). Such a message begins after that end.
  std::vector<std::pair<int32_t, std::string>> tails;
};

// How many bytes of the text written for a message are the same when the messages after it are left
// out, rounded down to the end of a token. `alone` is the conversation rendered up to that message.
size_t OwnBytes(const EncodedChat& chat, const TracedText& alone, int32_t message);
// Whether the text directly before the first byte of a message was written for no message. Some
// templates loop over copies of the messages; then only quoted text is attributed to its message.
bool FollowsUnattributedText(const TracedText& text, int32_t message);
// The end of a text after the last quoted byte.
std::string TailOf(const TracedText& text);
// Whether any text was written for a message.
bool IsWritten(const TracedText& text, int32_t message);

// The mask of one conversation.
struct LossMask {
  std::vector<bool> trained;       // for each id
  std::optional<size_t> last_end;  // index of the last trained token that ends an answer
};

// Makes the mask for the messages with ChatMessage::trained. A token is trained if any of its bytes
// is.
LossMask MakeLossMask(const Conversation& conversation, const EncodedChat& chat,
                      const AnswerMarks& marks, const Tokenizer& tokenizer);

}  // namespace horizon
