#pragma once

#include <array>
#include <cstdint>

#include "common/checked.h"
#include "common/units.h"
#include "model/stages/stage_description.h"

namespace horizon {

// The memory layout of a stage's activations and scratch arrays: offsets and sizes in bytes,
// computed from the description of the stage. LayOutMemory reserves this layout, the planner
// predicts with it, and the runtime places the arrays by it, so the three always agree.
//
//   const ArrayLayout kept = ArrayLayout::Kept(ArraysOf(spec, kind), tokens, 2_B);
//   kept.bytes();                       // all activations of the stage
//   kept.At(ArrayRole::kQuery).offset;  // where the queries are among them

// The passes over a stage that have a scratch layout of their own.
enum class ScratchPass : uint8_t {
  kForward,         // forward that keeps no activations: they are scratch too
  kKeepingForward,  // forward or recompute that keeps the activations for backward
  kBackward,
};

class ArrayLayout {
 public:
  struct Place {
    bool laid_out = false;  // the array is part of this layout
    ArrayType type = ArrayType::kActivation;
    uint64_t offset = 0;
    Bytes bytes;
    // Values from one token to the next; 0 where the array holds one piece of tokens at a time.
    int64_t token_stride = 0;
  };

  ArrayLayout() = default;  // an empty layout
  // The layout of the activations that backward reads: one array after another, the input first.
  // `value_bytes` is the size of an activation (4 or 2).
  static ArrayLayout Kept(const ArrayDescriptions& arrays, CheckedU64 tokens, Bytes value_bytes);
  // The scratch layout of a pass. Arrays that are never live at the same time may share memory.
  static ArrayLayout Scratch(const ArrayDescriptions& arrays, ScratchPass pass, CheckedU64 tokens,
                             Bytes value_bytes, int64_t piece_tokens = kPieceTokens);

  // Overflowed if the sizes do not fit 64 bits; the places are meaningless then.
  Bytes bytes() const { return bytes_; }
  const Place& At(ArrayRole role) const { return places_[static_cast<size_t>(role)]; }

 private:
  void Put(const ArrayDescription& array, CheckedU64 offset, Bytes bytes, bool all_tokens);

  std::array<Place, kArrayRoles> places_;
  Bytes bytes_;
};

}  // namespace horizon
