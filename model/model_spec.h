#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/checked.h"

namespace horizon {

// What a model is, as plain data: everything that fixes its tensors and its arithmetic, nothing
// about how it is trained. Made from a Hugging Face config.json (read_config.h) and then immutable.

// The model families we know; each follows the transformers class of the same model_type.
enum class ModelFamily { kLlama, kQwen2, kQwen3, kMistral, kMixtral, kQwen3Moe, kGptOss };
// "llama", "qwen2", ... : the model_type of config.json.
std::string_view ToString(ModelFamily family);

enum class RopeKind { kDefault, kLinear, kLlama3, kYarn };
std::string_view ToString(RopeKind kind);

// Rotary position embedding. Fields a kind does not use keep their defaults.
struct RopeSpec {
  RopeKind kind = RopeKind::kDefault;
  double theta = 10000.0;
  double factor = 1.0;                 // linear, llama3, yarn
  double low_frequency_factor = 1.0;   // llama3
  double high_frequency_factor = 4.0;  // llama3
  int64_t original_max_positions = 0;  // llama3, yarn
  double beta_fast = 32.0;             // yarn
  double beta_slow = 1.0;              // yarn
  double attention_factor = 0.0;       // yarn; 0: 0.1 ln(factor) + 1
  double mscale = 0.0;                 // yarn; 0: not given
  double mscale_all_dim = 0.0;         // yarn; 0: not given
  bool truncate = true;                // yarn: round the correction range to integers
  friend bool operator==(const RopeSpec&, const RopeSpec&) = default;
};

// A mixture of experts in place of the dense feed-forward part.
struct ExpertsSpec {
  int64_t experts = 0;  // 0: the model is dense
  int64_t experts_per_token = 0;
  int64_t intermediate = 0;      // width of one expert
  bool normalise_top_k = false;  // weights of the chosen experts are scaled to sum to one
  bool fused_tensors = false;    // one tensor for all experts of a layer on disk (gpt_oss)
  friend bool operator==(const ExpertsSpec&, const ExpertsSpec&) = default;
};

// One decoder layer where layers may differ.
struct LayerSpec {
  int64_t sliding_window = 0;  // tokens a position sees, itself included; 0: all before it
  bool has_experts = false;
  friend bool operator==(const LayerSpec&, const LayerSpec&) = default;
};

struct ModelSpec {
  std::string name;  // a catalog name, or the folder it was read from
  ModelFamily family = ModelFamily::kLlama;
  int64_t hidden = 0;
  int64_t intermediate = 0;  // of the dense feed-forward part; 0 where every layer has experts
  int64_t heads = 0;
  int64_t kv_heads = 0;
  int64_t head_dim = 0;
  int64_t vocab = 0;
  int64_t max_positions = 0;
  bool tied = false;  // the head is the embedding table
  bool qkv_bias = false;
  bool output_bias = false;      // of the attention output projection
  bool mlp_bias = false;         // of gate, up and down (dense)
  bool expert_bias = false;      // of experts and router (gpt_oss)
  bool qk_norm = false;          // RMSNorm over each head of q and k
  bool attention_sinks = false;  // one learned logit a head (gpt_oss)
  double norm_epsilon = 1e-6;
  double swiglu_limit = 0.0;  // clamp of gate and up before SwiGLU; 0: none (gpt_oss 7.0)
  double swiglu_alpha = 1.0;  // slope inside SwiGLU's sigmoid (gpt_oss 1.702)
  double initializer_range = 0.02;
  RopeSpec rope;
  ExpertsSpec experts;
  std::vector<LayerSpec> layers;

  int64_t layer_count() const { return static_cast<int64_t>(layers.size()); }
  friend bool operator==(const ModelSpec&, const ModelSpec&) = default;
};

}  // namespace horizon
