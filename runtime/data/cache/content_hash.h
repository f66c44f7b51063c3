#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

struct XXH3_state_s;

namespace horizon {

// A 128-bit hash that identifies a content. It is not cryptographic: someone who wants two contents
// with the same hash can find them.
struct Hash128 {
  uint64_t high = 0;
  uint64_t low = 0;
  friend bool operator==(const Hash128&, const Hash128&) = default;
};
// 32 hexadecimal digits.
std::string ToString(const Hash128& hash);

// Computes XXH3 over bytes as they are added; how they are divided into calls does not matter. Used
// by one thread.
class ContentHash {
 public:
  ContentHash();
  void Add(std::string_view bytes);
  // Adds a text preceded by its length, so that ("ab", "c") and ("a", "bc") differ.
  void AddField(std::string_view text);
  void AddField(uint64_t number);
  // The hash of all bytes so far; more may be added.
  Hash128 Get() const;

 private:
  struct Free {
    void operator()(XXH3_state_s* state) const;
  };
  std::unique_ptr<XXH3_state_s, Free> state_;
};

// A 64-bit hash of `bytes` in one call.
uint64_t HashBytes(std::string_view bytes, uint64_t seed);

}  // namespace horizon
