#include "model/families/unsupported_families.h"

namespace horizon {
namespace {

struct Reason {
  std::string_view model_type;
  std::string_view has;
};

constexpr Reason kReasons[] = {
    {"deepseek_v2", "multi-head latent attention and shared experts"},
    {"deepseek_v3", "multi-head latent attention, shared experts and a sigmoid router"},
    {"deepseek_v32", "sparse attention, shared experts and a sigmoid router"},
    {"dots1", "shared experts and a sigmoid router"},
    {"ernie4_5_moe", "shared experts"},
    {"glm4_moe", "shared experts and a sigmoid router"},
    {"kimi_k2", "multi-head latent attention, shared experts and a sigmoid router"},
    {"llama4", "shared experts and a sigmoid router"},
    {"llama4_text", "shared experts and a sigmoid router"},
    {"qwen2_moe", "shared experts"},
    {"qwen3_5_moe", "linear attention and shared experts"},
    {"qwen3_next", "linear attention and shared experts"},
};

}  // namespace

std::string_view WhyUnsupported(std::string_view model_type) {
  for (const Reason& reason : kReasons) {
    if (reason.model_type == model_type) return reason.has;
  }
  return "";
}

}  // namespace horizon
