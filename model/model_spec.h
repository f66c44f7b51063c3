#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace horizon {

// What a model is, as plain data: everything that fixes its tensors and its arithmetic, nothing
// about how it is trained. Made from a Hugging Face config.json (read_config.h) and then immutable.
//
// A family (model/families/) only reads the keys of its config.json into this and names its tensors
// on disk. What a layer is made of are the options below, whichever family asks for them:
//
//   attention:     x + residual_multiplier * [norm](o(attend(rotary([norm](q, k)), v)))
//   feed-forward:  x + residual_multiplier * [norm](down(activation(gate) * up))
//
// where q, k, v (gate, up) are projections of [norm](x) and norms in brackets are there or not.

enum class RopeKind { kDefault, kLinear, kLlama3, kYarn, kLongrope };
// "default", "linear", "llama3", "yarn", "longrope".
std::string_view ToString(RopeKind kind);

// Rotary position embedding of one kind of layer. Fields a kind does not use keep their defaults.
struct RopeSpec {
  RopeKind kind = RopeKind::kDefault;
  double theta = 10000.0;
  int64_t rotary_dim = 0;              // leading channels of a head that are rotated; 0: all
  double factor = 1.0;                 // linear, llama3, yarn, longrope
  double low_frequency_factor = 1.0;   // llama3
  double high_frequency_factor = 4.0;  // llama3
  int64_t original_max_positions = 0;  // llama3, yarn, longrope, and of the query scale
  double beta_fast = 32.0;             // yarn
  double beta_slow = 1.0;              // yarn
  double attention_factor = 0.0;       // yarn, longrope; 0: follows from factor
  double mscale = 0.0;                 // yarn; 0: not given
  double mscale_all_dim = 0.0;         // yarn; 0: not given
  bool truncate = true;                // yarn: round the correction range to integers
  // longrope: divisors of the frequencies, rotary_dim / 2 each. A job whose sequence is longer than
  // original_max_positions takes the long ones for all of its positions, any other the short ones.
  std::vector<double> short_factors;
  std::vector<double> long_factors;
  // Queries at position p are multiplied with 1 + query_scale_beta * ln(1 + floor(p /
  // original_max_positions)); 0: they are not.
  double query_scale_beta = 0.0;
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

// Most layers a model may have: a file cannot make us build an endless list.
inline constexpr int64_t kMaxLayers = 100'000;

// One decoder layer where layers may differ.
inline constexpr int32_t kNoRotary = -1;
struct LayerSpec {
  int64_t sliding_window = 0;  // tokens a position sees, itself included; 0: all before it
  bool has_experts = false;
  int32_t rope = 0;  // index into ModelSpec::ropes, or kNoRotary
  friend bool operator==(const LayerSpec&, const LayerSpec&) = default;
};

// Where a half of a layer (attention, feed-forward) has its RMSNorm: before its projections, after
// them (before the residual is added), or both.
enum class NormPlace { kBefore, kAfter, kBoth };

// RMSNorm of queries and keys before rotary: none, over each head, or over all heads together.
enum class QkNorm { kNone, kPerHead, kFullWidth };

// The activation function of the gated linear unit: activation(gate) * up.
enum class Activation { kSilu, kGeluTanh };

struct ModelSpec {
  std::string name;              // a catalog name, or the folder it was read from
  std::string family = "llama";  // model_type of config.json, or of its text_config
  // model_type of the multimodal model that this is the text part of ("gemma3"); empty: none. Its
  // tensors have other names on disk, beside tensors that are not ours (disk_tensors.h).
  std::string wrapper;
  int64_t hidden = 0;
  int64_t intermediate = 0;  // of the dense feed-forward part; 0 where every layer has experts
  int64_t heads = 0;
  int64_t kv_heads = 0;
  int64_t head_dim = 0;
  int64_t vocab = 0;
  int64_t max_positions = 0;
  bool tied = false;  // the head is the embedding table
  // The row of the embedding that lookups do not train (pad_token_id; as PyTorch's padding_idx);
  // -1: none. As a row of a tied head it is trained.
  int64_t padding_token = -1;
  bool qkv_bias = false;
  bool output_bias = false;  // of the attention output projection
  bool mlp_bias = false;     // of gate, up and down (dense)
  bool expert_bias = false;  // of experts and router (gpt_oss)
  NormPlace norm_place = NormPlace::kBefore;
  bool norm_adds_one = false;  // norms multiply with 1 + weight, all of them (gemma)
  QkNorm qk_norm = QkNorm::kNone;
  bool attention_sinks = false;  // one learned logit a head (gpt_oss)
  Activation activation = Activation::kSilu;
  double norm_epsilon = 1e-6;
  double attention_scale = 0.0;       // of the scores; 0: 1 / sqrt(head_dim)
  double embedding_multiplier = 1.0;  // of the embedding's output
  // The multiplier is rounded to the type that compute has weights in (gemma).
  bool embedding_multiplier_rounds = false;
  double residual_multiplier = 1.0;  // of what attention and feed-forward add
  double logit_multiplier = 1.0;     // of the logits
  double swiglu_limit = 0.0;         // clamp of gate and up before SwiGLU; 0: none (gpt_oss 7.0)
  double swiglu_alpha = 1.0;         // slope inside SwiGLU's sigmoid (gpt_oss 1.702)
  double initializer_range = 0.02;
  std::vector<RopeSpec> ropes = {RopeSpec{}};  // by kind of layer; layers name theirs
  ExpertsSpec experts;
  std::vector<LayerSpec> layers;

  int64_t layer_count() const { return static_cast<int64_t>(layers.size()); }
  int64_t query_width() const { return heads * head_dim; }
  int64_t key_width() const { return kv_heads * head_dim; }
  int64_t RotaryDimOf(const RopeSpec& rope) const {
    return rope.rotary_dim == 0 ? head_dim : rope.rotary_dim;
  }
  bool norm_before() const { return norm_place != NormPlace::kAfter; }
  bool norm_after() const { return norm_place != NormPlace::kBefore; }
  friend bool operator==(const ModelSpec&, const ModelSpec&) = default;
};

}  // namespace horizon
