#pragma once

#include <cstdint>
#include <vector>

#include "model/model_spec.h"

namespace horizon {

// What distinguishes the kinds of rotary embedding: how far a pair of values turns from one
// position to the next, and what cosines and sines are scaled by.
struct RotaryFrequencies {
  std::vector<float> frequencies;  // radians a position, head_dim / 2 of them
  float factor = 1.0F;             // of cosines and sines; 1 except with yarn
};

// The frequencies of a head of `head_dim` values (even, at least 2; a CHECK) in fp32, by the
// formulas and in the order of operations of transformers' modeling_rope_utils: equal to its
// numbers but for the last bit of its vectorised power. None of the kinds depends on the length of
// the sequence. Pure. Finite for every spec read_rope.h accepts with theta above 1.
RotaryFrequencies FrequenciesOf(const RopeSpec& rope, int64_t head_dim);

}  // namespace horizon
