#include "report/live/access_token.h"

#include <sys/random.h>

#include <array>
#include <cerrno>
#include <cstddef>

#include "common/files/io.h"
#include "common/text/str_cat.h"

namespace horizon {
namespace {

bool IsPlain(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
         (letter >= '0' && letter <= '9') || letter == '-' || letter == '.' || letter == '_' ||
         letter == '~';
}

}  // namespace

absl::StatusOr<std::string> MakeToken() {
  std::array<unsigned char, 16> bytes{};
  // Up to 256 bytes arrive whole or not at all.
  while (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    if (errno != EINTR) return IoError(errno, "get 16 random bytes for a token");
  }
  std::string text;
  for (const unsigned char byte : bytes) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

absl::Status CheckToken(std::string_view token) {
  constexpr size_t kFewest = 8;
  constexpr size_t kMost = 128;
  bool plain = true;
  for (const char letter : token) plain = plain && IsPlain(letter);
  if (plain && token.size() >= kFewest && token.size() <= kMost) return absl::OkStatus();
  return absl::InvalidArgumentError(
      StrCat("a token needs ", kFewest, " to ", kMost,
             " letters, digits, '-', '.', '_' or '~'; this one has ", token.size(), " bytes",
             plain ? "" : ", others among them", "; leave --token out to have one made"));
}

bool EqualsSecret(std::string_view given, std::string_view secret) {
  if (secret.empty()) return false;
  // volatile: a compiler that sees where the loop may stop would stop there.
  volatile unsigned char difference = given.size() == secret.size() ? 0 : 1;
  for (size_t i = 0; i < given.size(); ++i) {
    const auto left = static_cast<unsigned char>(given[i]);
    const auto right = static_cast<unsigned char>(secret[i % secret.size()]);
    difference = static_cast<unsigned char>(difference | (left ^ right));
  }
  return difference == 0;
}

}  // namespace horizon
