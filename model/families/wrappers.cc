#include "model/families/wrappers.h"

namespace horizon {
namespace {

constexpr std::string_view kGemma3[] = {"gemma3_text"};
constexpr std::string_view kMistral3[] = {"mistral", "ministral3"};

constexpr Wrapper kWrappers[] = {
    {.model_type = "gemma3", .families = kGemma3},
    {.model_type = "mistral3", .families = kMistral3},
};

constexpr std::string_view kVisionKeys[] = {
    "boi_token_id",      "boi_token_index",      "eoi_token_id",
    "eoi_token_index",   "image_token_id",       "image_token_index",
    "initializer_range", "mm_tokens_per_image",  "multimodal_projector_bias",
    "processor_class",   "projector_hidden_act", "spatial_merge_size",
    "vision_config",     "vision_feature_layer",
};

}  // namespace

std::span<const Wrapper> AllWrappers() { return kWrappers; }

const Wrapper* FindWrapper(std::string_view model_type) {
  for (const Wrapper& wrapper : kWrappers) {
    if (wrapper.model_type == model_type) return &wrapper;
  }
  return nullptr;
}

std::span<const std::string_view> VisionKeys() { return kVisionKeys; }

}  // namespace horizon
