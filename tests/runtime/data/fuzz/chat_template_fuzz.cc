// Whatever the template, it is recognised or refused; and a recognised format renders.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/check.h"
#include "model/chat_format.h"
#include "tests/common/fuzz/fuzz_driver.h"

namespace horizon {
namespace {

void TryTemplate(std::string_view text) {
  const absl::StatusOr<ChatFormat> format = RecogniseChatFormat(text);
  if (!format.ok()) {
    CHECK(absl::IsInvalidArgument(format.status()));
    CHECK(format.status().message().find("--chat-format") != std::string::npos);
    return;
  }
  CHECK(*ChooseChatFormat("auto", text) == *format);
  CHECK(*ChooseChatFormat(ToString(format->markup), text) == *format);
  // The words of a prompt are the template's own bytes: as hostile as they come.
  const std::vector<ChatTurn> turns = {{ChatRole::kUser, std::string(text)},
                                       {ChatRole::kAssistant, std::string(text)}};
  const std::vector<ChatSegment> chat = RenderChat(*format, turns);
  const std::vector<ChatSegment> prompt = RenderChatPrompt(*format, std::span(turns).first(1));
  CHECK(prompt.size() < chat.size());
  for (size_t i = 0; i < prompt.size(); ++i) CHECK(prompt[i] == chat[i]);
  for (const ChatSegment& segment : chat) CHECK(!segment.is_markup || segment.text.size() < 30);
}

}  // namespace
}  // namespace horizon

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  horizon::TryTemplate({reinterpret_cast<const char*>(data), size});
  return 0;
}
