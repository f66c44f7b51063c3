#pragma once

#include <array>
#include <cstdint>

#include "common/units.h"
#include "kernels/optimizer/adam.h"
#include "schedule/chunk_tensors.h"
#include "schedule/schedule.h"

namespace horizon {

// A part of the moments buffer of a chunk. The buffer holds all first moments of the chunk, then
// all second moments; in the 8-bit format the scales of both come first, one for each moment block
// of kMomentBlock parameters of a tensor.
struct MomentPart {
  uint64_t offset = 0;  // bytes, in the buffer
  Bytes bytes;
};

// Says where the optimizer moments of a trained tensor are stored in the moments buffer of its
// chunk.
class MomentLayout {
 public:
  MomentLayout(const Schedule& schedule, int32_t chunk);

  MomentType type() const { return type_; }
  // The first moments, second moments, first scales and second scales of a trained slice, in this
  // order. Scales have no bytes where the format has none. Slices may be asked for in any order.
  std::array<MomentPart, 4> PartsOf(const TensorSlice& slice) const;

 private:
  uint64_t BlocksBefore(const TensorSlice& slice) const;

  const Schedule& schedule_;
  int32_t chunk_;
  MomentType type_;
};

}  // namespace horizon
