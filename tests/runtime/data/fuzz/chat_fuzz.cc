// Whatever is said in a conversation, it is encoded word by word: no text becomes a special token,
// every answer is learnt and nothing else is.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_split.h"
#include "common/check.h"
#include "model/chat_format.h"
#include "runtime/data/encode_chat.h"
#include "runtime/data/sample.h"
#include "runtime/data/tokenise_sample.h"
#include "tests/common/fuzz/fuzz_driver.h"
#include "tests/runtime/data/fake_tokenizer.h"

namespace horizon {
namespace {

// A turn a line: the system's where it begins with '!', then user and assistant in turn.
std::vector<ChatTurn> TurnsOf(std::string_view text) {
  std::vector<ChatTurn> turns;
  bool asks = true;
  for (const absl::string_view line :
       absl::StrSplit(absl::string_view(text.data(), text.size()), '\n')) {
    const bool system = turns.empty() && !line.empty() && line[0] == '!';
    const ChatRole role = system ? ChatRole::kSystem
                          : asks ? ChatRole::kUser
                                 : ChatRole::kAssistant;
    turns.push_back({role, std::string(line)});
    asks = system || !asks;
  }
  return turns;
}

int64_t SpecialIds(const FakeTokenizer& tokenizer, const std::vector<int32_t>& ids) {
  int64_t count = 0;
  for (const int32_t id : ids) count += tokenizer.IsSpecial(id) ? 1 : 0;
  return count;
}

void TryFormat(const ChatFormat& format, const Sample& sample) {
  const FakeTokenizer tokenizer;
  const std::vector<ChatSegment> segments = RenderChat(format, sample.turns);
  std::vector<int32_t> ids;
  std::vector<bool> is_answer;
  const absl::Status status =
      EncodeChat({.tokenizer = tokenizer, .format = format, .end_id = FakeTokenizer::kEnd},
                 segments, ids, is_answer);
  TokenLine line;
  const absl::Status tokenised = TokeniseSample(sample,
                                                {.tokenizer = &tokenizer,
                                                 .end_id = FakeTokenizer::kEnd,
                                                 .chat = format,
                                                 .vocab = FakeTokenizer::kVocab,
                                                 .sequence = 1024},
                                                line);
  CHECK(status.code() == tokenised.code());
  if (!status.ok()) {
    CHECK(absl::IsResourceExhausted(status));
    return;
  }
  std::string spelled;
  std::vector<int32_t> markup;
  for (const ChatSegment& segment : segments) {
    if (segment.text.empty()) {
      markup.push_back(FakeTokenizer::kEnd);
      spelled += tokenizer.TokenOf(FakeTokenizer::kEnd);
    } else if (segment.is_markup) {
      CHECK(tokenizer.Encode(segment.text, {}, markup).ok());
    }
    spelled += segment.text;
  }
  CHECK(SpecialIds(tokenizer, ids) == SpecialIds(tokenizer, markup));
  CHECK(tokenizer.Decode(ids, Tokenizer::SpecialTokens::kSpell) == spelled);
  CHECK(ids.size() == is_answer.size() && line.ids == ids && line.labels.size() == ids.size());
  for (size_t i = 0; i < ids.size(); ++i) CHECK(line.labels[i] == (is_answer[i] ? ids[i] : -100));
}

void TryChat(std::string_view text) {
  Sample sample{.kind = DataKind::kMessages, .turns = TurnsOf(text)};
  if (sample.turns.back().role != ChatRole::kAssistant) sample.turns.pop_back();
  if (sample.turns.size() < 2) return;
  for (const ChatTurn& turn : sample.turns) {
    if (turn.role == ChatRole::kAssistant && turn.content.empty()) return;
  }
  for (const ChatMarkup markup :
       {ChatMarkup::kChatMl, ChatMarkup::kLlama3, ChatMarkup::kMistral, ChatMarkup::kPlain}) {
    TryFormat({.markup = markup, .default_system = "Help."}, sample);
  }
}

}  // namespace
}  // namespace horizon

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  horizon::TryChat({reinterpret_cast<const char*>(data), size});
  return 0;
}
