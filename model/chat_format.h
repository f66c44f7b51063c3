#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/enum_words.h"
#include "model/tokenizer/tokenizer.h"

namespace horizon {

enum class ChatRole { kSystem, kUser, kAssistant };
// "system", "user", "assistant", as the formats write them.
std::span<const EnumWord<ChatRole>> WordsOf(ChatRole);

struct ChatTurn {
  ChatRole role = ChatRole::kUser;
  std::string content;
  friend bool operator==(const ChatTurn&, const ChatTurn&) = default;
};

// How a conversation is written down for a model.
enum class ChatMarkup {
  kChatMl,   // <|im_start|>user\n...<|im_end|>\n (Qwen and others)
  kLlama3,   // <|start_header_id|>user<|end_header_id|>\n\n...<|eot_id|>
  kMistral,  // [INST] ...[/INST] ...</s>; the system's words stand before a question
  kPlain,    // a question, a newline, the answer
};
std::span<const EnumWord<ChatMarkup>> WordsOf(ChatMarkup);

// A markup with what the models that use it do differently.
struct ChatFormat {
  ChatMarkup markup = ChatMarkup::kPlain;
  std::string default_system;   // kChatMl: said where a conversation has no system turn
  std::string system_preamble;  // kLlama3: said before the system's words in every conversation
  // kChatMl: answers have Qwen3's reasoning. The last one begins with <think>, what the record has
  // between its own <think> and </think> or nothing, and </think>; those before lose it.
  bool thinks = false;
  bool takes_prefix = true;  // kChatMl: the tokenizer's Prefix comes first
  // kMistral: whether there is a space before and behind [INST], before [/INST], and before an
  // answer; whether an answer's own spaces are trimmed; which question has the system's words.
  bool space_before_open = false;
  bool space_after_open = true;
  bool space_before_close = false;
  bool space_before_answer = true;
  bool trims_answer = true;
  bool system_in_last_question = true;
  friend bool operator==(const ChatFormat&, const ChatFormat&) = default;
};

// The format of a model's chat_template, from the statements and fixed texts in it; the template is
// not executed. What it does with tools is not followed. InvalidArgument for a template of another
// kind or none, with what is unknown in it, the formats there are and --chat-format to choose.
absl::StatusOr<ChatFormat> RecogniseChatFormat(std::string_view chat_template);
// What `word` says: "auto" the template's format; a markup's word that markup, with what the
// template says of it if it is the template's own.
absl::StatusOr<ChatFormat> ChooseChatFormat(std::string_view word, std::string_view chat_template);

// A part of a rendered conversation.
struct ChatSegment {
  std::string text;
  // Special tokens are recognised in markup and in nothing else, so that a text which quotes one
  // cannot end a turn.
  bool is_markup = false;
  bool is_answer = false;  // an assistant's words, or the token that ends them
  friend bool operator==(const ChatSegment&, const ChatSegment&) = default;
};

// A whole conversation, which begins with a user after at most one system turn (CHECK). Together
// the segments are what the model's template renders, begin of text included where it has it; the
// plain format leaves the end of an answer, an empty markup segment, to the tokenizer's end of
// text.
std::vector<ChatSegment> RenderChat(const ChatFormat& format, std::span<const ChatTurn> turns);
// The same followed by what stands before an answer: a model goes on with the answer.
std::vector<ChatSegment> RenderChatPrompt(const ChatFormat& format,
                                          std::span<const ChatTurn> turns);

// Whether the tokenizer's Prefix stands before what RenderChat gives. If not, RenderChat writes the
// begin of text, or there is none.
bool TakesPrefix(const ChatFormat& format);
// The token that ends an answer; empty for plain: the tokenizer's end of text.
std::string_view EndOfAnswer(const ChatFormat& format);

// InvalidArgument naming the first special token of the format that the vocabulary does not have.
absl::Status CheckChatTokens(const ChatFormat& format, const Tokenizer& tokenizer);

}  // namespace horizon
