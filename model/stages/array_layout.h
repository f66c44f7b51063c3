#pragma once

#include <array>
#include <cstdint>

#include "common/checked.h"
#include "common/units.h"
#include "model/stages/stage_description.h"

namespace horizon {

// Where the arrays of a stage lie, computed from their description: offsets and sizes in bytes.
// What LayOutMemory reserves, the planner predicts and the runtime carves is this one layout.
//
//   const ArrayLayout kept = ArrayLayout::Kept(ArraysOf(spec, stage), tokens, 2_B);
//   kept.bytes();                           // of all activations of the stage
//   kept.At(ArrayRole::kQuery).offset;      // of the queries in there

// Passes over a stage that have scratch of their own.
enum class ScratchOf : uint8_t {
  kForward,         // nothing is kept: what backward would read is scratch too
  kKeepingForward,  // forward, or recompute, that keeps it
  kBackward,
};

class ArrayLayout {
 public:
  struct Place {
    bool laid_out = false;
    ArrayType type = ArrayType::kActivation;
    uint64_t offset = 0;
    Bytes bytes;
  };

  ArrayLayout() = default;  // nothing
  // What backward reads: one array behind the other, the input first. `value_bytes`: of an
  // activation (4 or 2).
  static ArrayLayout Kept(const ArrayDescriptions& arrays, CheckedU64 tokens, Bytes value_bytes);
  // The scratch of a pass. Arrays that are not in use at once may share memory.
  static ArrayLayout Scratch(const ArrayDescriptions& arrays, ScratchOf pass, CheckedU64 tokens,
                             Bytes value_bytes);

  // Overflowed when the sizes pass 64 bits; places are meaningless then.
  Bytes bytes() const { return bytes_; }
  const Place& At(ArrayRole role) const { return places_[static_cast<size_t>(role)]; }

 private:
  void Put(const ArrayDescription& array, CheckedU64 offset, Bytes bytes);

  std::array<Place, kArrayRoles> places_;
  Bytes bytes_;
};

}  // namespace horizon
