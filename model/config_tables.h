#pragma once

#include <span>
#include <string_view>

#include "model/config_fields.h"

namespace horizon {

// Tables of config.json keys that mean the same in every model family.

// Keys that cannot change the arithmetic of training: token ids, generation settings, bookkeeping,
// data types on disk, labels of classifiers.
std::span<const std::string_view> HarmlessKeys();

// A setting that only some families read, with the value at which it has no effect. If the family
// of the file did not read the key, any other value is refused.
struct NeutralKey {
  std::string_view key;
  Neutral neutral;
};

std::span<const NeutralKey> NeutralKeys();

}  // namespace horizon
