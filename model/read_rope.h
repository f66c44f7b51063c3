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

// Reads the rotary settings of a config.json in both spellings: rope_theta with rope_scaling, and
// rope_parameters (which gives its kind as rope_type, or as type in old files). As in transformers,
// a rope_scaling that is not empty takes precedence over rope_parameters, and a theta inside the
// settings over one beside them. An error in the outer keys is left in RopeContext::fields; an
// error inside the settings is returned. A kind that the family does not have, partial rotation in
// a family without it, and an unknown key are all refused by name.

// The place from which settings are read, and the sizes that their defaults depend on.
struct RopeContext {
  const Document& document;
  ConfigFields& fields;
  int64_t max_positions;
  int64_t head_dim;
};

// The kinds that most families accept.
inline constexpr RopeKind kUsualRopeKinds[] = {RopeKind::kDefault, RopeKind::kLinear,
                                               RopeKind::kLlama3, RopeKind::kYarn};

// The settings that a family's class accepts, and its defaults for missing keys.
struct RopeRules {
  double theta = 10000.0;
  // The embedding to use when there are no settings at all, instead of the default kind.
  std::optional<RopeSpec> missing = {};
  // Whether a rope_theta without any other settings replaces the theta of `missing`.
  bool missing_takes_theta = true;
  std::span<const RopeKind> kinds = kUsualRopeKinds;
  // phi3: "su" and "yarn" are old names of longrope.
  bool old_longrope_words = false;
  bool partial = false;            // the class reads partial_rotary_factor
  int64_t original_positions = 0;  // default of original_max_positions; 0: max_positions
  bool query_scale = false;        // the class reads llama_4_scaling_beta and requires it
};

// Reads one rotary embedding for all layers.
absl::StatusOr<RopeSpec> ReadRope(const RopeContext& context, const RopeRules& rules);

// For families in which full-attention and sliding-window layers rotate differently. Settings in
// the old spelling (rope_scaling) apply to the full layers; rope_parameters has an object for each.
struct LayerTypeRopeRules {
  double full_theta = 10000.0;
  double sliding_theta = 10000.0;
  // The key that gives the sliding layers' theta outside rope_parameters; empty: there is none.
  std::string_view sliding_theta_key = {};
};

// The rotary embeddings of full-attention layers and of sliding-window layers.
struct LayerTypeRopes {
  RopeSpec full;
  RopeSpec sliding;
};

absl::StatusOr<LayerTypeRopes> ReadLayerTypeRopes(const RopeContext& context,
                                                  const LayerTypeRopeRules& rules);

}  // namespace horizon
