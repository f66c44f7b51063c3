#include "runtime/checkpoint/state_part.h"

#include "common/text/str_cat.h"

namespace horizon {
namespace {

constexpr EnumWord<StatePart> kPartWords[] = {{StatePart::kHi, "hi"},
                                              {StatePart::kLo, "lo"},
                                              {StatePart::kFirstMoment, "m"},
                                              {StatePart::kSecondMoment, "v"},
                                              {StatePart::kFirstScale, "m_scale"},
                                              {StatePart::kSecondScale, "v_scale"}};
constexpr EnumWord<SaveMode> kModeWords[] = {{SaveMode::kFull, "full"},
                                             {SaveMode::kWeights, "weights"}};

}  // namespace

std::span<const EnumWord<StatePart>> WordsOf(StatePart) { return kPartWords; }
std::span<const EnumWord<SaveMode>> WordsOf(SaveMode) { return kModeWords; }

std::string SavedName(std::string_view tensor, StatePart part) {
  switch (part) {
    case StatePart::kHi:
      return std::string(tensor);
    case StatePart::kLo:
      return StrCat(tensor, ".lo");
    case StatePart::kFirstMoment:
      return StrCat(tensor, ".m");
    case StatePart::kSecondMoment:
      return StrCat(tensor, ".v");
    case StatePart::kFirstScale:
      return StrCat(tensor, ".m.scale");
    case StatePart::kSecondScale:
      return StrCat(tensor, ".v.scale");
  }
  return std::string(tensor);
}

}  // namespace horizon
