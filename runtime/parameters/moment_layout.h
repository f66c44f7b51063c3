#pragma once

#include <array>
#include <cstdint>

#include "common/units.h"
#include "kernels/optimizer/adam.h"
#include "schedule/chunk_tensors.h"
#include "schedule/schedule.h"

namespace horizon {

// Where the moments of a trained tensor lie in the moments buffer of its chunk: all first moments
// of the chunk, then all second ones; in the 8-bit format the scales of both come first, one for
// each block of kMomentBlock parameters of a tensor.
struct MomentPart {
  uint64_t offset = 0;  // bytes, in the buffer
  Bytes bytes;
};

class MomentLayout {
 public:
  MomentLayout(const Schedule& schedule, int32_t chunk);

  MomentType type() const { return type_; }
  // First moments, second moments, their scales (of no bytes where the format has none) of a
  // trained slice. Slices are asked for in any order.
  std::array<MomentPart, 4> PartsOf(const TensorSlice& slice) const;

 private:
  uint64_t BlocksBefore(const TensorSlice& slice) const;

  const Schedule& schedule_;
  int32_t chunk_;
  MomentType type_;
};

}  // namespace horizon
