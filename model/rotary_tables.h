#pragma once

#include <cstdint>

#include "model/model_spec.h"

namespace horizon {

// The layout of the rotary tables of a model. All tables are stored one after another in one
// buffer: for each of spec.ropes the cosines and sines [sequence, 2, rotary_dim / 2] that rotate
// keys, and, if queries are scaled by position, a second table that includes that scale and rotates
// queries.

// What a table rotates. Without a query scale, both use the same table.
enum class RotaryOf { kKeys, kQueries };

// How many tables a rope has: 1, or 2 if queries are scaled by position.
inline int64_t RotaryTablesOf(const RopeSpec& rope) { return rope.query_scale_beta != 0 ? 2 : 1; }

// Where the table of rope number `rope` begins, in values per position. Multiply by the sequence
// length to get the offset into the buffer.
inline int64_t RotaryTableBegin(const ModelSpec& spec, int32_t rope, RotaryOf of) {
  int64_t begin = 0;
  for (int32_t i = 0; i < rope; ++i) {
    const RopeSpec& before = spec.ropes[static_cast<size_t>(i)];
    begin += RotaryTablesOf(before) * spec.RotaryDimOf(before);
  }
  const RopeSpec& own = spec.ropes[static_cast<size_t>(rope)];
  const bool second = of == RotaryOf::kQueries && RotaryTablesOf(own) == 2;
  return begin + (second ? spec.RotaryDimOf(own) : 0);
}

// The width of all tables together, in values per position.
inline int64_t RotaryTablesWidth(const ModelSpec& spec) {
  const auto last = static_cast<int32_t>(spec.ropes.size()) - 1;
  return RotaryTableBegin(spec, last, RotaryOf::kQueries) + spec.RotaryDimOf(spec.ropes.back());
}

}  // namespace horizon
