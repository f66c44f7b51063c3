#include "report/live/http_message.h"

#include <algorithm>

namespace horizon {
namespace {

char Lower(char letter) {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

}  // namespace

bool EqualIgnoringCase(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char left, char right) { return Lower(left) == Lower(right); });
}

std::string_view HttpRequest::Field(std::string_view name) const {
  std::string_view found;
  int count = 0;
  for (const auto& [key, value] : fields) {
    if (!EqualIgnoringCase(key, name)) continue;
    found = value;
    ++count;
  }
  return count == 1 ? found : std::string_view();
}

}  // namespace horizon
