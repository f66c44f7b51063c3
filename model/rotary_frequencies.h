#pragma once

#include <cstdint>
#include <vector>

#include "model/model_spec.h"

namespace horizon {

// The numbers in which the kinds of rotary embedding differ: the angle by which each pair of
// channels rotates per position, and the factor that scales cosines and sines.
struct RotaryFrequencies {
  std::vector<float> frequencies;  // radians per position, rotary_dim / 2 of them
  float factor = 1.0F;             // multiplies cosines and sines; 1 except with yarn and longrope
};

// Computes the frequencies of the first `rotary_dim` channels of a head (ModelSpec::RotaryDimOf; it
// must be even and at least 2, a CHECK) in fp32. The formulas and the order of operations are those
// of modeling_rope_utils in transformers, so the results are equal except for the last bit of its
// vectorised power. Only longrope depends on `sequence`, the sequence length in tokens: above
// original_max_positions it has other frequencies for all positions. Pure. The results are finite
// for every spec that read_rope.h accepts with a theta above 1.
RotaryFrequencies FrequenciesOf(const RopeSpec& rope, int64_t rotary_dim, int64_t sequence);

// The factor that queries at a position (from 0) are multiplied by after rotation, computed in fp32
// as transformers does for ministral3; 1 if the rope has no query scale. Pure.
float QueryScaleOf(const RopeSpec& rope, int64_t position);

}  // namespace horizon
