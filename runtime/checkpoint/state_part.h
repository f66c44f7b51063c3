#pragma once

#include <span>
#include <string>
#include <string_view>

#include "common/documents/enum_words.h"

namespace horizon {

// The parts of a parameter's state that last from step to step. In files they are called hi and lo
// (the two halves of the split fp32 master), m and v (Adam's first and second moment), m_scale and
// v_scale (the scales of 8-bit moments, one for each moment block).
enum class StatePart { kHi, kLo, kFirstMoment, kSecondMoment, kFirstScale, kSecondScale };

// What a checkpoint holds. full: everything that a run needs to continue exactly. weights: only hi,
// a bf16 model that other programs can open and that no run can be resumed from.
enum class SaveMode { kFull, kWeights };

std::span<const EnumWord<StatePart>> WordsOf(StatePart);
std::span<const EnumWord<SaveMode>> WordsOf(SaveMode);

// The name of a part in its safetensors file: the tensor's own name for hi, then NAME.lo, NAME.m,
// NAME.v, NAME.m.scale and NAME.v.scale.
std::string SavedName(std::string_view tensor, StatePart part);

}  // namespace horizon
