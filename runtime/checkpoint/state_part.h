#pragma once

#include <span>
#include <string>
#include <string_view>

#include "common/documents/enum_words.h"

namespace horizon {

// What is kept of a parameter between steps, by its word in files: hi and lo (the master's halves),
// m and v (Adam's moments), m_scale and v_scale (of the 8-bit moments, one for each block).
enum class StatePart { kHi, kLo, kFirstMoment, kSecondMoment, kFirstScale, kSecondScale };

// What a checkpoint holds. full: everything a run needs to go on exactly. weights: hi alone, a
// model that others can open and that no run can be resumed from.
enum class SaveMode { kFull, kWeights };

std::span<const EnumWord<StatePart>> WordsOf(StatePart);
std::span<const EnumWord<SaveMode>> WordsOf(SaveMode);

// The name of a part in its safetensors file: the tensor's own for hi, then NAME.lo, NAME.m,
// NAME.v, NAME.m.scale and NAME.v.scale.
std::string SavedName(std::string_view tensor, StatePart part);

}  // namespace horizon
