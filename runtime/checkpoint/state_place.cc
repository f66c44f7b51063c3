#include "runtime/checkpoint/state_place.h"

#include "common/check.h"

namespace horizon {

uint64_t OffsetInTensor(const TensorSlice& slice, StatePart part, StateFormat format) {
  switch (part) {
    case StatePart::kHi:
    case StatePart::kLo:
      return 2 * slice.first;
    case StatePart::kFirstMoment:
    case StatePart::kSecondMoment:
      switch (format) {
        case StateFormat::kFp32:
        case StateFormat::kBf16Weights:
          return 4 * slice.first;
        case StateFormat::kBf16Moments:
          return 2 * slice.first;
        case StateFormat::k8BitMoments:
          return slice.first;
      }
      break;
    case StatePart::kFirstScale:
    case StatePart::kSecondScale:
      // All parts before have as many blocks as this one, which the slice is all of if there are
      // several.
      if (slice.part > 0) {
        CHECK(slice.first_in_part() == 0);
        return 4 * static_cast<uint64_t>(slice.part) *
               ((slice.count + kMomentBlock - 1) / kMomentBlock);
      }
      CHECK(slice.first % kMomentBlock == 0);
      return 4 * (slice.first / kMomentBlock);
  }
  CHECK(false);
  return 0;
}

}  // namespace horizon
