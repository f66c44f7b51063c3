#include "model/chat/chat_encoder.h"

#include <algorithm>
#include <utility>

#include "common/check.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "model/chat/answer_header.h"
#include "model/chat/built_in_format.h"

namespace horizon {
namespace {

constexpr std::string_view kAssistant = "assistant";

bool IsSpace(std::string_view text) {
  return text.find_first_not_of(" \t\r\n\f\v") == std::string_view::npos;
}

// The added tokens that are not special and count as control tokens all the same: those that
// tokenizer_config.json lists, else those that the template spells, but for white space
// (_get_control_tokens of transformers 5.23).
std::vector<int32_t> ControlIds(const ModelTokenizer& model, std::string_view source) {
  std::vector<int32_t> ids;
  for (const int32_t id : model.tokenizer->AddedIds()) {
    if (model.tokenizer->IsSpecial(id)) continue;
    const std::string_view token = model.tokenizer->TokenOf(id);
    if (model.chat_control_tokens.has_value()) {
      const std::vector<std::string>& listed = *model.chat_control_tokens;
      if (std::find(listed.begin(), listed.end(), token) != listed.end()) ids.push_back(id);
    } else if (!token.empty() && !IsSpace(token) && source.find(token) != std::string_view::npos) {
      ids.push_back(id);
    }
  }
  return ids;
}

std::vector<ByteRange> QuotedRanges(const TracedText& text) {
  std::vector<ByteRange> ranges;
  size_t begin = 0;
  for (const TextRun& run : text.runs()) {
    if (run.origin.quoted) {
      if (!ranges.empty() && ranges.back().end == begin) {
        ranges.back().end = run.end;
      } else {
        ranges.push_back({begin, run.end});
      }
    }
    begin = run.end;
  }
  return ranges;
}

// The first `message` messages of a conversation, with all of its other fields.
Conversation Before(const Conversation& conversation, size_t message) {
  Conversation part = conversation;
  part.messages.resize(message);
  return part;
}

size_t FirstTrained(const Conversation& conversation) {
  const auto found = std::find_if(conversation.messages.begin(), conversation.messages.end(),
                                  [](const ChatMessage& message) { return message.trained; });
  return static_cast<size_t>(found - conversation.messages.begin());
}

bool CallsTools(const ChatMessage& message) {
  const Value* calls = message.trained ? message.Find("tool_calls") : nullptr;
  const auto* list = calls == nullptr ? nullptr : calls->As<Value::Array>();
  return list != nullptr && !list->empty();
}

}  // namespace

ChatEncoder::ChatEncoder(ChatTemplate chat, const ModelTokenizer& model)
    : chat_(std::move(chat)),
      tokenizer_(model.tokenizer.get()),
      begin_id_(model.begin_id),
      end_id_(model.end_id) {
  CHECK(tokenizer_ != nullptr);
  for (const auto& [name, parsed] : chat_.templates()) {
    control_ids_.push_back(ControlIds(model, parsed.source()));
  }
}

absl::StatusOr<EncodedChat> ChatEncoder::EncodeText(TracedText text,
                                                    const JinjaTemplate* source) const {
  EncodedChat chat = {.text = std::move(text)};
  size_t number = 0;
  while (&chat_.templates()[number].second != source) ++number;
  const std::vector<ByteRange> quoted = QuotedRanges(chat.text);
  RETURN_IF_ERROR(tokenizer_->EncodeWithOffsets(
      chat.text.text(), {.quoted = quoted, .control_ids = control_ids_[number]}, chat.ids,
      chat.offsets));
  return chat;
}

absl::StatusOr<EncodedChat> ChatEncoder::Encode(const Conversation& conversation,
                                                GenerationPrompt prompt) const {
  ASSIGN_OR_RETURN(const JinjaTemplate* const source, chat_.TemplateFor(conversation));
  ASSIGN_OR_RETURN(TracedText text, chat_.Render(conversation, prompt));
  return EncodeText(std::move(text), source);
}

AnswerMarks ChatEncoder::MarksFor(const Conversation& conversation) const {
  AnswerMarks marks = {.begin_id = begin_id_};
  if (end_id_.has_value()) marks.end_ids.push_back(*end_id_);
  const absl::StatusOr<const JinjaTemplate*> source = chat_.TemplateFor(conversation);
  marks.has_generation = source.ok() && (*source)->has_generation();
  if (marks.has_generation) return marks;
  // The header of an answer is found most reliably where an answer is due: after the messages that
  // precede the first trained one. Templates that refuse to render those alone render the whole
  // conversation.
  const size_t first = FirstTrained(conversation);
  for (const size_t messages : {first, conversation.messages.size()}) {
    if (messages == 0) continue;
    const Conversation part = Before(conversation, messages);
    const absl::StatusOr<TracedText> without = chat_.Render(part, GenerationPrompt::kWithout);
    const absl::StatusOr<TracedText> with = chat_.Render(part, GenerationPrompt::kWith);
    if (!without.ok() || !with.ok()) continue;
    marks.opening = OpeningOf(without->text(), with->text());
    break;
  }
  if (std::any_of(conversation.messages.begin(), conversation.messages.end(), CallsTools)) {
    const std::optional<int32_t> end = EndBehind(Before(conversation, first), marks);
    if (end.has_value()) marks.end_ids.push_back(*end);
  }
  return marks;
}

// A template may write other special tokens between a tool call and the end of the answer. So this
// finds the token that ends an answer of plain text.
std::optional<int32_t> ChatEncoder::EndBehind(const Conversation& before,
                                              const AnswerMarks& marks) const {
  Conversation probe = before;
  for (ChatMessage& message : probe.messages) message.trained = false;
  probe.messages.push_back(TextMessage(kAssistant, "x"));
  const absl::StatusOr<EncodedChat> chat = Encode(probe, GenerationPrompt::kWithout);
  if (!chat.ok()) return std::nullopt;
  const LossMask mask = MakeLossMask(probe, *chat, marks, *tokenizer_);
  if (!mask.last_end.has_value()) return std::nullopt;
  return chat->ids[*mask.last_end];
}

// If nothing was written for the message after a tool call, its text may have been written for the
// message that calls.
void ChatEncoder::FindOwnBytes(const Conversation& conversation, const EncodedChat& chat,
                               AnswerMarks& marks) const {
  for (size_t i = 0; i + 1 < conversation.messages.size(); ++i) {
    const auto message = static_cast<int32_t>(i);
    if (!CallsTools(conversation.messages[i]) || IsWritten(chat.text, message + 1)) continue;
    const absl::StatusOr<TracedText> alone =
        chat_.Render(Before(conversation, i + 1), GenerationPrompt::kWithout);
    if (alone.ok()) marks.own_bytes.emplace_back(message, OwnBytes(chat, *alone, message));
  }
}

// Finds how the conversation ends before each answer that follows text written for no message.
void ChatEncoder::FindTails(const Conversation& conversation, const EncodedChat& chat,
                            AnswerMarks& marks) const {
  for (size_t i = 1; i < conversation.messages.size(); ++i) {
    const auto message = static_cast<int32_t>(i);
    if (!conversation.messages[i].trained || !FollowsUnattributedText(chat.text, message)) continue;
    const absl::StatusOr<TracedText> before =
        chat_.Render(Before(conversation, i), GenerationPrompt::kWithout);
    if (before.ok()) marks.tails.emplace_back(message, TailOf(*before));
  }
}

absl::StatusOr<ChatTokens> ChatEncoder::EncodeForTraining(const Conversation& conversation) const {
  ASSIGN_OR_RETURN(EncodedChat chat, Encode(conversation, GenerationPrompt::kWithout));
  AnswerMarks marks = MarksFor(conversation);
  if (!marks.has_generation) {
    FindOwnBytes(conversation, chat, marks);
    FindTails(conversation, chat, marks);
  }
  ChatTokens tokens;
  tokens.mask = MakeLossMask(conversation, chat, marks, *tokenizer_);
  tokens.ids = std::move(chat.ids);
  return tokens;
}

std::optional<int32_t> ChatEncoder::EndOfAnswer() const {
  Conversation before;
  before.messages.push_back(TextMessage("user", "x"));
  Conversation whole = before;
  whole.messages.push_back(TextMessage(kAssistant, "x"));
  return EndBehind(before, MarksFor(whole));
}

std::string ChatEncoder::Identity() const {
  std::string text =
      StrCat(chat_.Identity(), "\nbegin ", begin_id_.value_or(-1), " end ", end_id_.value_or(-1));
  for (const std::vector<int32_t>& ids : control_ids_) {
    text += "\ncontrol";
    for (const int32_t id : ids) text += StrCat(" ", id);
  }
  return text;
}

absl::StatusOr<ChatEncoder> MakeChatEncoder(const ModelTokenizer& model, const ChatChoice& choice) {
  if (model.tokenizer == nullptr) {
    return absl::InvalidArgumentError(
        "conversations need a tokenizer: name a model's folder with a tokenizer.json (--model), or "
        "choose --tokenizer byte");
  }
  ChatTemplateOptions options = {.templates = model.chat_templates,
                                 .special_tokens = model.special_tokens,
                                 .arguments = choice.arguments,
                                 .now = choice.now};
  if (choice.format != "auto") {
    if (choice.own.has_value()) {
      return absl::InvalidArgumentError(
          "--chat-format and --chat-template are both given; choose one");
    }
    ASSIGN_OR_RETURN(const BuiltInFormat format, ParseWord<BuiltInFormat>(choice.format));
    ASSIGN_OR_RETURN(ChatTemplateText built_in, BuiltInTemplate(format, model));
    options.templates = {std::move(built_in)};
  } else if (choice.own.has_value()) {
    options.templates = {*choice.own};
  }
  ASSIGN_OR_RETURN(ChatTemplate chat, ChatTemplate::Create(options));
  return ChatEncoder(std::move(chat), model);
}

}  // namespace horizon
