#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "absl/status/statusor.h"
#include "common/documents/document.h"
#include "model/config_fields.h"
#include "model/model_spec.h"

namespace horizon {

// Reads rotary settings in both spellings: rope_theta with rope_scaling, and rope_parameters (whose
// kind is rope_type, in old files type). As in transformers a rope_scaling that is not empty goes
// before rope_parameters, and a theta inside goes before one beside it. Errors are left in the
// context's fields or, from inside the settings, returned: kinds that the family does not have,
// partial rotation where it has none, and keys nobody knows are refused by name.

// Where settings are read, and what their defaults depend on.
struct RopeContext {
  const Document& document;
  ConfigFields& fields;
  int64_t max_positions;
  int64_t head_dim;
};

inline constexpr RopeKind kUsualRopeKinds[] = {RopeKind::kDefault, RopeKind::kLinear,
                                               RopeKind::kLlama3, RopeKind::kYarn};

// What a family's class takes, and what it takes where config.json says nothing.
struct RopeRules {
  double theta = 10000.0;
  // In place of the default kind where there are no settings at all.
  std::optional<RopeSpec> missing = {};
  // Whether a rope_theta beside no settings replaces that of `missing`.
  bool missing_takes_theta = true;
  std::span<const RopeKind> kinds = kUsualRopeKinds;
  // phi3: "su" and "yarn" are old words for longrope.
  bool old_longrope_words = false;
  bool partial = false;            // partial_rotary_factor counts
  int64_t original_positions = 0;  // where no key gives them; 0: max_positions
  bool query_scale = false;        // llama_4_scaling_beta counts, and is required
};

absl::StatusOr<RopeSpec> ReadRope(const RopeContext& context, const RopeRules& rules);

// For families whose full and sliding layers rotate differently. Settings given the old way
// (rope_scaling) are those of the full layers; rope_parameters has an object for each.
struct LayerTypeRopeRules {
  double full_theta = 10000.0;
  double sliding_theta = 10000.0;
  // The key of the sliding layers' theta outside rope_parameters; empty: there is none.
  std::string_view sliding_theta_key = {};
};

struct LayerTypeRopes {
  RopeSpec full;
  RopeSpec sliding;
};

absl::StatusOr<LayerTypeRopes> ReadLayerTypeRopes(const RopeContext& context,
                                                  const LayerTypeRopeRules& rules);

}  // namespace horizon
