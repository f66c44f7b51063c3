#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "model/config_fields.h"
#include "model/model_spec.h"

namespace horizon {

// What read_config.cc knows of config.json files, as tables.

// What the family's configuration class in transformers takes where config.json has no key.
struct FamilyDefaults {
  ModelFamily family;
  int64_t vocab, hidden, intermediate, layers, heads;
  int64_t kv_heads;  // 0: as many as heads
  int64_t head_dim;  // 0: hidden / heads
  int64_t max_positions;
  double norm_epsilon;
  double rope_theta;
  int64_t sliding_window;  // 0: none
};

std::span<const FamilyDefaults> KnownFamilies();

// Keys that cannot change the arithmetic of training: ids of tokens, generation, bookkeeping, types
// on disk, labels of classifiers.
std::span<const std::string_view> HarmlessKeys();

// Settings none of our families has, each with the value under which it does nothing.
struct NeutralKey {
  std::string_view key;
  Neutral neutral;
};

std::span<const NeutralKey> KeysNotHonoured();

}  // namespace horizon
