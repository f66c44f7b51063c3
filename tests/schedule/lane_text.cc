#include "tests/schedule/lane_text.h"

#include "common/text/str_cat.h"

namespace horizon {

std::string LaneText(const Phase& phase, Lane lane) {
  std::string text;
  for (const Operation& op : phase.operations) {
    if (op.lane != lane) continue;
    text += StrCat(text.empty() ? "" : ", ", ToString(op.kind));
    if (op.chunk >= 0) text += StrCat(" ", op.chunk);
    if (op.micro_batch > 0) text += StrCat(" mb", op.micro_batch);
  }
  return text;
}

}  // namespace horizon
