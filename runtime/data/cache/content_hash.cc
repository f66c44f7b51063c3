#include "runtime/data/cache/content_hash.h"

#include <xxhash.h>

#include <cstring>

#include "common/check.h"

namespace horizon {

std::string ToString(const Hash128& hash) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const uint64_t word : {hash.high, hash.low}) {
    for (int shift = 60; shift >= 0; shift -= 4) text.push_back(kDigits[word >> shift & 15]);
  }
  return text;
}

void ContentHash::Free::operator()(XXH3_state_s* state) const { XXH3_freeState(state); }

ContentHash::ContentHash() : state_(XXH3_createState()) {
  CHECK(state_ != nullptr);
  XXH3_128bits_reset(state_.get());
}

void ContentHash::Add(std::string_view bytes) {
  XXH3_128bits_update(state_.get(), bytes.data(), bytes.size());
}

void ContentHash::AddField(std::string_view text) {
  AddField(static_cast<uint64_t>(text.size()));
  Add(text);
}

void ContentHash::AddField(uint64_t number) {
  char bytes[sizeof(number)];
  std::memcpy(bytes, &number, sizeof(number));
  Add({bytes, sizeof(bytes)});
}

Hash128 ContentHash::Get() const {
  const XXH128_hash_t hash = XXH3_128bits_digest(state_.get());
  return {.high = hash.high64, .low = hash.low64};
}

uint64_t HashBytes(std::string_view bytes, uint64_t seed) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

}  // namespace horizon
