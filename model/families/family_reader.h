#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "common/documents/document.h"
#include "model/config_fields.h"
#include "model/model_spec.h"
#include "model/read_rope.h"

namespace horizon {

// The sizes that a family's configuration class in transformers uses when config.json has no key.
struct SizeDefaults {
  int64_t vocab = 0;
  int64_t hidden = 0;
  int64_t intermediate = 0;
  int64_t layers = 0;
  int64_t heads = 0;
  int64_t kv_heads = 0;  // 0: as many as heads
  int64_t head_dim = 0;  // 0: hidden / heads
  int64_t max_positions = 0;
  double norm_epsilon = 1e-6;
  bool tied = false;
  int64_t padding_token = -1;  // -1: none
  // Whether null is allowed for these keys, where it means `heads` and hidden / heads. A class that
  // declares plain integers refuses null.
  bool null_kv_heads = true;
  bool null_head_dim = true;
};

// The same for the experts.
struct ExpertDefaults {
  int64_t experts = 0;
  int64_t experts_per_token = 0;
  bool may_have_none = false;  // zero experts are allowed and make a dense model
};

// Decides which layers have a sliding window.
struct WindowRule {
  int64_t window = 0;  // tokens; 0: no layer has a window
  // Whether a layer has the window when config.json has no layer_types.
  std::function<bool(int64_t layer)> slides = [](int64_t) { return true; };
  // Whether the class reads layer_types. If not, a list that contradicts the rule is refused.
  bool layer_types = true;
  // The reason why a config without layer_types must have a window; empty: it need not have one.
  std::string_view needs_window = {};
};

// Reads the config.json of one model for its family (family.h). A family's `read` is a list of
// calls, each of which reads some keys and sets some fields of the spec. The first error is kept
// and later calls do nothing, so `read` needs no error handling:
//
//   reader.Sizes({.vocab = 32000, .hidden = 4096, ...});
//   reader.Silu();
//   reader.NoWindow();
//   reader.Rope({});
//
// Sizes must come first, and Rope after it. If a key that no call reads is known to change the
// arithmetic (config_tables.h), any value but the neutral one is refused by name. The document and
// the object must outlive this.
class FamilyReader {
 public:
  // `path` names the object in messages: "" or "text_config".
  FamilyReader(const Document& document, const Value& object, std::string path);

  ModelSpec& spec() { return spec_; }
  ConfigFields& fields() { return fields_; }
  bool ok() const { return fields_.ok() && status_.ok(); }

  // Reads vocabulary, widths, layers, heads, positions, norm epsilon, tying and padding token.
  void Sizes(const SizeDefaults& defaults);

  // Reads hidden_act, which must be SiLU.
  void Silu();
  // Reads the activation function under `key`, which must be GELU in its tanh form.
  void GeluTanh(std::string_view key);

  // Reads attention_bias, which applies to queries, keys, values and output.
  void AttentionBias(bool missing = false);
  // Reads mlp_bias, which applies to gate, up and down.
  void MlpBias();

  // Reads num_experts or num_local_experts (transformers accepts either) and num_experts_per_tok.
  // Unless the family changes it afterwards, experts are as wide as intermediate_size, their
  // weights are scaled to sum to one, and all layers have them.
  void Experts(const ExpertDefaults& defaults);
  // Keeps experts only in the layers for which `has_experts` is true.
  void PlaceExperts(const std::function<bool(int64_t layer)>& has_experts);

  // Reads sliding_window in tokens: 0 for null, `missing` if there is no key.
  int64_t Window(int64_t missing);
  // The same, but 0 unless use_sliding_window (default false) is true.
  int64_t SwitchedWindow(int64_t missing);
  // Sets the windows of all layers from the rule, or from layer_types if the file has them.
  void Windows(const WindowRule& rule);
  // For a class without windows: refuses sliding_window and use_sliding_window.
  void NoWindow();

  // Reads one rotary embedding for all layers.
  void Rope(const RopeRules& rules);
  // Reads one rotary embedding for the layers without a window and one for those with. Call it
  // after Windows.
  void RopeByLayerType(const LayerTypeRopeRules& rules);

  // Refuses or ignores the keys that no call has read, and returns the first error.
  absl::Status Finish();

 private:
  void PaddingToken(int64_t missing);
  void HeadDim(const SizeDefaults& defaults);
  int64_t NumberOfExperts(int64_t missing);
  void ApplyLayerTypes(const std::vector<std::string>& types, const WindowRule& rule);
  RopeContext Context();

  const Document& document_;
  ConfigFields fields_;
  absl::Status status_;  // an error inside a nested object of the config
  ModelSpec spec_;
};

}  // namespace horizon
