#include "model/model_spec.h"

namespace horizon {

std::string_view ToString(RopeKind kind) {
  switch (kind) {
    case RopeKind::kDefault:
      return "default";
    case RopeKind::kLinear:
      return "linear";
    case RopeKind::kLlama3:
      return "llama3";
    case RopeKind::kYarn:
      return "yarn";
    case RopeKind::kLongrope:
      return "longrope";
  }
  return "unknown";
}

}  // namespace horizon
