#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

struct XXH3_state_s;

namespace horizon {

// 128 bits that name a content. Not for secrets: whoever wants two contents of one hash finds them.
struct Hash128 {
  uint64_t high = 0;
  uint64_t low = 0;
  friend bool operator==(const Hash128&, const Hash128&) = default;
};
// 32 hexadecimal digits.
std::string ToString(const Hash128& hash);

// XXH3 over bytes as they come: how they are cut into pieces does not matter. One thread.
class ContentHash {
 public:
  ContentHash();
  void Add(std::string_view bytes);
  // A text with its length before it, so that ("ab", "c") and ("a", "bc") differ.
  void AddField(std::string_view text);
  void AddField(uint64_t number);
  // Of all bytes so far; more may follow.
  Hash128 Get() const;

 private:
  struct Free {
    void operator()(XXH3_state_s* state) const;
  };
  std::unique_ptr<XXH3_state_s, Free> state_;
};

// 64 bits of `bytes` in one go.
uint64_t HashBytes(std::string_view bytes, uint64_t seed);

}  // namespace horizon
