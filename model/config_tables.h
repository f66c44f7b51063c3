#pragma once

#include <span>
#include <string_view>

#include "model/config_fields.h"

namespace horizon {

// What is known of the keys of config.json files, whichever family reads them.

// Keys that cannot change the arithmetic of training: ids of tokens, generation, bookkeeping, types
// on disk, labels of classifiers.
std::span<const std::string_view> HarmlessKeys();

// Settings that a family honours by reading them, each with the value under which it does nothing:
// any other value is refused where the family did not read the key.
struct NeutralKey {
  std::string_view key;
  Neutral neutral;
};

std::span<const NeutralKey> NeutralKeys();

}  // namespace horizon
