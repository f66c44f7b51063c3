#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace horizon {

// A ModelSpec describes a model as plain data: everything that determines its tensors and its
// arithmetic, and nothing about how it is trained. ReadConfig (read_config.h) makes one from a
// Hugging Face config.json; after that it does not change.
//
// A family (model/families/) only reads the keys of its config.json into these fields and names the
// family's tensors on disk. The fields below decide what a layer computes, whichever family sets
// them:
//
//   attention:     x + residual_multiplier * [norm](o(attend(rotary([norm](q, k)), v)))
//   feed-forward:  x + residual_multiplier * [norm](down(activation(gate) * up))
//
// Here q, k and v (gate and up) are projections of [norm](x). A norm in brackets is optional.

// The kinds of rotary embedding, with the names that transformers gives them.
enum class RopeKind { kDefault, kLinear, kLlama3, kYarn, kLongrope };
// "default", "linear", "llama3", "yarn", "longrope".
std::string_view ToString(RopeKind kind);

// Rotary position embedding (RoPE) of one kind of layer. A field that the kind does not use keeps
// its default.
struct RopeSpec {
  RopeKind kind = RopeKind::kDefault;
  double theta = 10000.0;
  int64_t rotary_dim = 0;              // leading channels of a head that are rotated; 0: all
  double factor = 1.0;                 // linear, llama3, yarn, longrope
  double low_frequency_factor = 1.0;   // llama3
  double high_frequency_factor = 4.0;  // llama3
  int64_t original_max_positions = 0;  // llama3, yarn, longrope, and the query scale
  double beta_fast = 32.0;             // yarn
  double beta_slow = 1.0;              // yarn
  double attention_factor = 0.0;       // yarn, longrope; 0: computed from factor
  double mscale = 0.0;                 // yarn; 0: not set
  double mscale_all_dim = 0.0;         // yarn; 0: not set
  bool truncate = true;                // yarn: round the correction range to integers
  // longrope: divisors of the frequencies, rotary_dim / 2 of each. A job with a sequence longer
  // than original_max_positions uses the long factors for all positions; any other job uses the
  // short ones.
  std::vector<double> short_factors;
  std::vector<double> long_factors;
  // Queries at position p are multiplied by 1 + query_scale_beta * ln(1 + floor(p /
  // original_max_positions)). 0: they are not scaled.
  double query_scale_beta = 0.0;
  friend bool operator==(const RopeSpec&, const RopeSpec&) = default;
};

// A mixture of experts that replaces the dense feed-forward part.
struct ExpertsSpec {
  int64_t experts = 0;  // 0: the model is dense
  int64_t experts_per_token = 0;
  int64_t intermediate = 0;      // width of one expert
  bool normalise_top_k = false;  // the weights of the chosen experts are scaled to sum to one
  bool fused_tensors = false;    // on disk one tensor holds all experts of a layer (gpt_oss)
  friend bool operator==(const ExpertsSpec&, const ExpertsSpec&) = default;
};

// The most layers a model may have, so that a file cannot make us build an endless list.
inline constexpr int64_t kMaxLayers = 100'000;

// The value of LayerSpec::rope for a layer without rotary embedding.
inline constexpr int32_t kNoRotary = -1;
// The settings of one decoder layer that may differ from layer to layer.
struct LayerSpec {
  // How many tokens a position attends to, itself included; 0: itself and all before it.
  int64_t sliding_window = 0;
  bool has_experts = false;
  int32_t rope = 0;  // index into ModelSpec::ropes; kNoRotary: the layer does not rotate
  friend bool operator==(const LayerSpec&, const LayerSpec&) = default;
};

// Where attention and feed-forward each have their RMSNorm: before their projections, after them
// (before the residual is added), or both.
enum class NormPlace { kBefore, kAfter, kBoth };

// RMSNorm of queries and keys before rotary: none, over each head, or over all heads together.
enum class QkNorm { kNone, kPerHead, kFullWidth };

// The activation function of the gated linear unit: activation(gate) * up.
enum class Activation { kSilu, kGeluTanh };

struct ModelSpec {
  std::string name;              // the catalog name, or the folder it was read from
  std::string family = "llama";  // model_type of the config.json, or of its text_config
  // For the text part of a multimodal model: the model_type of the whole ("gemma3"). Empty for a
  // text model. The tensors of a wrapped model have other names on disk, beside tensors that are
  // not ours (disk_tensors.h).
  std::string wrapper;
  int64_t hidden = 0;
  int64_t intermediate = 0;  // width of the dense feed-forward part; 0: every layer has experts
  int64_t heads = 0;
  int64_t kv_heads = 0;
  int64_t head_dim = 0;
  int64_t vocab = 0;
  int64_t max_positions = 0;
  bool tied = false;  // the head uses the embedding table as its weight
  // The row of the embedding table that lookups do not train: pad_token_id, like padding_idx of
  // PyTorch's nn.Embedding. -1: none. If the head is tied, the head still trains this row.
  int64_t padding_token = -1;
  bool qkv_bias = false;
  bool output_bias = false;  // bias of the attention output projection
  bool mlp_bias = false;     // bias of gate, up and down (dense)
  bool expert_bias = false;  // bias of experts and router (gpt_oss)
  NormPlace norm_place = NormPlace::kBefore;
  bool norm_adds_one = false;  // every norm multiplies by 1 + weight (gemma)
  QkNorm qk_norm = QkNorm::kNone;
  bool attention_sinks = false;  // each head has one learned sink logit (gpt_oss)
  Activation activation = Activation::kSilu;
  double norm_epsilon = 1e-6;
  double attention_scale = 0.0;       // scale of the scores; 0: 1 / sqrt(head_dim)
  double embedding_multiplier = 1.0;  // multiplies the output of the embedding
  // The multiplier is rounded to the type in which compute reads weights (gemma).
  bool embedding_multiplier_rounds = false;
  // Multiplies what attention and feed-forward add to the residual stream.
  double residual_multiplier = 1.0;
  double logit_multiplier = 1.0;  // multiplies the logits
  double swiglu_limit = 0.0;      // gate and up are clamped before SwiGLU; 0: no (gpt_oss: 7.0)
  double swiglu_alpha = 1.0;      // slope inside the sigmoid of SwiGLU (gpt_oss: 1.702)
  double initializer_range = 0.02;
  std::vector<RopeSpec> ropes = {RopeSpec{}};  // LayerSpec::rope is an index into these
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

// The numbers, from 0, of the layers with experts, in ascending order. Empty for a dense model.
std::vector<int64_t> LayersWithExperts(const ModelSpec& spec);

}  // namespace horizon
