#pragma once

#include <string>
#include <string_view>

namespace horizon {

// A Jinja template in one spelling, so that its statements can be looked for: comments are gone;
// inside {{ }} and {% %} there are no spaces outside of literals and no trim signs, every literal
// has single quotes, and a newline in one is written \n. message['content'] and message.content are
// `content`, message['role'] is `message.role`. Text between the statements stays as it is. Of
// something that is no template the result means nothing, but it is never longer than the template
// by more than a byte for each newline and quote in it.
std::string CompactTemplate(std::string_view text);

}  // namespace horizon
