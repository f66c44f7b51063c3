#pragma once

#include <cstdint>
#include <vector>

#include "model/model_spec.h"

namespace horizon {

// What distinguishes the kinds of rotary embedding: how far a pair of values turns from one
// position to the next, and what cosines and sines are scaled by.
struct RotaryFrequencies {
  std::vector<float> frequencies;  // radians a position, rotary_dim / 2 of them
  float factor = 1.0F;             // of cosines and sines; 1 except with yarn and longrope
};

// The frequencies of the first `rotary_dim` values of a head (ModelSpec::RotaryDimOf; even, at
// least 2; a CHECK) in fp32, by the formulas and in the order of operations of transformers'
// modeling_rope_utils: equal to its numbers but for the last bit of its vectorised power. Of the
// kinds only longrope depends on the length of the sequence in tokens: it has other frequencies,
// for all positions, when that is above original_max_positions. Pure. Finite for every spec
// read_rope.h accepts with theta above 1.
RotaryFrequencies FrequenciesOf(const RopeSpec& rope, int64_t rotary_dim, int64_t sequence);

// What queries at a position (from 0) are multiplied with after rotation, in fp32 as transformers
// computes it for ministral3; 1 where the rope has no query scale. Pure.
float QueryScaleOf(const RopeSpec& rope, int64_t position);

}  // namespace horizon
