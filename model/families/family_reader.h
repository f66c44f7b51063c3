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

// What a family's configuration class takes where config.json has no key.
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
  // A class may declare these as plain integers; then null is refused, and otherwise means heads
  // and hidden / heads.
  bool null_kv_heads = true;
  bool null_head_dim = true;
};

struct ExpertDefaults {
  int64_t experts = 0;
  int64_t experts_per_token = 0;
  bool may_have_none = false;  // zero experts make a dense model
};

// Which layers see a window only.
struct WindowRule {
  int64_t window = 0;  // tokens; 0: no window is in use
  // Whether a layer slides where config.json has no layer_types (and there is a window).
  std::function<bool(int64_t layer)> slides = [](int64_t) { return true; };
  // Whether the class reads layer_types. Where it does not, a list that says otherwise is refused.
  bool layer_types = true;
  // Why a window must be there where there are no layer_types; empty: it need not be.
  std::string_view needs_window = {};
};

// Reads the config.json of one model for its family (family.h): a list of statements, each of which
// reads some keys and sets some options of the spec. The first error is kept and later statements
// do nothing, so a family's `read` needs no error handling:
//
//   reader.Sizes({.vocab = 32000, .hidden = 4096, ...});
//   reader.Silu();
//   reader.NoWindow();
//   reader.Rope({});
//
// Sizes comes first; Rope after it. Keys that no statement asks for are refused by name when
// another value than the neutral one is known to change the arithmetic (config_tables.h).
// Refers to document and object, which must outlive it.
class FamilyReader {
 public:
  // `path` names the object in messages: "" or "text_config".
  FamilyReader(const Document& document, const Value& object, std::string path);

  ModelSpec& spec() { return spec_; }
  ConfigFields& fields() { return fields_; }
  bool ok() const { return fields_.ok() && status_.ok(); }

  void Sizes(const SizeDefaults& defaults);

  // The activation function of hidden_act, which must be SiLU.
  void Silu();
  // That of `key`, which must be GELU in its tanh form.
  void GeluTanh(std::string_view key);

  // attention_bias: of queries, keys, values and output.
  void AttentionBias(bool missing = false);
  // mlp_bias: of gate, up and down.
  void MlpBias();

  // num_experts or num_local_experts (transformers takes either), and num_experts_per_tok. Experts
  // are as wide as intermediate_size, their weights are scaled to sum to one, and all layers have
  // them, unless the family says otherwise afterwards.
  void Experts(const ExpertDefaults& defaults);
  // Leaves experts in the layers that `has_experts` names.
  void PlaceExperts(const std::function<bool(int64_t layer)>& has_experts);

  // sliding_window in tokens, 0 for null. `missing` where there is no key.
  int64_t Window(int64_t missing);
  // The same, where use_sliding_window (default false) switches it on.
  int64_t SwitchedWindow(int64_t missing);
  // Sets the windows of all layers from the rule, or from layer_types.
  void Windows(const WindowRule& rule);
  // The class has no windows: refuses sliding_window and use_sliding_window.
  void NoWindow();

  // One rotary embedding for all layers.
  void Rope(const RopeRules& rules);
  // One for the layers without a window and one for those with. After Windows.
  void RopeByLayerType(const LayerTypeRopeRules& rules);

  // Refuses or ignores what is left and returns the first error.
  absl::Status Finish();

 private:
  void PaddingToken(int64_t missing);
  void HeadDim(const SizeDefaults& defaults);
  int64_t NumberOfExperts(int64_t missing);
  void ApplyLayerTypes(const std::vector<std::string>& types, const WindowRule& rule);
  RopeContext Context();

  const Document& document_;
  ConfigFields fields_;
  absl::Status status_;  // an error inside an object of the config
  ModelSpec spec_;
};

}  // namespace horizon
