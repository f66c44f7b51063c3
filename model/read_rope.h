#pragma once

#include <cstdint>

#include "common/document.h"
#include "model/config_fields.h"
#include "model/model_spec.h"

namespace horizon {

// What a family takes where config.json says nothing.
struct RopeDefaults {
  double theta = 10000.0;
  RopeSpec spec;  // used whole (theta apart) when no settings are given at all
};

// Reads rotary settings in both spellings: rope_theta with rope_scaling, and rope_parameters (whose
// kind is rope_type, in old files type). As in transformers a rope_scaling that is not empty goes
// before rope_parameters, and a theta inside goes before one beside it. Errors are left in `fields`
// or, from inside the settings, returned: kinds other than default, linear, llama3 and yarn,
// partial rotation, settings for each layer type, and keys nobody knows are refused by name.
absl::StatusOr<RopeSpec> ReadRope(const Document& document, ConfigFields& fields,
                                  int64_t max_positions, const RopeDefaults& defaults);

}  // namespace horizon
