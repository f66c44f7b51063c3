#include "simulator/rate_group.h"

namespace horizon {

std::span<const EnumWord<RateGroup>> WordsOf(RateGroup) {
  static constexpr EnumWord<RateGroup> kWords[] = {{RateGroup::kCompute, "compute"},
                                                   {RateGroup::kCopiesIn, "copies_in"},
                                                   {RateGroup::kCopiesOut, "copies_out"},
                                                   {RateGroup::kAdam, "adam"},
                                                   {RateGroup::kNorm, "norm"},
                                                   {RateGroup::kAccumulate, "accumulate"},
                                                   {RateGroup::kPasses, "passes"}};
  return kWords;
}

std::optional<RateGroup> GroupOf(const Operation& operation) {
  if (operation.lane == Lane::kCompute) return RateGroup::kCompute;
  if (operation.lane == Lane::kH2d) return RateGroup::kCopiesIn;
  if (operation.lane == Lane::kD2h) return RateGroup::kCopiesOut;
  switch (operation.kind) {
    case OperationKind::kAdam:
      return RateGroup::kAdam;
    case OperationKind::kNorm:
      return RateGroup::kNorm;
    case OperationKind::kAccumulate:
      return RateGroup::kAccumulate;
    case OperationKind::kGather:
    case OperationKind::kScatter:
    case OperationKind::kTiedSum:
    case OperationKind::kClipGradient:
      return RateGroup::kPasses;
    default:
      return std::nullopt;
  }
}

}  // namespace horizon
