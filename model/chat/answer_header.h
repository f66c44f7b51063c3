#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace horizon {

// Finds the header of an assistant's message in rendered text: the part that the generation prompt
// would write, such as "<|im_start|>assistant\n". The model does not produce the header, so the
// loss mask leaves it out (loss_mask.h).

// Returns the text that the generation prompt adds, given a conversation rendered without and with
// it. A tag that opens reasoning, and everything after the tag, is left out, because the model may
// write those itself: "<|im_start|>assistant\n<think>\n" gives "<|im_start|>assistant\n".
std::string OpeningOf(std::string_view without_prompt, std::string_view with_prompt);

// Returns how many bytes at the start of `written`, the text that was written for an assistant's
// message, are its header. `words` is the offset in `written` of the first text quoted from the
// record, or the size of `written` if nothing is quoted. `opening` is the result of OpeningOf; if
// it is empty or not found, the header is the word "assistant" and the rest of its line.
size_t HeaderLength(std::string_view written, size_t words, std::string_view opening);

}  // namespace horizon
