#include "model/read_rope.h"

#include <string>
#include <string_view>
#include <vector>

#include "common/status_macros.h"
#include "common/str_cat.h"

namespace horizon {
namespace {

// The settings object that counts, or nullptr.
const Value* SettingsOf(ConfigFields& fields, std::string_view* key) {
  for (std::string_view candidate : {"rope_scaling", "rope_parameters"}) {
    const Value* value = fields.Take(candidate);
    if (value == nullptr || value->is_null()) continue;
    const auto* members = value->As<Value::Object>();
    if (members != nullptr && members->empty()) continue;
    *key = candidate;
    return value;
  }
  return nullptr;
}

// transformers lets a family give each kind of layer its own settings; none of ours has that.
void RefuseNested(ConfigFields& settings, const Value& value) {
  const auto* members = value.As<Value::Object>();
  if (members == nullptr) return;
  for (const auto& [key, member] : *members) {
    if (member.As<Value::Object>() == nullptr) continue;
    settings.Fail(key, "rotary settings for each layer type are not supported");
  }
}

RopeKind ReadKind(ConfigFields& settings) {
  const std::string_view key = settings.Has("rope_type") ? "rope_type" : "type";
  const std::string word = settings.Has(key) ? settings.Text(key, "default") : "default";
  for (RopeKind kind :
       {RopeKind::kDefault, RopeKind::kLinear, RopeKind::kLlama3, RopeKind::kYarn}) {
    if (word == ToString(kind)) return kind;
  }
  settings.Refuse(key, "known kinds are default, linear, llama3 and yarn");
  return RopeKind::kDefault;
}

void RequireKey(ConfigFields& settings, std::string_view key, RopeKind kind) {
  if (settings.Take(key) == nullptr) {
    settings.Fail(key, StrCat("required for the kind ", ToString(kind), " and missing"));
  }
}

// Where the model was trained before its context was stretched.
int64_t OriginalPositions(ConfigFields& fields, ConfigFields& settings, int64_t max_positions) {
  constexpr std::string_view kKey = "original_max_position_embeddings";
  const int64_t inside = settings.Has(kKey) ? settings.Size(kKey, max_positions) : max_positions;
  return fields.Has(kKey) ? fields.Size(kKey, inside) : inside;
}

void ReadLlama3(ConfigFields& settings, RopeSpec& rope) {
  for (std::string_view key : {"factor", "low_freq_factor", "high_freq_factor"}) {
    RequireKey(settings, key, rope.kind);
  }
  rope.factor = settings.Positive("factor", 1.0);
  rope.low_frequency_factor = settings.Positive("low_freq_factor", 1.0);
  rope.high_frequency_factor = settings.Positive("high_freq_factor", 4.0);
  if (settings.ok() && rope.high_frequency_factor <= rope.low_frequency_factor) {
    settings.Fail("high_freq_factor",
                  StrCat("is ", rope.high_frequency_factor, "; it must be above low_freq_factor (",
                         rope.low_frequency_factor, ")"));
  }
}

void ReadYarn(ConfigFields& settings, int64_t max_positions, RopeSpec& rope) {
  RequireKey(settings, "factor", rope.kind);
  rope.factor = settings.Has("factor") ? settings.Positive("factor", 1.0)
                                       : static_cast<double>(max_positions) /
                                             static_cast<double>(rope.original_max_positions);
  if (settings.Has("attention_factor")) {
    rope.attention_factor = settings.Positive("attention_factor", 1.0);
  }
  rope.mscale = settings.AtLeastZero("mscale", 0.0);
  rope.mscale_all_dim = settings.AtLeastZero("mscale_all_dim", 0.0);
  // transformers takes 0 like a missing value here.
  const double fast = settings.AtLeastZero("beta_fast", 0.0);
  const double slow = settings.AtLeastZero("beta_slow", 0.0);
  rope.beta_fast = fast == 0 ? 32.0 : fast;
  rope.beta_slow = slow == 0 ? 1.0 : slow;
  if (settings.ok() && rope.beta_fast <= rope.beta_slow) {
    settings.Fail("beta_fast", StrCat("is ", rope.beta_fast, "; it must be above beta_slow (",
                                      rope.beta_slow, ")"));
  }
  rope.truncate = settings.Flag("truncate", true);
}

// Keys another kind uses are harmless; keys nobody knows (mrope_section) may not be.
void RefuseUnknown(ConfigFields& settings) {
  for (std::string_view key : {"type", "rope_type", "factor", "low_freq_factor", "high_freq_factor",
                               "original_max_position_embeddings", "beta_fast", "beta_slow",
                               "attention_factor", "mscale", "mscale_all_dim", "truncate"}) {
    settings.Ignore(key);
  }
  for (const std::string& key : settings.UnknownKeys()) {
    settings.Fail(key, "unknown rotary setting");
  }
}

}  // namespace

absl::StatusOr<RopeSpec> ReadRope(const Document& document, ConfigFields& fields,
                                  int64_t max_positions, const RopeDefaults& defaults) {
  fields.RefuseUnless("partial_rotary_factor", Neutral::kOne);
  const double theta =
      fields.Has("rope_theta") ? fields.Positive("rope_theta", defaults.theta) : defaults.theta;
  std::string_view key;
  const Value* value = SettingsOf(fields, &key);
  fields.Ignore("original_max_position_embeddings");
  if (value == nullptr) {
    RopeSpec rope = defaults.spec;
    rope.theta = theta;
    return rope;
  }
  ConfigFields settings(document, *value, std::string(key));
  RefuseNested(settings, *value);
  RopeSpec rope;
  rope.kind = ReadKind(settings);
  rope.theta = settings.Has("rope_theta") ? settings.Positive("rope_theta", theta) : theta;
  settings.RefuseUnless("partial_rotary_factor", Neutral::kOne);
  if (rope.kind == RopeKind::kLinear) {
    RequireKey(settings, "factor", rope.kind);
    rope.factor = settings.Positive("factor", 1.0);
  }
  if (rope.kind == RopeKind::kLlama3 || rope.kind == RopeKind::kYarn) {
    rope.original_max_positions = OriginalPositions(fields, settings, max_positions);
  }
  if (rope.kind == RopeKind::kLlama3) ReadLlama3(settings, rope);
  if (rope.kind == RopeKind::kYarn) ReadYarn(settings, max_positions, rope);
  if (settings.ok() && rope.factor < 1) {
    settings.Fail("factor", StrCat("is ", rope.factor, "; it must be at least 1"));
  }
  RefuseUnknown(settings);
  RETURN_IF_ERROR(settings.status());
  return rope;
}

}  // namespace horizon
