#include "model/model_spec.h"

namespace horizon {

std::string_view ToString(ModelFamily family) {
  switch (family) {
    case ModelFamily::kLlama:
      return "llama";
    case ModelFamily::kQwen2:
      return "qwen2";
    case ModelFamily::kQwen3:
      return "qwen3";
    case ModelFamily::kMistral:
      return "mistral";
    case ModelFamily::kMixtral:
      return "mixtral";
    case ModelFamily::kQwen3Moe:
      return "qwen3_moe";
    case ModelFamily::kGptOss:
      return "gpt_oss";
  }
  return "unknown";
}

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
  }
  return "unknown";
}

}  // namespace horizon
